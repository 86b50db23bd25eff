//! The store itself: opened, written to, and its format kept. Reading runs back is in `store/load.rs`, the file before
//! SQLite sees it in `store/file.rs`.

use std::collections::HashSet;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mountmark_model::{Environment, Outcome, Plan};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::error::StoreError;
use crate::process::Process;
use crate::{CellRecord, DeviceUse, Output, RunId, RunStatus, Sample, TaskOutcome, Timestamp, names};

mod devices;
mod file;
mod load;
mod outputs;
mod row;

use file::{Inspected, has_wal, immutable_uri, inspect};
use row::status;

/// The steps from an empty file to the present format; `PRAGMA user_version` counts those that were done. What is
/// here has been released: it is never changed, only added to.
const MIGRATIONS: &[&str] =
    &[include_str!("schema/001.sql"), include_str!("schema/002.sql"), include_str!("schema/003.sql")];

/// The format that this program writes.
const VERSION: u32 = MIGRATIONS.len() as u32;

/// `PRAGMA application_id` of a results store: "MMRK".
const APPLICATION: u32 = 0x4d4d_524b;

/// How long a writer waits for another. Writes take milliseconds: who waits longer waits for something that hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// A results store in one file. Several processes may have it open and write to it.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
}

impl Store {
    /// Opens the store for reading and writing; makes it, and the folders above it, where there is none.
    ///
    /// A file that is no store, or one of a newer version, is refused before anything is written to it.
    pub fn open(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let path = path.as_ref();
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|source| StoreError::Folder { path: folder.to_owned(), source })?;
        }
        inspect(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let store = Store::connect(path, path, flags)?;
        if store.is_read_only()? {
            return Err(StoreError::NotWritable { path: path.to_owned(), reason: "it can only be read".into() });
        }
        store.check_version()?;
        store.use_wal().map_err(|error| not_writable(path, error))?;
        store.set("synchronous", "FULL")?;
        store.set("foreign_keys", "ON")?;
        store.migrate().map_err(|error| not_writable(path, error))?;
        Ok(store)
    }

    /// Opens the store for reading; nothing is made, and no run is changed. Writers may be at work beside it.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let path = path.as_ref();
        if inspect(path)? == Inspected::Empty {
            return Err(StoreError::Missing { path: path.to_owned() });
        }
        // Where SQLite may write, it removes the files beside the store on closing; where it may not, it reads.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = Store::connect(path, path, flags).and_then(|store| {
            store.check_version()?;
            store.set("query_only", "ON")?;
            Ok(store)
        });
        let store = match open {
            // WAL needs a file beside the store even to read. Where none can be made and no WAL is there, nobody
            // writes either, and the file can be read as one that never changes.
            Err(StoreError::Open { .. } | StoreError::NotWritable { .. }) if !has_wal(path) => {
                let uri = immutable_uri(path);
                let store = Store::connect(path, Path::new(&uri), flags | OpenFlags::SQLITE_OPEN_URI)?;
                store.check_version()?;
                store
            }
            other => other?,
        };
        if store.number("PRAGMA user_version")? == 0 {
            return Err(StoreError::Missing { path: path.to_owned() });
        }
        Ok(store)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes down what is about to be done; the run is `running` from now on, by this process.
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
                    json(&Process::this()),
                    json(environment),
                    json(plan),
                ],
            )
            .map_err(|source| self.error(source))?;
        self.commit(transaction)?;
        Ok(id)
    }

    /// Goes on with a run that did not end: it is `running` again, by this process. Its cells stay.
    pub fn resume_run(&self, run: &RunId) -> Result<(), StoreError> {
        let transaction = self.write()?;
        self.refuse_running(run)?;
        self.execute(
            "UPDATE run SET status = 'running', ended = NULL, process = ?2 WHERE id = ?1",
            params![run.as_str(), json(&Process::this())],
        )?;
        self.commit(transaction)
    }

    /// Writes down a cell that ended, whole: when this returns it survives a power failure, and when it does not
    /// return nothing of the cell is in the store.
    pub fn record_cell(&self, run: &RunId, cell: &CellRecord) -> Result<(), StoreError> {
        self.record_cell_with(run, cell, &[], &[])
    }

    /// As [`Store::record_cell`], with what its programs printed and what its tasks asked of the device.
    pub fn record_cell_with(
        &self,
        run: &RunId,
        cell: &CellRecord,
        outputs: &[Output],
        devices: &[DeviceUse],
    ) -> Result<(), StoreError> {
        check_samples(cell)?;
        let transaction = self.write()?;
        let id = self.insert_cell(run, cell)?;
        outputs::insert(&self.connection, id, outputs).map_err(|source| self.error(source))?;
        devices::insert(&self.connection, id, devices).map_err(|source| self.error(source))?;
        self.commit(transaction)
    }

    /// Writes down that a run ended, and how.
    pub fn end_run(&self, run: &RunId, status: RunStatus) -> Result<(), StoreError> {
        let transaction = self.write()?;
        let changed = self.execute(
            "UPDATE run SET status = ?2, ended = ?3 WHERE id = ?1",
            params![run.as_str(), status.word(), Timestamp::now().0],
        )?;
        if changed == 0 {
            return Err(self.unknown(run));
        }
        self.commit(transaction)
    }

    /// Removes a run and all its cells; one that a process works on is refused.
    pub fn delete_run(&self, run: &RunId) -> Result<(), StoreError> {
        let transaction = self.write()?;
        self.refuse_running(run)?;
        self.execute("DELETE FROM run WHERE id = ?1", [run.as_str()])?;
        self.commit(transaction)
    }

    /// The run that `name` means: a whole name, the beginning of only one, or `latest` (`last`).
    pub fn resolve(&self, name: &str) -> Result<RunId, StoreError> {
        names::resolve(name, &self.ids()?)
    }

    /// The inserts of [`Store::record_cell`], inside its transaction; answers the cell's id.
    fn insert_cell(&self, run: &RunId, cell: &CellRecord) -> Result<i64, StoreError> {
        let number = self.run_number(run)?;
        let taken: Option<i64> = self
            .connection
            .prepare_cached("SELECT id FROM cell WHERE run = ?1 AND position = ?2")
            .and_then(|mut statement| statement.query_row(params![number, cell.index], |row| row.get(0)).optional())
            .map_err(|source| self.error(source))?;
        if taken.is_some() {
            return Err(StoreError::CellExists { run: run.clone(), index: cell.index });
        }
        let disk_size = i64::try_from(cell.disk_size.0)
            .map_err(|_| StoreError::TooLarge { what: "the disk's size", value: cell.disk_size.0 })?;
        let insert = || -> rusqlite::Result<i64> {
            let detail = |outcome: &Outcome| match outcome {
                Outcome::Failed { detail, .. } => Some(detail.clone()),
                _ => None,
            };
            self.connection
                .prepare_cached(
                    "INSERT INTO cell (run, position, repeat, configuration, seed, disk, disk_size, started, ended,
                         outcome, reason, detail, environment, corpus, log)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
                )?
                .execute(params![
                    number,
                    cell.index,
                    cell.repeat,
                    cell.configuration,
                    cell.seed.to_string(),
                    cell.disk,
                    disk_size,
                    cell.started.0,
                    cell.ended.0,
                    cell.outcome.word(),
                    cell.outcome.reason(),
                    detail(&cell.outcome),
                    json(&cell.environment),
                    cell.corpus.as_ref().map(json),
                    cell.log,
                ])?;
            let id = self.connection.last_insert_rowid();
            let mut statement =
                self.connection.prepare_cached("INSERT INTO task_outcome VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
            for (position, TaskOutcome { task, outcome }) in (0_i64..).zip(&cell.outcomes) {
                statement.execute(params![id, position, task, outcome.word(), outcome.reason(), detail(outcome)])?;
            }
            let mut statement = self.connection.prepare_cached("INSERT INTO note VALUES (?1, ?2, ?3)")?;
            for (position, text) in (0_i64..).zip(&cell.notes) {
                statement.execute(params![id, position, text])?;
            }
            let mut statement = self.connection.prepare_cached("INSERT INTO sample VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
            for (position, sample) in (0_i64..).zip(&cell.samples) {
                statement.execute(params![id, position, sample.task, sample.iteration, sample.metric, sample.value])?;
            }
            Ok(id)
        };
        insert().map_err(|source| self.error(source))
    }

    fn connect(path: &Path, name: &Path, flags: OpenFlags) -> Result<Store, StoreError> {
        let connection = Connection::open_with_flags(name, flags).map_err(|source| explain(path, source))?;
        connection.busy_timeout(PATIENCE).map_err(|source| explain(path, source))?;
        Ok(Store { path: path.to_owned(), connection })
    }

    fn is_read_only(&self) -> Result<bool, StoreError> {
        self.connection.is_readonly("main").map_err(|source| self.error(source))
    }

    /// Refuses what is newer or another program's, and leaves it as it is.
    fn check_version(&self) -> Result<(), StoreError> {
        // A newer version may lie in the WAL only: nothing is written back, not even by closing, until it is known.
        let write_back = |on: bool| {
            let set = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !on);
            set.map(|_| ()).map_err(|source| self.error(source))
        };
        write_back(false)?;
        // One moment of the file: between two statements another process may have made the store.
        let moment = self.connection.unchecked_transaction().map_err(|source| self.error(source))?;
        self.read_version()?;
        self.commit(moment)?;
        write_back(true)
    }

    fn read_version(&self) -> Result<(), StoreError> {
        let found = self.number("PRAGMA user_version")? as u32;
        let application = self.number("PRAGMA application_id")? as u32;
        if application != APPLICATION {
            let empty = self.number("SELECT count(*) FROM sqlite_schema")? == 0;
            if application != 0 || found != 0 || !empty {
                return Err(StoreError::Foreign { path: self.path.clone() });
            }
        } else if found > VERSION {
            return Err(StoreError::Newer { path: self.path.clone(), found, known: VERSION });
        }
        Ok(())
    }

    /// Switches to WAL. SQLite does not wait for others here, so this does.
    fn use_wal(&self) -> Result<(), StoreError> {
        let mode = |sql| self.connection.query_row(sql, [], |row| row.get::<_, String>(0));
        let end = Instant::now() + PATIENCE;
        loop {
            match mode("PRAGMA journal_mode")
                .and_then(|now| if now == "wal" { Ok(now) } else { mode("PRAGMA journal_mode = WAL") })
            {
                // Where the file system cannot share memory, SQLite stays with its journal: slower, as safe.
                Ok(_) => return Ok(()),
                Err(error) if is_busy(&error) && Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(self.error(error)),
            }
        }
    }

    /// Brings the file to the present format. The empty transaction of a present file finds out that the file
    /// cannot be written now, not after the first cell has been measured.
    fn migrate(&self) -> Result<(), StoreError> {
        let transaction = self.write()?;
        // Again, and now with the lock: another process may have just done it.
        self.read_version()?;
        let done = self.number("PRAGMA user_version")? as usize;
        for migration in &MIGRATIONS[done..] {
            self.batch(migration)?;
        }
        if done < MIGRATIONS.len() {
            self.batch(&format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"))?;
        }
        self.commit(transaction)
    }

    fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(|source| self.error(source))
    }

    fn set(&self, pragma: &str, value: &str) -> Result<(), StoreError> {
        self.connection.pragma_update(None, pragma, value).map_err(|source| self.error(source))
    }

    /// A transaction that has the write lock from the start: it waits for others now or fails now, not half-way.
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

    /// Refuses runs that are unknown or that a living process works on.
    fn refuse_running(&self, run: &RunId) -> Result<(), StoreError> {
        let this = Process::this();
        let found = self
            .connection
            .query_row("SELECT status, process FROM run WHERE id = ?1", [run.as_str()], |row| status(row, 0, 1, &this))
            .optional()
            .map_err(|source| self.error(source))?;
        match found {
            None => Err(self.unknown(run)),
            Some(RunStatus::Running) => Err(StoreError::StillRunning { run: run.clone() }),
            Some(_) => Ok(()),
        }
    }

    fn ids(&self) -> Result<Vec<RunId>, StoreError> {
        self.rows("SELECT id FROM run WHERE ?1 = ?1 ORDER BY started, number", 0, |row| row.get(0).map(RunId))
    }

    fn unknown(&self, run: &RunId) -> StoreError {
        let unknown = || StoreError::UnknownRun { name: run.to_string(), near: Vec::new() };
        match self.ids() {
            Ok(ids) => names::resolve(run.as_str(), &ids).err().unwrap_or_else(unknown),
            Err(error) => error,
        }
    }

    fn error(&self, source: rusqlite::Error) -> StoreError {
        explain(&self.path, source)
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// While a store is opened to write, a file beside it that cannot be made is a matter of rights.
fn not_writable(path: &Path, error: StoreError) -> StoreError {
    match error {
        StoreError::Open { reason, .. } => StoreError::NotWritable { path: path.to_owned(), reason },
        other => other,
    }
}

fn explain(path: &Path, source: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    let reason = source.to_string();
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path },
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => StoreError::Damaged { path, reason },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::NotWritable { path, reason },
        Some(ErrorCode::CannotOpen) => StoreError::Open { path, reason },
        _ => match source {
            // A value of another type than the schema allows: not by this program.
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..) => StoreError::Damaged { path, reason },
            source => StoreError::Sqlite { path, source },
        },
    }
}

