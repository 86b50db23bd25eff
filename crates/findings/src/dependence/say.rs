//! Sentences for figures that depend on conditions.

use std::cmp::Reverse;

use mountmark_document::number::percent;
use mountmark_model::Metric;

use crate::dependence::find::{Dependence, Group};
use crate::figures;
use crate::figures::say::quantity::quantity;
use crate::found::Findings;
use crate::missing::say::named;

pub(crate) const HEADING: &str = "Depends on conditions";

/// "depends on conditions: about 13.6 s in 3 of 5 repeats, 32.5 s in 2".
pub(crate) fn depends(metric: &Metric, found: &Dependence) -> String {
    format!("depends on conditions: {}", values(|value| quantity(metric, value), found))
}

/// "about 13.6 s in 3 of 5 repeats, 32.5 s in 2": larger groups first.
pub(crate) fn values(text: impl Fn(f64) -> String, found: &Dependence) -> String {
    match found {
        Dependence::Groups { groups } => {
            let repeats: usize = groups.iter().map(|group| group.repeats).sum();
            let mut groups: Vec<&Group> = groups.iter().collect();
            groups.sort_by_key(|group| Reverse(group.repeats));
            let group = |(at, group): (usize, &&Group)| {
                let of = if at == 0 { format!(" of {repeats} repeats") } else { String::new() };
                format!("{} in {}{of}", text(group.value), group.repeats)
            };
            format!("about {}", groups.iter().enumerate().map(group).collect::<Vec<_>>().join(", "))
        }
        Dependence::Wide { min, max, cv, usual } => format!(
            "{} to {}, a coefficient of variation of {} where its neighbours have about {}",
            text(*min),
            text(*max),
            percent(*cv),
            percent(*usual)
        ),
    }
}

/// One sentence for each figure by which a task is judged.
pub(crate) fn sentences(findings: &Findings) -> Vec<String> {
    let sentence = |(task, one, found): (&figures::find::TaskFindings, usize, &Dependence)| {
        let metric = task.judged()?.metric;
        let (name, task) = (&findings.headings[one], named(&task.id, &task.title));
        Some(format!("{name}, {task}: {}.", values(|value| quantity(metric, value), found)))
    };
    findings.dependent().filter_map(sentence).collect()
}
