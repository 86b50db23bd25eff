//! Outputs of programs, in their own table, so that reading figures does not touch them.

use rusqlite::{Connection, params};

use super::row;
use crate::{Output, OutputKind};

/// Inserts the outputs of the cell with this id, inside the caller's transaction.
pub(super) fn insert(connection: &Connection, cell: i64, outputs: &[Output]) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached("INSERT INTO output VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for (position, output) in (0_i64..).zip(outputs) {
        statement.execute(params![cell, position, output.task, output.iteration, output.kind.word(), output.text])?;
    }
    Ok(())
}

/// The outputs of a run's cells: of all tasks, kinds and repeats, or of one.
pub(super) fn load(
    connection: &Connection,
    run: i64,
    task: Option<&str>,
    kind: Option<OutputKind>,
    repeat: Option<u32>,
) -> rusqlite::Result<Vec<Output>> {
    if !super::there(connection, "output")? {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare_cached(
        "SELECT cell.position, task, iteration, kind, text FROM cell JOIN output ON cell = cell.id
         WHERE run = ?1 AND (?2 IS NULL OR task = ?2) AND (?3 IS NULL OR kind = ?3) AND (?4 IS NULL OR repeat = ?4)
         ORDER BY cell.position, output.position",
    )?;
    let rows = statement.query_map(params![run, task, kind.map(OutputKind::word), repeat], |row| {
        Ok(Output {
            cell: row.get(0)?,
            task: row.get(1)?,
            iteration: row.get(2)?,
            kind: row::output_kind(row, 3)?,
            text: row.get(4)?,
        })
    })?;
    rows.collect()
}
