//! The store: starts, ends and names runs. `store/open.rs` opens it, `store/file.rs` checks the file before SQLite sees
//! it, `store/cells.rs` writes cells, `store/load.rs` reads runs.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

use mountmark_cells::Plan;
use mountmark_model::Environment;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::error::StoreError;
use crate::locks::Locks;
use crate::process::Process;
use crate::{RunId, RunStatus, Timestamp, names};

mod cells;
mod devices;
mod file;
mod load;
mod open;
mod outputs;
mod row;

pub use cells::CellToRecord;
use row::{ProcessView, run_id};

/// A results store in one file. Several processes may open it and write to it.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
    locks: Locks,
}

impl Store {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records a plan before it starts; from now on this process works on the run, which is `running`.
    pub fn begin_run(&self, plan: &Plan, environment: &Environment, command_line: &str) -> Result<RunId, StoreError> {
        let started = Timestamp::now();
        let transaction = self.write()?;
        let id = loop {
            let id = new_id(started);
            let taken: Option<i64> = transaction
                .query_row("SELECT number FROM run WHERE id = ?1", [id.as_str()], |row| row.get(0))
                .optional()
                .map_err(|source| self.error(source))?;
            if taken.is_none() {
                break id;
            }
        };
        transaction
            .execute(
                "INSERT INTO run (id, started, status, command_line, suite, lab, machine, kernel, scale, seed, repeats,
                     configurations, planned, program, process, environment, plan)
                 VALUES (?1, ?2, 'running', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
                params![
                    id.as_str(),
                    started.0,
                    command_line,
                    plan.suite,
                    plan.lab.name(),
                    plan.machine.name,
                    plan.kernel,
                    plan.scale.factor(),
                    plan.seed.to_string(),
                    plan.repeats,
                    json(&plan.configurations),
                    plan.cells.len() as i64,
                    environment.mountmark,
                    json(&Process::default()),
                    json(environment),
                    plan.stored(),
                ],
            )
            .map_err(|source| self.error(source))?;
        self.take(&id)?;
        self.commit(transaction)?;
        Ok(id)
    }

    /// Rejects a run that a process works on. `force` as in [`Store::delete_run`].
    pub fn check_idle(&self, run: &RunId, force: bool) -> Result<(), StoreError> {
        self.refuse_running(run, force).map(|_| ())
    }

    /// Resumes a run that did not end: it is `running` again, by this process. Returns the indices of its existing
    /// cells, as another process may have added some since the run was read. `force` as in [`Store::delete_run`].
    pub fn resume_run(&self, run: &RunId, force: bool) -> Result<BTreeSet<u32>, StoreError> {
        let transaction = self.write()?;
        if self.refuse_running(run, force)? == RunStatus::Done {
            return Err(StoreError::Complete { run: run.clone() });
        }
        let number = self.run_number(run)?;
        let cells = self.rows("SELECT position FROM cell WHERE run = ?1", number, |row| row.get(0))?;
        self.execute("UPDATE run SET status = 'running', ended = NULL WHERE number = ?1", [number])?;
        self.take(run)?;
        self.commit(transaction)?;
        Ok(cells.into_iter().collect())
    }

    /// Records a run's plan anew, with more cells, or with less where the run ends before its plan. Only the process that
    /// works on a run can do so.
    pub fn replan_run(&self, run: &RunId, plan: &Plan) -> Result<(), StoreError> {
        let transaction = self.write()?;
        let number = self.own_run(run)?;
        self.execute(
            "UPDATE run SET plan = ?2, planned = ?3, repeats = ?4 WHERE number = ?1",
            params![number, plan.stored(), plan.cells.len() as i64, plan.repeats],
        )?;
        self.commit(transaction)
    }

    /// Records the end of a run and its status. Only the process that works on a run can do so.
    pub fn end_run(&self, run: &RunId, status: RunStatus) -> Result<(), StoreError> {
        let transaction = self.write()?;
        let number = self.own_run(run)?;
        self.execute(
            "UPDATE run SET status = ?2, ended = ?3 WHERE number = ?1",
            params![number, status.word(), Timestamp::now().0],
        )?;
        self.commit(transaction)?;
        self.locks.give_back(number);
        Ok(())
    }

    /// Removes a run and all its cells; rejects one that a process works on, unless `force` declares that process dead,
    /// which cannot be checked for another machine.
    pub fn delete_run(&self, run: &RunId, force: bool) -> Result<(), StoreError> {
        let transaction = self.write()?;
        self.refuse_running(run, force)?;
        self.execute("DELETE FROM run WHERE id = ?1", [run.as_str()])?;
        self.commit(transaction)
    }

    /// Records that this process works on a run, in the caller's transaction.
    fn take(&self, run: &RunId) -> Result<(), StoreError> {
        // Without locks, the pid must suffice.
        let has_lock = self.locks.take(self.run_number(run)?).unwrap_or(false);
        let process = Process::this().with_lock(has_lock);
        self.execute("UPDATE run SET process = ?2 WHERE id = ?1", params![run.as_str(), json(&process)])?;
        Ok(())
    }

