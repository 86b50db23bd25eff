//! Ranges of costs: from machines that were measured where there are any, else as the catalogue has them.

use mountmark_model::{MachineAgreement, MachineCosts, Work};
use mountmark_record::CellWork;
use serde::Serialize;

/// What to ask a run for.
#[derive(Clone, Debug, PartialEq)]
pub struct CostsAsked {
    /// The costs of real machines.
    pub costs: Vec<CostRange>,
    /// The work of the run's cells; none if it ran without the profiler.
    pub work: Vec<CellWork>,
}

/// What a class of work may cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostRange {
    /// The class.
    pub work: Work,
    /// Beside the kernel's core; at most 1, what the clock counts.
    pub lowest: f64,
    /// At least 1.
    pub highest: f64,
    /// Names of the machines that were measured; none where the catalogue's range stands alone.
    pub machines: Vec<String>,
    /// Where the catalogue's range comes from.
    pub source: String,
}

impl CostRange {
    /// The ranges of a catalogue's file, with what real machines paid. What the clock counts is in each: its own order is
    /// asked about.
    pub fn all(costs: &MachineCosts, machines: &[MachineAgreement]) -> Vec<CostRange> {
        let range = |class: &mountmark_model::ClassCosts| {
            let mut found = Vec::new();
            let mut names = Vec::new();
            for machine in machines {
                let paid = paid(costs, &class.tasks, class.work, machine);
                if !paid.is_empty() {
                    names.push(machine.name.clone());
                    found.extend(paid);
                }
            }
            if found.is_empty() || class.widens {
                found.extend([class.lowest, class.highest]);
            }
            CostRange {
                work: class.work,
                lowest: found.iter().copied().fold(1.0, f64::min),
                highest: found.iter().copied().fold(1.0, f64::max),
                machines: names,
                source: class.source.clone(),
            }
        };
        costs.classes.iter().map(range).collect()
    }
}

/// What a class cost a machine beside each of the unit's tasks.
fn paid(costs: &MachineCosts, tasks: &[String], work: Work, machine: &MachineAgreement) -> Vec<f64> {
    let Some(suite) = machine.suites.iter().find(|suite| suite.suite == costs.suite) else { return Vec::new() };
    let of = |names: &[String]| -> Vec<f64> {
        let its = suite.tasks.iter().filter(|task| names.contains(&task.task));
        its.filter_map(|task| task.processor).filter(|paid| paid.is_finite() && *paid > 0.0).collect()
    };
    let (units, own) = (of(&costs.unit), if work == Work::Waiting { vec![1.0] } else { of(tasks) });
    own.iter().flat_map(|own| units.iter().map(move |unit| own / unit)).collect()
}
