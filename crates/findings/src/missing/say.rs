//! Sentences about missing figures.

use mountmark_model::heading;

use crate::missing::find::{Missing, Repeats};

/// One sentence each.
pub(crate) fn sentences(missing: &[Missing]) -> Vec<String> {
    missing.iter().map(sentence).collect()
}

fn sentence(missing: &Missing) -> String {
    let of = heading(missing.configuration());
    match missing {
        Missing::Skipped { reason, .. } => format!("{of} was skipped: {}", stopped(reason)),
        Missing::NotRun { cells, planned, .. } => {
            let were = if *cells == 1 { "was" } else { "were" };
            format!("{of}: {cells} of {planned} planned cells {were} not run.")
        }
        Missing::CellFailed { repeats: those, reason, .. } => {
            format!("{of}: the cell failed{}: {}", repeats(those), given(reason))
        }
        Missing::Task { task, skipped, repeats: those, reason, .. } => {
            let task = task.as_ref().map_or("another task".to_owned(), |task| named(&task.id, &task.title));
            let ended = if *skipped { "was skipped" } else { "failed" };
            format!("{of}: {task} {ended}{}: {}", repeats(those), given(reason))
        }
        Missing::Absurd { task, metric, count, value, .. } => {
            let (task, metric) = (named(&task.id, &task.title), metric.id);
            let such = if *count == 1 { "an impossible value" } else { "impossible values" };
            let all = if *count == 1 { String::new() } else { format!("{count}, such as ") };
            let were = if *count == 1 { "was" } else { "were" };
            format!("{of}: {task} has {such} of {metric} ({all}{value}), which {were} omitted.")
        }
    }
}

/// The name of a task in sentences.
pub(crate) fn named(id: &str, title: &str) -> String {
    if title == id { id.to_owned() } else { format!("{id} ({title})") }
}

fn repeats(repeats: &Repeats) -> String {
    match repeats {
        Repeats::Only => String::new(),
        Repeats::All => " in every repeat".into(),
        Repeats::Some(numbers) => format!(" {}", in_repeats(numbers)),
    }
}

/// "in repeats 2, 5" of repeats that are counted from 0.
pub(crate) fn in_repeats(repeats: &[u32]) -> String {
    let names: Vec<String> = repeats.iter().map(|repeat| (repeat + 1).to_string()).collect();
    format!("in repeat{} {}", if names.len() == 1 { "" } else { "s" }, names.join(", "))
}

/// A reason that ends with a full stop.
pub(crate) fn given(reason: &str) -> String {
    stopped(if reason.is_empty() { "no reason was given" } else { reason })
}

/// Ends with a full stop.
fn stopped(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}
