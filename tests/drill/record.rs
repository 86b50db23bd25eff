//! Reads a store without the program.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::field::CELLS;

/// All measurements of a run as text, by index of the cell.
pub type Cells = BTreeMap<i64, String>;

/// The contents of a store.
#[derive(Default)]
pub struct Record {
    /// The plan's own cells of each run by name, oldest first: without those that were measured again.
    pub runs: Vec<(String, Cells)>,
}

/// Reads a store, which may be missing; the error is a finding.
pub fn read(store: &Path) -> Result<Record, String> {
    if !store.exists() {
        return Ok(Record::default());
    }
    look(store).map_err(|error| format!("the store cannot be read: {error}"))?
}

fn look(store: &Path) -> rusqlite::Result<Result<Record, String>> {
    let store = Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let texts = |sql: &str| -> rusqlite::Result<Vec<String>> {
        let mut statement = store.prepare(sql)?;
        statement.query_map([], |row| row.get::<_, String>(0))?.collect()
    };
    if texts("SELECT name FROM sqlite_schema WHERE name = 'run'")?.is_empty() {
        return Ok(Ok(Record::default()));
    }
    for check in ["PRAGMA integrity_check", "PRAGMA foreign_key_check"] {
        let said = texts(check)?;
        if !said.is_empty() && said != ["ok"] {
            return Ok(Err(format!("{check} of the store: {}", said.join("; "))));
        }
    }
    let mut record = Record::default();
    for id in texts("SELECT id FROM run ORDER BY started, number")? {
        let mut cells = Cells::new();
        let mut statement = store.prepare(
            "SELECT position, cell.id, outcome || coalesce(reason, '') FROM cell JOIN run ON cell.run = run.number
             WHERE run.id = ?1 AND position < ?2",
        )?;
        let rows = statement
            .query_map((&id, CELLS as i64), |row| Ok((row.get(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?)))?;
        for row in rows {
            let (position, cell, outcome) = row?;
            let mut text = outcome;
            let mut statement =
                store.prepare("SELECT task, iteration, metric, value FROM sample WHERE cell = ?1 ORDER BY position")?;
            let mut rows = statement.query([cell])?;
            while let Some(row) = rows.next()? {
                let value: f64 = row.get(3)?;
                text += &format!(
                    "\n{} {} {} {:x}",
                    row.get::<_, String>(0)?,
                    row.get::<_, i64>(1)?,
                    row.get::<_, String>(2)?,
                    value.to_bits()
                );
            }
            if cells.insert(position, text).is_some() {
                return Ok(Err(format!("cell {position} of run {id} is in the store twice")));
            }
        }
        record.runs.push((id, cells));
    }
    Ok(Ok(record))
}

impl Record {
    /// Differences from `before`: cells must stay, unchanged.
    pub fn lost_since(&self, before: &Record) -> Vec<String> {
        let mut lost = Vec::new();
        for (id, then) in &before.runs {
            let Some((_, now)) = self.runs.iter().find(|(other, _)| other == id) else {
                lost.push(format!("run {id} is gone from the store"));
                continue;
            };
            for (position, cell) in then {
                match now.get(position) {
                    None => lost.push(format!("cell {position} of run {id} is lost")),
                    Some(now) if now != cell => lost.push(format!("cell {position} of run {id} has changed")),
                    Some(_) => {}
                }
            }
        }
        lost
    }

    /// Number of cells in all runs.
    pub fn cells(&self) -> usize {
        self.runs.iter().map(|(_, cells)| cells.len()).sum()
    }
}