/// Refuses samples that would spoil what is computed from them.
fn check_samples(cell: &CellRecord) -> Result<(), StoreError> {
    let mut seen = HashSet::with_capacity(cell.samples.len());
    for sample in &cell.samples {
        let Sample { task, iteration, metric, value } = sample;
        if !value.is_finite() {
            return Err(StoreError::NotFinite {
                index: cell.index,
                task: task.clone(),
                iteration: *iteration,
                metric: metric.clone(),
                value: *value,
            });
        }
        if !seen.insert((task, iteration, metric)) {
            return Err(StoreError::DuplicateSample {
                index: cell.index,
                task: task.clone(),
                iteration: *iteration,
                metric: metric.clone(),
            });
        }
    }
    Ok(())
}

/// Four digits of chance keep runs of one minute apart; they need not be unpredictable.
fn new_id(started: Timestamp) -> RunId {
    let (year, month, day, hour, minute, _) = started.civil();
    // Every RandomState differs: its keys are random once a thread and counted up after that.
    let chance = RandomState::new().hash_one(started.0) & 0xffff;
    RunId(format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}-{chance:04x}"))
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("the model's types have text keys only and do not fail by themselves")
}

/// A value of a row, or why its text is not one.
type Unpacked<T> = Result<T, serde_json::Error>;

/// Whether the store has a table. One that an older program wrote and nobody has written to since lacks the newer ones.
fn there(connection: &Connection, table: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    connection.query_row(sql, [table], |row| row.get::<_, i64>(0)).map(|count| count > 0)
}

#[cfg(test)]
mod tests;
