//! Looks for what a run has no figure of.

use std::collections::{BTreeMap, HashSet};

use mountmark_model::{Metric, Outcome};
use mountmark_record::RunRecord;

use crate::figures::find::series::{Absurd, Task};
use crate::missing::find::{Missing, Repeats, TaskName};

/// Configurations that were skipped, and cells that were not run or failed as a whole.
pub(crate) fn cells(run: &RunRecord, names: &[String]) -> Vec<Missing> {
    let skipped = run.plan.skipped.iter().cloned();
    let mut out: Vec<Missing> =
        skipped.map(|(configuration, reason)| Missing::Skipped { configuration, reason }).collect();
    let recorded: HashSet<u32> = run.cells.iter().map(|cell| cell.index).collect();
    for name in names {
        let planned = run.plan.cells.iter().filter(|cell| cell.configuration.name == *name).count();
        let measured = run.cells.iter().filter(|cell| cell.configuration == *name);
        let ended = run.plan.cells.iter().filter(|cell| cell.configuration.name == *name);
        let ended = ended.filter(|cell| recorded.contains(&cell.index)).count();
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
        let (task, repeats) = (tasks.get(at).map(name), Repeats::of(run, configuration, repeats));
        Missing::Task { configuration: configuration.into(), task, skipped, repeats, reason: reason.into() }
    };
    seen.into_iter().map(missing).collect()
}

/// Impossible values.
pub(crate) fn absurd(absurd: Absurd, names: &[String], tasks: &[Task]) -> Vec<Missing> {
    let missing = |((configuration, task, metric), (count, value)): ((usize, usize, usize), (u32, f64))| {
        let (configuration, metric) = (names[configuration].clone(), &Metric::ALL[metric]);
        Missing::Absurd { configuration, task: name(&tasks[task]), metric, count, value }
    };
    absurd.into_iter().map(missing).collect()
}

fn reason(outcome: &Outcome) -> &str {
    outcome.reason().map_or("", str::trim)
}

fn name(task: &Task) -> TaskName {
    TaskName { id: task.id.clone(), title: task.title.clone() }
}
