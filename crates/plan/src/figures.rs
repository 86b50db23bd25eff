//! Numbers that commands print: a `[[figure]]` of a suite becomes a part of the task that prints it.

use mountmark_model::{Direction, PrintedFigure, Suite, Task, protocol_task};

use crate::bounds;

/// Why a suite's figures cannot be found in what its tasks print, as sentences.
pub(crate) fn faults(suite: &Suite) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, figure) in suite.figures.iter().enumerate() {
        let mut fault = |text: String| faults.push(format!("figure {}: {text}", figure.name));
        if !bounds::is_word(&figure.name) || suite.tasks.iter().any(|task| task.id == figure.name) {
            fault("its name must be made of letters, digits, - and _, and be no task's".into());
        }
        if protocol_task::is_step(&figure.name) {
            fault("a step before or after the tasks is called so; give it another name".into());
        }
        if suite.figures[..at].iter().any(|known| known.name == figure.name) {
            fault("its name is there twice; give one of them another".into());
        }
        match (&figure.task, &suite.tasks[..]) {
            (Some(name), tasks) => match tasks.iter().find(|task| task.id == *name) {
                Some(task) if !task.run.trim().is_empty() && task.program.is_none() => {}
                Some(_) => fault(format!("the task {name} is no command whose output is looked at")),
                None => fault(format!("the suite has no task {name:?}")),
            },
            (None, [_]) => {}
            (None, _) => fault("say of which task it is: task = \"...\"".into()),
        }
        faults.extend(pattern_fault(&figure.pattern).map(|reason| format!("figure {}: {reason}", figure.name)));
    }
    let parts = suite.tasks.iter().filter_map(|task| Some((task, task.printed.as_ref()?)));
    for (task, printed) in parts {
        if task.part_of.is_none() {
            faults.push(format!("task {}: printed is about what another task prints: give part_of", task.id));
        }
        faults.extend(pattern_fault(&printed.pattern).map(|reason| format!("task {}: {reason}", task.id)));
    }
    faults
}

/// Why a pattern finds no number.
fn pattern_fault(pattern: &str) -> Option<String> {
    match regex_lite::Regex::new(pattern) {
        Ok(_) if pattern.is_empty() => Some("the pattern is empty; write one with a group around the number".into()),
        Ok(found) if found.captures_len() > 2 => {
            Some(format!("{pattern:?} has several groups; keep one around the number, and write (?:...) for others"))
        }
        Ok(_) => None,
        Err(error) => Some(format!("{pattern:?} is no regular expression: {error}")),
    }
}

/// The suite with its figures as parts of the tasks that print them.
pub(crate) fn with_figures(mut suite: Suite) -> Suite {
    for figure in std::mem::take(&mut suite.figures) {
        let Some(at) = (match &figure.task {
            Some(name) => suite.tasks.iter().position(|task| task.id == *name),
            None => (!suite.tasks.is_empty()).then_some(0),
        }) else {
            continue;
        };
        let task = &suite.tasks[at];
        let unit = if figure.unit.is_empty() { String::new() } else { format!(" ({})", figure.unit) };
        let part = Task {
            title: format!("{}{unit}, as {} prints it", figure.name, task.id),
            id: figure.name,
            category: task.category.clone(),
            part_of: Some(task.id.clone()),
            printed: Some(PrintedFigure { pattern: figure.pattern, less: figure.better == Direction::Lower }),
            ..Task::default()
        };
        let parts = suite.tasks[at + 1..].iter().take_while(|other| other.part_of.as_ref() == part.part_of.as_ref());
        let after = at + 1 + parts.count();
        suite.tasks.insert(after, part);
    }
    suite
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_called_as_nothing_else_is() {
        let of = |names: [&str; 2]| {
            let figure = |name| format!("[[figure]]\nname = \"{name}\"\npattern = \"([0-9]+)\"\n");
            let text = format!(
                "name = \"s\"\nabout = \"s\"\nroom = \"1 MiB\"\n{}[[task]]\nid = \"ls\"\ntitle = \"ls\"\nrun = \"ls\"\n",
                names.map(figure).concat()
            );
            faults(&toml::from_str(&text).unwrap())
        };
        assert!(of(["a", "b"]).is_empty(), "{:?}", of(["a", "b"]));
        for (names, says) in [(["a", "mkfs"], "a step"), (["a", "a"], "there twice"), (["a", "ls"], "no task's")] {
            let faults = of(names);
            assert!(faults.len() == 1 && faults[0].contains(says), "{faults:?}");
        }
    }
}
