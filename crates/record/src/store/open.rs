//! Opens the store, and migrates its format.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::file::{Inspected, has_wal, immutable_uri, inspect};
use super::{Store, explain};
use crate::error::StoreError;
use crate::locks::Locks;

/// The steps from an empty file to the current format; `PRAGMA user_version` counts the applied ones. These steps have
/// been released: add new ones, never change them.
const MIGRATIONS: &[&str] = &[
    include_str!("../schema/001.sql"),
    include_str!("../schema/002.sql"),
    include_str!("../schema/003.sql"),
    include_str!("../schema/004.sql"),
    include_str!("../schema/005.sql"),
];

/// The format that this program writes.
pub(super) const VERSION: u32 = MIGRATIONS.len() as u32;

/// `PRAGMA application_id` of a results store: "MMRK".
pub(super) const APPLICATION: u32 = 0x4d4d_524b;

/// How long a writer waits for another. Writes take milliseconds: a longer wait means that the other hangs.
const PATIENCE: Duration = Duration::from_secs(30);

impl Store {
    /// Opens the store for reading and writing; creates it and its parent folders if missing.
    ///
    /// Rejects a file that is not a store, or one of a newer version, before anything is written to it.
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

    /// Opens the store for reading; creates nothing and changes no run. Other processes may write at the same time.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let path = path.as_ref();
        if inspect(path)? == Inspected::Empty {
            return Err(StoreError::Missing { path: path.to_owned() });
        }
        // If SQLite may write, it removes the files beside the store on closing; otherwise it only reads.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = Store::connect(path, path, flags).and_then(|store| {
            store.check_version()?;
            store.set("query_only", "ON")?;
            Ok(store)
        });
        let store = match open {
            // WAL needs a file beside the store even for reading. If it cannot be created and there is no WAL, no
            // process writes either, and the file can be read as immutable.
            Err(StoreError::Open { .. } | StoreError::NotWritable { .. } | StoreError::NoSpace { .. })
                if !has_wal(path) =>
            {
                let uri = immutable_uri(path);
                let store = Store::connect(path, Path::new(&uri), flags | OpenFlags::SQLITE_OPEN_URI)?;
                store.check_version()?;
                store
            }
            // With a WAL: in exclusive mode SQLite keeps in memory what it would share in that file. If a process
            // writes, the file already exists, with space for it.
            Err(StoreError::NoSpace { .. }) => {
                let store = Store::connect(path, path, flags)?;
                store.set("locking_mode", "EXCLUSIVE")?;
                store.check_version()?;
                store.set("query_only", "ON")?;
                store.leave_wal(true)?;
                store
            }
            other => other?,
        };
        if store.number("PRAGMA user_version")? == 0 {
            return Err(StoreError::Missing { path: path.to_owned() });
        }
        Ok(store)
    }

    pub(super) fn connect(path: &Path, name: &Path, flags: OpenFlags) -> Result<Store, StoreError> {
        let connection = Connection::open_with_flags(name, flags).map_err(|source| explain(path, source))?;
        connection.busy_timeout(PATIENCE).map_err(|source| explain(path, source))?;
        // A store may be untrusted: schema objects other than tables must not run.
        let stranger = [
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        ];
        for (config, on) in stranger {
            connection.set_db_config(config, on).map_err(|source| explain(path, source))?;
        }
        Ok(Store { path: path.to_owned(), connection, locks: Locks::of(path) })
    }

    fn is_read_only(&self) -> Result<bool, StoreError> {
        self.connection.is_readonly("main").map_err(|source| self.error(source))
    }

    /// Rejects a newer store or another program's database, without changing it.
    fn check_version(&self) -> Result<(), StoreError> {
        // The newer version may be in the WAL only: nothing is checkpointed, not even on closing, until it is known.
        self.leave_wal(true)?;
        // Read the file at one moment: between two statements another process may have created the store.
        let moment = self.connection.unchecked_transaction().map_err(|source| self.error(source))?;
        self.read_version()?;
        self.commit(moment)?;
        self.leave_wal(false)?;
        self.check_schema()
    }

    /// Whether closing leaves the contents of the WAL there.
    fn leave_wal(&self, leave: bool) -> Result<(), StoreError> {
        let set = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leave);
        set.map(|_| ()).map_err(|source| self.error(source))
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
        } else if found == 0 && self.number("SELECT count(*) FROM sqlite_schema")? != 0 {
            // A store of this program has a format as soon as it has a table.
            return Err(StoreError::Foreign { path: self.path.clone() });
        }
        Ok(())
    }

    /// Rejects schemas that no migration has made, before a row is read: in an untrusted store a view may have endless
    /// rows, and an index or a trigger may run any expression.
    fn check_schema(&self) -> Result<(), StoreError> {
        const ALL: &str = "SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_schema ORDER BY name";
        let objects = |connection: &Connection| -> rusqlite::Result<Vec<[String; 4]>> {
            let mut statement = connection.prepare(ALL)?;
            let rows = statement.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))?;
            rows.collect()
        };
        let made = || {
            let connection = Connection::open_in_memory()?;
            MIGRATIONS.iter().try_for_each(|migration| connection.execute_batch(migration))?;
            objects(&connection)
        };
        let known = made().map_err(|source| self.error(source))?;
        let found = objects(&self.connection).map_err(|source| self.error(source))?;
        match found.iter().find(|object| !known.contains(object)) {
            None => Ok(()),
            Some([kind, name, ..]) => {
                let reason = format!("its {kind} {name:?} is not as this program makes it");
                Err(StoreError::Damaged { path: self.path.clone(), reason })
            }
        }
    }

    /// Switches to WAL. SQLite does not wait for others here, so this function does.
    fn use_wal(&self) -> Result<(), StoreError> {
        let mode = |sql| self.connection.query_row(sql, [], |row| row.get::<_, String>(0));
        let end = Instant::now() + PATIENCE;
        loop {
            match mode("PRAGMA journal_mode")
                .and_then(|now| if now == "wal" { Ok(now) } else { mode("PRAGMA journal_mode = WAL") })
            {
                // If the file system cannot share memory, SQLite stays with its journal: slower, but as safe.
                Ok(_) => return Ok(()),
                Err(error) if is_busy(&error) && Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(self.error(error)),
            }
        }
    }

    /// Migrates the file to the current format. The empty transaction for a current file detects an unwritable file
    /// now, not after the first cell has been measured.
    pub(super) fn migrate(&self) -> Result<(), StoreError> {
        let transaction = self.write()?;
        // Checked again with the lock: another process may just have migrated it.
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
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// When a store is opened for writing, a file beside it that cannot be created is a matter of permissions.
fn not_writable(path: &Path, error: StoreError) -> StoreError {
    match error {
        StoreError::Open { reason, .. } => StoreError::NotWritable { path: path.to_owned(), reason },
        other => other,
    }
}
