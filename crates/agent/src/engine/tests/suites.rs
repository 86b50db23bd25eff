//! The engine refuses none of the catalogue's suites.

use mountmark_model::Suite;
use mountmark_plan::Catalogue;

use super::*;

#[test]
fn no_suite_of_the_catalogue_is_refused() {
    let catalogue = Catalogue::built_in().unwrap();
    let mut seen = 0;
    for suite in catalogue.list::<Suite>() {
        for scaled in [true, false] {
            let least = |parameter: &mountmark_model::Parameter| {
                if scaled && !parameter.fixed { parameter.min.0 } else { parameter.value.0 }
            };
            let parameters =
                suite.parameters.iter().map(|(name, parameter)| (name.clone(), least(parameter))).collect();
            for task in &suite.tasks {
                let Some(workload) = &task.workload else { continue };
                seen += 1;
                if let Err(error) = resolve::resolve(workload, &parameters) {
                    panic!("suite {}, task {}: {error}", suite.name, task.id);
                }
            }
        }
    }
    assert!(seen > 20, "{seen}");
}
