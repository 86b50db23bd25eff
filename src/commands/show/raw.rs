//! `mountmark show --raw`: outputs of programs, unchanged.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use mountmark_model::Outcome;
use mountmark_record::{Output, RunRecord, Store};

use crate::common::WrongUse;

/// The outputs of `task` in every cell; several have a head before each, like head(1).
pub fn raw(store: &Store, run: &RunRecord, task: &str) -> Result<String> {
    let part = run.plan.cells.iter().flat_map(|cell| &cell.tasks).find(|known| known.id == task);
    let whole = part.and_then(|part| part.part_of.as_deref()).unwrap_or(task);
    let outputs = store.outputs(&run.id, Some(whole))?;
    if outputs.is_empty() {
        let said = failures(run, whole);
        if !said.is_empty() {
            return Ok(said);
        }
        let mut known: Vec<String> = store.outputs(&run.id, None)?.into_iter().map(|output| output.task).collect();
        known.sort();
        known.dedup();
        let known = match known.is_empty() {
            true => "no program's output was kept in this run".to_owned(),
            false => format!("there are outputs of {}", known.join(", ")),
        };
        bail!(WrongUse(format!("--raw {task}: {known}")));
    }
    let mut text = String::new();
    for (index, output) in outputs.iter().enumerate() {
        if outputs.len() > 1 {
            let space = if index == 0 { "" } else { "\n" };
            let _ = writeln!(text, "{space}==> {} <==", head(run, output));
        }
        text.push_str(&output.text);
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    Ok(text)
}

/// Details of a task's failures if no program's output was kept: the last lines, and the kernel's log.
fn failures(run: &RunRecord, task: &str) -> String {
    let mut text = String::new();
    for cell in &run.cells {
        for ended in cell.outcomes.iter().filter(|ended| ended.task == task) {
            if let Outcome::Failed { reason, detail } = &ended.outcome {
                let space = if text.is_empty() { "" } else { "\n" };
                let (name, repeat) = (&cell.configuration, cell.repeat + 1);
                let _ = writeln!(text, "{space}==> {name} #{repeat}, {task}, failed: {reason} <==");
                let _ = writeln!(text, "{}", detail.trim_end());
            }
        }
    }
    text
}

/// Configuration, repeat and kind of output.
fn head(run: &RunRecord, output: &Output) -> String {
    let cell = run.cells.iter().find(|cell| cell.index == output.cell);
    let cell =
        cell.map_or_else(|| format!("cell {}", output.cell), |c| format!("{} #{}", c.configuration, c.repeat + 1));
    let times = if output.iteration > 0 {
        format!(", iteration {}", output.iteration.saturating_add(1))
    } else {
        String::new()
    };
    format!("{cell}, {}{times}, {}", output.task, output.kind.word())
}
