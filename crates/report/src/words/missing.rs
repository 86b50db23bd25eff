//! Sentences about missing figures.

use mountmark_analyse::{Missing, Repeats};

/// One sentence each.
pub(crate) fn sentences(missing: &[Missing]) -> Vec<String> {
    missing.iter().map(sentence).collect()
}

fn sentence(missing: &Missing) -> String {
    match missing {
        Missing::Skipped { configuration, reason } => format!("{configuration} was skipped: {}", stopped(reason)),
        Missing::NotRun { configuration, cells, planned } => {
            let were = if *cells == 1 { "was" } else { "were" };
            format!("{configuration}: {cells} of {planned} planned cells {were} not run.")
        }
        Missing::CellFailed { configuration, repeats: of, reason } => {
            format!("{configuration}: the cell failed{}: {}", repeats(of), given(reason))
        }
        Missing::Task { configuration, task, skipped, repeats: of, reason } => {
            let task = task.as_ref().map_or("another task".to_owned(), |task| named(&task.id, &task.title));
            let ended = if *skipped { "was skipped" } else { "failed" };
            format!("{configuration}: {task} {ended}{}: {}", repeats(of), given(reason))
        }
        Missing::Absurd { configuration, task, metric, count, value } => {
            let (task, metric) = (named(&task.id, &task.title), metric.id);
            let such = if *count == 1 { "an impossible value" } else { "impossible values" };
            let all = if *count == 1 { String::new() } else { format!("{count}, such as ") };
            let were = if *count == 1 { "was" } else { "were" };
            format!("{configuration}: {task} has {such} of {metric} ({all}{value}), which {were} omitted.")
        }
    }
}

/// The name of a task in sentences.
pub(super) fn named(id: &str, title: &str) -> String {
    if title == id { id.to_owned() } else { format!("{id} ({title})") }
}

fn repeats(repeats: &Repeats) -> String {
    match repeats {
        Repeats::Only => String::new(),
        Repeats::All => " in every repeat".into(),
        Repeats::Some(numbers) => {
            let names: Vec<String> = numbers.iter().map(|repeat| (repeat + 1).to_string()).collect();
            format!(" in repeat{} {}", if names.len() == 1 { "" } else { "s" }, names.join(", "))
        }
    }
}

fn given(reason: &str) -> String {
    stopped(if reason.is_empty() { "no reason was given" } else { reason })
}

/// Ends with a full stop.
fn stopped(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}
