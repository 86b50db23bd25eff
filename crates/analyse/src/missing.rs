//! What a run has no figure of, and why.

use std::collections::BTreeMap;

use mountmark_model::{Metric, Outcome};
use mountmark_record::RunRecord;

use crate::figures::{Absurd, Task};

/// Something without a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Missing {
    /// A configuration was not tried.
    Skipped {
        /// Its name.
        configuration: String,
        /// As the plan has it.
        reason: String,
    },
    /// Cells of a configuration have not run.
    NotRun {
        /// Its name.
        configuration: String,
        /// How many have not.
        cells: usize,
        /// How many were planned.
        planned: usize,
    },
    /// Cells of a configuration failed as a whole.
    CellFailed {
        /// Its name.
        configuration: String,
        /// In which repeats.
        repeats: Repeats,
        /// Empty where none was given.
        reason: String,
    },
    /// A task of a configuration has not ended well.
    Task {
        /// Name of the configuration.
        configuration: String,
        /// `None` for one that the plan does not know.
        task: Option<TaskName>,
        /// Whether it was skipped, and did not fail.
        skipped: bool,
        /// In which repeats.
        repeats: Repeats,
        /// Empty where none was given.
        reason: String,
    },
    /// Values that cannot be, and do not count.
    Absurd {
        /// Name of the configuration.
        configuration: String,
        /// Where.
        task: TaskName,
        /// What was measured.
        metric: &'static Metric,
        /// How many.
        count: u32,
        /// The first of them.
        value: f64,
    },
}

/// Which repeats something happened in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// The only one that the run has.
    Only,
    /// All of several.
    All,
    /// Some of several, from 0 on, ascending.
    Some(Vec<u32>),
}

/// A task or step by its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskName {
    /// Its id.
    pub id: String,
    /// What it does; the id where that is not known.
    pub title: String,
}

impl TaskName {
    fn of(task: &Task) -> TaskName {
        TaskName { id: task.id.clone(), title: task.title.clone() }
    }
}

/// Configurations that were skipped, cells that were not run, cells that failed as a whole.
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
            repeats: Repeats::of(run, repeats),
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
            // Tasks that the plan does not know come last.
            let at = tasks.iter().position(|task| task.id == ended.task).unwrap_or(tasks.len());
            let key = (at, cell.configuration.as_str(), !ended.outcome.is_failed(), reason(&ended.outcome));
            seen.entry(key).or_default().push(cell.repeat);
        }
    }
    let missing = |((at, configuration, skipped, reason), repeats): ((usize, &str, bool, &str), Vec<u32>)| {
        let (task, repeats) = (tasks.get(at).map(TaskName::of), Repeats::of(run, repeats));
        Missing::Task { configuration: configuration.into(), task, skipped, repeats, reason: reason.into() }
    };
    seen.into_iter().map(missing).collect()
}

/// Values that cannot be.
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
    fn of(run: &RunRecord, mut repeats: Vec<u32>) -> Repeats {
        repeats.sort_unstable();
        repeats.dedup();
        match () {
            () if run.plan.repeats <= 1 => Repeats::Only,
            () if repeats.len() as u32 >= run.plan.repeats => Repeats::All,
            () => Repeats::Some(repeats),
        }
    }
}
