//! Missing figures of a run, and the reasons.

pub(crate) mod gather;

use std::collections::BTreeSet;

use mountmark_model::Metric;
use mountmark_record::RunRecord;

#[derive(Clone, Debug, PartialEq)]
pub enum Missing {
    /// A configuration was not tried.
    Skipped {
        configuration: String,
        /// As in the plan.
        reason: String,
    },
    /// Cells of a configuration have not run.
    NotRun {
        configuration: String,
        /// Number of cells that have not run.
        cells: usize,
        planned: usize,
    },
    /// Cells of a configuration failed as a whole.
    CellFailed {
        configuration: String,
        repeats: Repeats,
        /// Empty if none was given.
        reason: String,
    },
    /// A task of a configuration failed or was skipped.
    Task {
        configuration: String,
        /// `None` for a task that the plan does not have.
        task: Option<TaskName>,
        /// Skipped rather than failed.
        skipped: bool,
        repeats: Repeats,
        /// Empty if none was given.
        reason: String,
    },
    /// Impossible values, which do not count.
    Absurd {
        configuration: String,
        task: TaskName,
        metric: &'static Metric,
        /// Number of such values.
        count: u32,
        /// The first of them.
        value: f64,
    },
}

impl Missing {
    /// Whose figure is missing.
    pub fn configuration(&self) -> &str {
        match self {
            Missing::Skipped { configuration, .. }
            | Missing::NotRun { configuration, .. }
            | Missing::CellFailed { configuration, .. }
            | Missing::Task { configuration, .. }
            | Missing::Absurd { configuration, .. } => configuration,
        }
    }
}

/// The repeats in which something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// The only repeat of the run.
    Only,
    /// All of several repeats.
    All,
    /// Some of several repeats, counted from 0, ascending.
    Some(Vec<u32>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskName {
    pub id: String,
    /// The id if the title is not known.
    pub title: String,
}

impl Repeats {
    pub(crate) fn of(run: &RunRecord, configuration: &str, mut repeats: Vec<u32>) -> Repeats {
        // Where the number is found on the way, configurations have unequal ones.
        let own = run.plan.cells.iter().filter(|cell| cell.configuration.name == configuration);
        let planned = own.map(|cell| cell.repeat).collect::<BTreeSet<_>>().len().max(1);
        repeats.sort_unstable();
        repeats.dedup();
        match () {
            () if run.plan.repeats <= 1 => Repeats::Only,
            () if repeats.len() >= planned => Repeats::All,
            () => Repeats::Some(repeats),
        }
    }
}
