//! Converts values of rows that need more than SQLite's own types.

use std::path::Path;

use mountmark_model::{Outcome, OutputKind};
use rusqlite::Row;

use crate::locks::Look;
use crate::process::Process;
use crate::{RunId, RunStatus};

pub(super) fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let text: String = row.get(column)?;
    text.parse().map_err(|_| bad_text(column, format!("{text:?} is not a number")))
}

/// The number of a repeat, from 0. It is shown from 1, so the largest value of its type is rejected.
pub(super) fn repeat(row: &Row<'_>, column: usize) -> rusqlite::Result<u32> {
    let value: u32 = row.get(column)?;
    if value == u32::MAX { Err(rusqlite::Error::IntegralValueOutOfRange(column, value.into())) } else { Ok(value) }
}

/// The name of a run. It becomes part of file names and commands: names that this program never gives are rejected.
pub(super) fn run_id(row: &Row<'_>, column: usize) -> rusqlite::Result<RunId> {
    let text: String = row.get(column)?;
    let plain = !text.is_empty() && text.len() <= 64 && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if !plain {
        return Err(bad_text(column, format!("{text:?} is not the name of a run")));
    }
    Ok(RunId(text))
}

/// The point of view from which processes are judged alive or gone.
pub(super) struct ProcessView {
    this: Process,
    look: Look,
}

impl ProcessView {
    /// This process, and the locks on the runs of the store in the file `store`.
    pub(super) fn of(store: &Path) -> ProcessView {
        ProcessView { this: Process::this(), look: Look::at(store) }
    }

    /// The current status: a run whose process is gone is interrupted, though the store does not say so. A running run
    /// also returns the process that works on it. From three columns: number, word, process.
    pub(super) fn status(&self, row: &Row<'_>, column: usize) -> rusqlite::Result<(RunStatus, Option<String>)> {
        let word: String = row.get(column + 1)?;
        let status = RunStatus::from_word(&word)
            .ok_or_else(|| bad_text(column + 1, format!("{word:?} is not a status of a run")))?;
        if status != RunStatus::Running {
            return Ok((status, None));
        }
        let process: Process = serde_json::from_str(&row.get::<_, String>(column + 2)?).unwrap_or_default();
        if process.is_gone(&self.this, self.look.is_held(row.get(column)?)) {
            return Ok((RunStatus::Interrupted, None));
        }
        Ok((status, Some(process.about(&self.this))))
    }
}

/// An outcome from three columns: word, reason, detail.
pub(super) fn outcome(row: &Row<'_>, column: usize) -> rusqlite::Result<Outcome> {
    let word: String = row.get(column)?;
    let text = |at: usize| row.get::<_, Option<String>>(at).map(Option::unwrap_or_default);
    match word.as_str() {
        "ok" => Ok(Outcome::Ok),
        "skipped" => Ok(Outcome::Skipped { reason: text(column + 1)? }),
        "failed" => Ok(Outcome::Failed { reason: text(column + 1)?, detail: text(column + 2)? }),
        _ => Err(bad_text(column, format!("{word:?} is not an outcome"))),
    }
}

pub(super) fn output_kind(row: &Row<'_>, column: usize) -> rusqlite::Result<OutputKind> {
    let word: String = row.get(column)?;
    OutputKind::from_word(&word).ok_or_else(|| bad_text(column, format!("{word:?} is not a kind of output")))
}

pub(super) fn bad_text(column: usize, what: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, what.into())
}
