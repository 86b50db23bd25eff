//! Whether a shell understands a suite's commands: it reads them and runs none.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use mountmark_cells::Plan;

use crate::common::WrongUse;

/// Refuses a plan with a command that no shell can read.
///
/// # Errors
/// The command, and what the shell says of it.
pub(super) fn check(plan: &Plan) -> Result<()> {
    let mut seen = BTreeSet::new();
    for cell in &plan.cells {
        let source = cell.source_prepare.iter().map(|script| ("source_prepare".to_owned(), script));
        let tasks = cell.tasks.iter().flat_map(|task| {
            let scripts = [
                ("prepare", task.prepare.as_ref()),
                ("run", Some(&task.run)),
                ("lost", task.lost.as_ref()),
                ("cleanup", task.cleanup.as_ref()),
            ];
            scripts.into_iter().filter_map(|(field, script)| Some((format!("task {}, {field}", task.id), script?)))
        });
        for (what, script) in source.chain(tasks).filter(|(_, script)| seen.insert(script.as_str())) {
            if let Some(said) = unreadable(script)? {
                bail!(WrongUse(format!("suite {}, {what}: {said}", plan.suite)));
            }
        }
    }
    Ok(())
}

/// What `sh -n` says of a script that it cannot read. A machine without a shell reads none.
fn unreadable(script: &str) -> Result<Option<String>> {
    let mut shell = Command::new("sh");
    shell.arg("-n").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).env_clear();
    let Ok(mut shell) = shell.spawn() else { return Ok(None) };
    // A shell that has found a fault reads no further.
    let _ = shell.stdin.take().context("piped")?.write_all(script.as_bytes());
    let ended = shell.wait_with_output().context("cannot wait for a shell")?;
    let said = String::from_utf8_lossy(&ended.stderr);
    Ok((!ended.status.success()).then(|| said.lines().next().unwrap_or("no shell can read it").to_owned()))
}
