//! What a run has no figure of, and why, as sentences.

use std::collections::BTreeMap;

use mountmark_model::{Metric, Outcome};
use mountmark_record::RunRecord;

use crate::figures::{Absurd, Task};

/// Configurations that were skipped, cells that were not run, cells that failed as a whole.
pub(crate) fn cells(run: &RunRecord, names: &[String]) -> Vec<String> {
    let mut out: Vec<String> =
        run.plan.skipped.iter().map(|(name, reason)| format!("{name} was skipped: {}", sentence(reason))).collect();
    for name in names {
        let planned = run.plan.cells.iter().filter(|cell| cell.configuration.name == *name).count();
        let measured = run.cells.iter().filter(|cell| cell.configuration == *name);
        let ended = run.plan.cells.iter().filter(|cell| cell.configuration.name == *name);
        let ended = ended.filter(|cell| run.cells.iter().any(|record| record.index == cell.index)).count();
        if ended < planned {
            let were = if planned - ended == 1 { "was" } else { "were" };
            out.push(format!("{name}: {} of {planned} planned cells {were} not run.", planned - ended));
        }
        let mut reasons: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for cell in measured.filter(|cell| !cell.outcome.is_ok()) {
            reasons.entry(reason(&cell.outcome)).or_default().push(cell.repeat);
        }
        for (reason, repeats) in reasons {
            out.push(format!("{name}: the cell failed{}: {}", of_repeats(run, &repeats), sentence(reason)));
        }
    }
    out
}

/// Tasks that failed or were skipped.
pub(crate) fn outcomes(run: &RunRecord, tasks: &[Task]) -> Vec<String> {
    let mut seen: BTreeMap<(usize, &str, &'static str, &str), Vec<u32>> = BTreeMap::new();
    for cell in &run.cells {
        for ended in cell.outcomes.iter().filter(|ended| !ended.outcome.is_ok()) {
            // Tasks that the plan does not know come last.
            let at = tasks.iter().position(|task| task.id == ended.task).unwrap_or(tasks.len());
            let word = if ended.outcome.is_failed() { "failed" } else { "was skipped" };
            let key = (at, cell.configuration.as_str(), word, reason(&ended.outcome));
            seen.entry(key).or_default().push(cell.repeat);
        }
    }
    seen.into_iter()
        .map(|((at, configuration, word, reason), repeats)| {
            let task = tasks.get(at).map_or("another task".to_owned(), label);
            format!("{configuration}: {task} {word}{}: {}", of_repeats(run, &repeats), sentence(reason))
        })
        .collect()
}

/// Values that cannot be.
pub(crate) fn absurd(absurd: Absurd, names: &[String], tasks: &[Task]) -> Vec<String> {
    absurd
        .into_iter()
        .map(|((configuration, task, metric), (count, value))| {
            let values = if count == 1 { "a value".to_owned() } else { format!("{count} values") };
            format!(
                "{}: {values} of {} of {} cannot be (such as {value}) and {} left out.",
                names[configuration],
                Metric::ALL[metric].id,
                label(&tasks[task]),
                if count == 1 { "was" } else { "were" }
            )
        })
        .collect()
}

/// A task as sentences name it.
pub(crate) fn label(task: &Task) -> String {
    if task.step || task.title == task.id { task.id.clone() } else { format!("{} ({})", task.id, task.title) }
}

fn reason(outcome: &Outcome) -> &str {
    outcome.reason().filter(|reason| !reason.trim().is_empty()).unwrap_or("no reason was given")
}

fn of_repeats(run: &RunRecord, repeats: &[u32]) -> String {
    if run.plan.repeats <= 1 {
        return String::new();
    }
    let mut numbers: Vec<u32> = repeats.to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    if numbers.len() as u32 >= run.plan.repeats {
        return " in every repeat".into();
    }
    let names: Vec<String> = numbers.iter().map(|repeat| (repeat + 1).to_string()).collect();
    format!(" in repeat{} {}", if names.len() == 1 { "" } else { "s" }, names.join(", "))
}

/// Ends with a full stop.
fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}
