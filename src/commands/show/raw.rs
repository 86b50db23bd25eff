//! `mountmark show --raw`: outputs of programs, unchanged.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use mountmark_findings::Outputs;
use mountmark_model::{Outcome, heading};
use mountmark_record::{Output, RunRecord, Store};

use crate::common::{self, WrongUse};

/// The outputs of `task` in every cell, or of all tasks if it is empty; several have a head before each, like head(1).
/// Why a task failed comes after what it printed.
pub fn raw(store: &Store, run: &RunRecord, task: &str, format: Option<&str>) -> Result<String> {
    let part = run.plan.cells.iter().flat_map(|cell| &cell.tasks).find(|known| known.id == task);
    let whole = part.and_then(|part| part.part_of.as_deref()).unwrap_or(task);
    let mut outputs = store.outputs(&run.id, Some(whole).filter(|whole| !whole.is_empty()))?;
    // Of one side its own cells.
    outputs.retain(|output| run.side.is_none() || run.cells.iter().any(|cell| cell.index == output.cell));
    let place = |output: &Output| run.plan.tasks.iter().position(|(id, _)| *id == output.task);
    outputs.sort_by_key(place);
    let said = failures(run, whole);
    if outputs.is_empty() && said.is_empty() {
        let mut known: Vec<String> = store.outputs(&run.id, None)?.into_iter().map(|output| output.task).collect();
        known.sort();
        known.dedup();
        let known = match known.is_empty() {
            true => "no output was kept in this run: its commands printed nothing".to_owned(),
            false => format!("there are outputs of {}", known.join(", ")),
        };
        bail!(WrongUse(format!("{}: {known}", format!("--raw {task}").trim_end())));
    }
    if format.is_some() {
        return common::written(&Outputs { run, outputs: &outputs }, format);
    }
    let mut text = String::new();
    for (index, output) in outputs.iter().enumerate() {
        if outputs.len() > 1 || !said.is_empty() {
            let space = if index == 0 { "" } else { "\n" };
            let _ = writeln!(text, "{space}==> {} <==", head(run, output));
        }
        text.push_str(&output.text);
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    if !text.is_empty() && !said.is_empty() {
        text.push('\n');
    }
    Ok(text + &said)
}

/// Details of the failures of a task, or of all: the last lines, and the kernel's log.
fn failures(run: &RunRecord, task: &str) -> String {
    let mut text = String::new();
    for cell in &run.cells {
        for ended in cell.outcomes.iter().filter(|ended| task.is_empty() || ended.task == task) {
            if let Outcome::Failed { reason, detail } = &ended.outcome {
                let space = if text.is_empty() { "" } else { "\n" };
                let (name, repeat) = (heading(&cell.configuration), cell.repeat + 1);
                let _ = writeln!(text, "{space}==> {name} #{repeat}, {}, failed: {reason} <==", ended.task);
                let _ = writeln!(text, "{}", detail.trim_end());
            }
        }
    }
    text
}

/// Configuration, repeat and kind of output.
fn head(run: &RunRecord, output: &Output) -> String {
    let cell = run.cells.iter().find(|cell| cell.index == output.cell);
    let cell = cell.map_or_else(
        || format!("cell {}", output.cell),
        |c| format!("{} #{}", heading(&c.configuration), c.repeat + 1),
    );
    let times = if output.iteration > 0 {
        format!(", iteration {}", output.iteration.saturating_add(1))
    } else {
        String::new()
    };
    format!("{cell}, {}{times}, {}", output.task, output.kind.word())
}
