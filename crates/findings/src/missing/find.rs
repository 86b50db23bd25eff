//! Missing figures of a run, and the reasons.

use std::collections::{BTreeMap, BTreeSet};

use mountmark_model::{Metric, Outcome};
use mountmark_record::RunRecord;

use crate::figures::series::{Absurd, Task};

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

impl TaskName {
    fn of(task: &Task) -> TaskName {
        TaskName { id: task.id.clone(), title: task.title.clone() }
    }
}

/// Configurations that were skipped, and cells that were not run or failed as a whole.
pub(crate) fn cells(run: &RunRecord, names: &[String]) -> Vec<Missing> {
    let skipped = run.plan.skipped.iter().cloned();
    let mut out: Vec<Missing> =
        skipped.map(|(configuration, reason)| Missing::Skipped { configuration, reason }).collect();
    for name in names {
        let planned = run.plan.cells.iter().filter(|cell| cell.configuration.name == *name).count();
        let measured = run.cells.iter().filter(|cell| cell.configuration == *name);
        let ended = run.plan.cells.iter().filter(|cell| cell.configuration.name == *name);
        let ended = ended.filter(|cell| run.cells.iter().any(|record| record.index == cell.index)).count();
        if ended < planned {
            out.push(Missing::NotRun { configuration: name.clone(), cells: planned - ended, planned });
        }
        let mut reasons: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for cell in measured.filter(|cell| !cell.outcome.is_ok()) {
            reasons.entry(reason(&cell.outcome)).or_default().push(cell.repeat);
        }
        out.extend(reasons.into_iter().map(|(reason, repeats)| Missing::CellFailed {
            configuration: name.clone(),
            repeats: Repeats::of(run, name, repeats),
            reason: reason.into(),
        }));
    }
    out
}

/// Tasks that failed or were skipped.
pub(crate) fn outcomes(run: &RunRecord, tasks: &[Task]) -> Vec<Missing> {
    let mut seen: BTreeMap<(usize, &str, bool, &str), Vec<u32>> = BTreeMap::new();
    for cell in &run.cells {
        for ended in cell.outcomes.iter().filter(|ended| !ended.outcome.is_ok()) {
            // Tasks that the plan does not have come last.
            let at = tasks.iter().position(|task| task.id == ended.task).unwrap_or(tasks.len());
            let key = (at, cell.configuration.as_str(), !ended.outcome.is_failed(), reason(&ended.outcome));
            seen.entry(key).or_default().push(cell.repeat);
        }
    }
    let missing = |((at, configuration, skipped, reason), repeats): ((usize, &str, bool, &str), Vec<u32>)| {
        let (task, repeats) = (tasks.get(at).map(TaskName::of), Repeats::of(run, configuration, repeats));
        Missing::Task { configuration: configuration.into(), task, skipped, repeats, reason: reason.into() }
    };
    seen.into_iter().map(missing).collect()
}

/// Impossible values.
pub(crate) fn absurd(absurd: Absurd, names: &[String], tasks: &[Task]) -> Vec<Missing> {
    let missing = |((configuration, task, metric), (count, value)): ((usize, usize, usize), (u32, f64))| {
        let (configuration, metric) = (names[configuration].clone(), &Metric::ALL[metric]);
        Missing::Absurd { configuration, task: TaskName::of(&tasks[task]), metric, count, value }
    };
    absurd.into_iter().map(missing).collect()
}

fn reason(outcome: &Outcome) -> &str {
    outcome.reason().map_or("", str::trim)
}

impl Repeats {
    fn of(run: &RunRecord, configuration: &str, mut repeats: Vec<u32>) -> Repeats {
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