    /// The number of a run that this process works on.
    fn own_run(&self, run: &RunId) -> Result<i64, StoreError> {
        let number = self.run_number(run)?;
        let process: String = self
            .connection
            .query_row("SELECT process FROM run WHERE number = ?1", [number], |row| row.get(0))
            .map_err(|source| self.error(source))?;
        let is_own = serde_json::from_str::<Process>(&process).is_ok_and(|process| process.is_same(&Process::this()));
        if is_own { Ok(number) } else { Err(StoreError::TakenOver { run: run.clone() }) }
    }

    /// The run for `name`: a complete name, a unique prefix, or `latest` (`last`).
    pub fn resolve(&self, name: &str) -> Result<RunId, StoreError> {
        names::resolve("run", name, &self.ids()?)
    }

    fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(|source| self.error(source))
    }

    fn set(&self, pragma: &str, value: &str) -> Result<(), StoreError> {
        self.connection.pragma_update(None, pragma, value).map_err(|source| self.error(source))
    }

    /// A transaction that takes the write lock at the start: it waits or fails now, not half-way.
    fn write(&self) -> Result<Transaction<'_>, StoreError> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
            .map_err(|source| self.error(source))
    }

    fn commit(&self, transaction: Transaction<'_>) -> Result<(), StoreError> {
        transaction.commit().map_err(|source| self.error(source))
    }

    fn execute(&self, sql: &str, parameters: impl rusqlite::Params) -> Result<usize, StoreError> {
        self.connection.execute(sql, parameters).map_err(|source| self.error(source))
    }

    fn number(&self, sql: &str) -> Result<i64, StoreError> {
        self.connection.query_row(sql, [], |row| row.get(0)).map_err(|source| self.error(source))
    }

    fn run_number(&self, run: &RunId) -> Result<i64, StoreError> {
        self.connection
            .prepare_cached("SELECT number FROM run WHERE id = ?1")
            .and_then(|mut statement| statement.query_row([run.as_str()], |row| row.get(0)).optional())
            .map_err(|source| self.error(source))?
            .ok_or_else(|| self.unknown(run))
    }

    /// The status of a run; rejects unknown ones, and without `force` those that a living process works on.
    fn refuse_running(&self, run: &RunId, force: bool) -> Result<RunStatus, StoreError> {
        let witness = ProcessView::of(&self.path);
        let found = self
            .connection
            .query_row("SELECT number, status, process FROM run WHERE id = ?1", [run.as_str()], |row| {
                witness.status(row, 0)
            })
            .optional()
            .map_err(|source| self.error(source))?;
        match found {
            None => Err(self.unknown(run)),
            Some((_, Some(by))) if !force => Err(StoreError::StillRunning { run: run.clone(), by }),
            Some((status, _)) => Ok(status),
        }
    }

    fn ids(&self) -> Result<Vec<RunId>, StoreError> {
        self.rows("SELECT id FROM run WHERE ?1 = ?1 ORDER BY started, number", 0, |row| run_id(row, 0))
    }

    fn unknown(&self, run: &RunId) -> StoreError {
        let unknown = || StoreError::UnknownRun { what: "run", name: run.to_string(), near: Vec::new() };
        match self.ids() {
            Ok(ids) => names::resolve("run", run.as_str(), &ids).err().unwrap_or_else(unknown),
            Err(error) => error,
        }
    }

    fn error(&self, source: rusqlite::Error) -> StoreError {
        explain(&self.path, source)
    }
}

fn explain(path: &Path, source: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    let reason = source.to_string();
    // The shared-memory file beside the store could not be enlarged.
    if source.sqlite_error().is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE) {
        return StoreError::NoSpace { path, reason: "the file beside it that its readers share cannot be made".into() };
    }
    match source.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::NoSpace { path, reason },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path },
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => StoreError::Damaged { path, reason },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::NotWritable { path, reason },
        Some(ErrorCode::CannotOpen) => StoreError::Open { path, reason },
        _ => match source {
            // A value of another type than the schema allows, not written by this program.
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..) => StoreError::Damaged { path, reason },
            source => StoreError::Sqlite { path, source },
        },
    }
}

/// A name for what starts now, such as a run. Four random digits separate those of one minute; they need not be unpredictable.
pub fn new_id(started: Timestamp) -> RunId {
    let (year, month, day, hour, minute, _) = started.civil();
    // Every RandomState differs: its keys are random once per thread and then counted up.
    let chance = RandomState::new().hash_one(started.0) & 0xffff;
    RunId(format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}-{chance:04x}"))
}

pub(crate) fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("the model's types have text keys only and do not fail by themselves")
}

/// A value of a row, or why its text is invalid.
type Unpacked<T> = Result<T, serde_json::Error>;

/// Whether the store has a table. One written by an older program and not changed since lacks the newer tables.
fn there(connection: &Connection, table: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    connection.query_row(sql, [table], |row| row.get::<_, i64>(0)).map(|count| count > 0)
}

#[cfg(test)]
mod tests;
