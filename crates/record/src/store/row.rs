//! Values of rows that need more than SQLite's own types.

use mountmark_model::Outcome;
use rusqlite::Row;

use crate::RunStatus;
use crate::process::Process;

pub(super) fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let text: String = row.get(column)?;
    text.parse().map_err(|_| bad_text(column, format!("{text:?} is not a number")))
}

/// A status as it is now: of a run whose process is gone nobody wrote down that it was interrupted.
pub(super) fn status(row: &Row<'_>, word: usize, process: usize, this: &Process) -> rusqlite::Result<RunStatus> {
    let text: String = row.get(word)?;
    let status =
        RunStatus::from_word(&text).ok_or_else(|| bad_text(word, format!("{text:?} is not a status of a run")))?;
    if status == RunStatus::Running {
        let process: Process = serde_json::from_str(&row.get::<_, String>(process)?).unwrap_or_default();
        if process.is_gone(this) {
            return Ok(RunStatus::Interrupted);
        }
    }
    Ok(status)
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

pub(super) fn bad_text(column: usize, what: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, what.into())
}
