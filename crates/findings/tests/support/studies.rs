//! Runs of the built-in studies' suites.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use mountmark_findings::claims::{JudgedClaim, Judges, Reach, judge_claims};
use mountmark_model::{Metric, Study, Suite};
use mountmark_plan::Catalogue;
use mountmark_record::RunRecord;

use super::{plan, run, sample};

pub fn catalogue() -> &'static Catalogue {
    static BUILT_IN: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::built_in().unwrap());
    &BUILT_IN
}

/// A run of `suite` on its study's machine with one repeat and these file systems, without figures.
pub fn empty(suite: &str, filesystems: &[&str]) -> RunRecord {
    let mut plan = plan(filesystems.len(), 0, 1);
    plan.suite = suite.into();
    let study =
        catalogue().list::<Study>().find(|study| study.is_repeated_by(suite) && study.machine.is_some()).cloned();
    plan.machine.name = study.and_then(|study| study.machine).unwrap_or("p3-2006".into());
    // As the studies had it, and larger than any needs.
    plan.scale = mountmark_model::Scale::ONE;
    plan.configurations = filesystems.iter().map(|name| (*name).into()).collect();
    let mut names = filesystems.iter().map(|name| (*name).to_owned());
    plan.change(|cell| {
        cell.disk_size = mountmark_model::Bytes(500_000_000_000);
        cell.configuration.name = names.next().unwrap();
        cell.configuration.filesystem.name.clone_from(&cell.configuration.name);
    });
    if let Ok(suite) = catalogue().get::<Suite>(suite) {
        plan.tasks = suite.tasks.iter().map(|task| (task.id.clone(), task.title.clone())).collect();
        plan.cells[0].tasks = suite.tasks.clone().into();
    }
    run(&plan, |_, _, _| 1.0)
}

/// A run with the figures that `study` printed for one of its runs.
pub fn reprinted(study: &Study, id: &str) -> RunRecord {
    let names: Vec<&str> = study.run(Some(id)).unwrap().filesystems.iter().map(String::as_str).collect();
    let mut run = empty(study.suite.as_ref().unwrap(), &names);
    for cell in &mut run.cells {
        cell.samples.clear();
        for figure in study.figures.iter().filter(|figure| figure.run == id && figure.fs == cell.configuration) {
            if let Some(value) = figure.point().filter(|_| Metric::find(&figure.metric).is_some()) {
                cell.samples.push(sample(&figure.task, &figure.metric, value));
            }
        }
    }
    run
}

/// What the built-in catalogue can measure; reiser4 is not.
pub fn reach() -> Reach {
    let catalogue = catalogue();
    let machine = |study: &Study| Some((study.suite.clone()?, study.machine.clone()?));
    Reach {
        suites: catalogue.list::<Suite>().map(|suite| suite.name.clone()).collect(),
        machines: catalogue.list::<Study>().filter_map(machine).collect(),
        needs: catalogue.list::<Study>().filter_map(|study| Some((study.suite.clone()?, study.needs))).collect(),
        unavailable: BTreeMap::from([("reiser4".into(), "no kernel of Debian has it".into())]),
        own_kernel: BTreeSet::new(),
    }
}

/// All claims of the built-in studies, by id.
pub fn judged(judges: &Judges) -> BTreeMap<String, JudgedClaim> {
    let catalogue = catalogue();
    let studies: Vec<&Study> = catalogue.list::<Study>().collect();
    judge_claims(judges, &studies, &reach()).into_iter().map(|claim| (claim.id.clone(), claim)).collect()
}
