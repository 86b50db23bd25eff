//! Turns figures of programs or the engine into samples of tasks: of the task that ran, and of those that are its
//! parts.
//!
//! This file runs nothing.

use std::collections::BTreeMap;

use mountmark_model::{Event, Outcome, OutputKind, Task};

use super::printed::without_middle;
use crate::programs::Figure;

/// Limit in characters of an output in the record; of a longer one the middle is omitted.
pub const MOST_OUTPUT: usize = 1 << 20;

/// A part's values by metric, or why it has none.
pub type PartFigures = (String, Result<BTreeMap<String, f64>, Outcome>);

/// The figures of one iteration of a task, distributed to tasks.
#[derive(Debug, Default, PartialEq)]
pub struct Shared {
    /// Values for the task's own sample.
    pub own: BTreeMap<String, f64>,
    pub parts: Vec<PartFigures>,
}

/// Distributes `figures` to `task` and `parts`, the tasks whose `part_of` is `task`.
///
/// # Errors
/// A sentence, if the task's own figure is not among them.
pub fn share(task: &Task, parts: &[&Task], figures: &[Figure]) -> Result<Shared, String> {
    let find = |name: &str| figures.iter().find(|figure| figure.name == name);
    let names = || match figures.is_empty() {
        true => "none".to_owned(),
        false => figures.iter().map(|figure| figure.name.as_str()).collect::<Vec<_>>().join(", "),
    };
    let mut shared = Shared::default();
    let own = match (&task.figure, parts.is_empty()) {
        (Some(name), _) => match find(name) {
            Some(figure) => Some(figure),
            None => {
                return Err(format!("task {}: there is no figure {name:?} in its output, only {}", task.id, names()));
            }
        },
        (None, true) => find(&task.id).or(figures.first()),
        (None, false) => None,
    };
    if let Some(figure) = own {
        if let Some(reason) = &figure.missing {
            return Err(format!("task {}: {reason}", task.id));
        }
        shared.own = figure.values.clone();
    }
    for part in parts {
        let name = part.figure_name();
        let values = match find(name) {
            Some(Figure { missing: None, values, .. }) => Ok(values.clone()),
            Some(Figure { missing: Some(reason), .. }) => Err(Outcome::Skipped { reason: format!("{reason}.") }),
            None => Err(Outcome::Failed {
                reason: format!("task {} gave no figure {name:?}, only {}", task.id, names()),
                detail: String::new(),
            }),
        };
        shared.parts.push((part.id.clone(), values));
    }
    Ok(shared)
}

/// The event that stores an output; `None` if it is empty.
pub fn output(task: &Task, iteration: u32, kind: OutputKind, text: &str) -> Option<Event> {
    let text = shorten(text);
    (!text.is_empty()).then(|| Event::Output { task: task.id.clone(), iteration, kind, text })
}

fn shorten(text: &str) -> String {
    if text.len() <= MOST_OUTPUT {
        return text.to_owned();
    }
    let border = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (head, tail) = (border(MOST_OUTPUT / 2), border(text.len() - MOST_OUTPUT / 2));
    without_middle(&text[..head], (tail - head) as u64, &text[tail..])
}

/// The last lines of a program's output, for a failure's detail.
pub fn tail(stdout: &str, stderr: &str) -> String {
    let last = |text: &str| {
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    };
    let text = format!("{}\n{}", last(stdout), last(stderr));
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &str, value: f64) -> Figure {
        Figure { name: name.into(), values: BTreeMap::from([("rate".into(), value)]), ..Figure::default() }
    }

    fn task(id: &str) -> Task {
        Task { id: id.into(), ..Task::default() }
    }

    #[test]
    fn a_task_without_parts_takes_the_figure_of_its_name_or_the_first() {
        let figures = [figure("a", 1.0), figure("b", 2.0)];
        assert_eq!(share(&task("b"), &[], &figures).unwrap().own["rate"], 2.0);
        assert_eq!(share(&task("x"), &[], &figures).unwrap().own["rate"], 1.0);
        let named = Task { figure: Some("c".into()), ..task("x") };
        assert!(share(&named, &[], &figures).unwrap_err().contains("no figure \"c\" in its output, only a, b"));
    }

    #[test]
    fn parts_have_values_or_a_reason() {
        let fast = Figure { missing: Some("too fast".into()), ..figure("b", 0.0) };
        let parts = [task("a"), Task { figure: Some("b".into()), ..task("y") }, task("z")];
        let shared = share(&task("whole"), &parts.iter().collect::<Vec<_>>(), &[figure("a", 1.0), fast]).unwrap();
        assert!(shared.own.is_empty());
        assert_eq!(shared.parts[0].1.as_ref().unwrap()["rate"], 1.0);
        assert_eq!(shared.parts[1], ("y".into(), Err(Outcome::Skipped { reason: "too fast.".into() })));
        assert!(matches!(&shared.parts[2].1, Err(Outcome::Failed { reason, .. }) if reason.contains("only a, b")));
    }

    #[test]
    fn a_long_output_loses_its_middle() {
        let text = format!("begin{}end", "ü".repeat(MOST_OUTPUT));
        let Some(Event::Output { text: kept, .. }) = output(&task("a"), 0, OutputKind::Stdout, &text) else { panic!() };
        assert!(kept.starts_with("begin") && kept.ends_with("end") && kept.len() < MOST_OUTPUT + 100);
        assert!(kept.contains("bytes are left out]"));
        assert_eq!(output(&task("a"), 0, OutputKind::Stderr, ""), None);
        assert_eq!(tail("a\n\nb\n", "c"), "a\nb\nc");
    }
}
