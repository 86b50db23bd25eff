//! What can go wrong with a store, in sentences.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::RunId;

/// Why the store did not do what it was asked.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The folder that should hold the store is not there and cannot be made.
    #[error("cannot create the folder {} for the results store", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file cannot be opened.
    #[error("cannot open the results store {}: {reason}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The file can be read but not written, or SQLite's files beside it cannot be made.
    #[error("cannot write to the results store {}: {reason}; check the rights of the file and of its folder", path.display())]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// There is no room for what SQLite has to write, beside a store that is read too.
    #[error("no space is left for the results store {}: {reason}; free some there", path.display())]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// There is no store to read.
    #[error("there is no results store at {}: nothing has been run with it yet", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{} is not a results store: it is not an SQLite database; it was left as it is", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is another program's database.
    #[error("{} is an SQLite database of another program; it was left as it is", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A later version of this program has written the store.
    #[error(
        "the results store {} has format {found}, this program knows {known} at most: use a newer mountmark; \
         the store was left as it is",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: u32,
        /// The last version this program knows.
        known: u32,
    },
    /// SQLite finds the file's contents wrong.
    #[error("the results store {} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Another process kept the store for longer than a write can take.
    #[error("the results store {} is in use by another process that does not let go of it", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The store is empty.
    #[error("there is no run in the results store yet")]
    NoRuns,
    /// No run has this name.
    #[error("there is no run {name:?}{}", near_text(near))]
    UnknownRun {
        /// As asked for.
        name: String,
        /// Names that look like it, or the latest ones.
        near: Vec<RunId>,
    },
    /// Several runs begin so.
    #[error("{name:?} may be any of {} runs: {}", matches.len(), list(matches))]
    AmbiguousRun {
        /// As asked for.
        name: String,
        /// The runs that begin so.
        matches: Vec<RunId>,
    },
    /// The run cannot be deleted or resumed because a process works on it.
    #[error("run {run} is under way: {by} works on it; wait for its end or interrupt it, or say --force if it is gone")]
    StillRunning {
        /// The run.
        run: RunId,
        /// Which process.
        by: String,
    },
    /// Another process has gone on with the run, as somebody said that this one is gone.
    #[error("another process works on run {run} now: what this one measures is no longer kept")]
    TakenOver {
        /// The run.
        run: RunId,
    },
    /// The run cannot be resumed because it has ended meanwhile.
    #[error("run {run} is complete: another process has run the cells that it lacked")]
    Complete {
        /// The run.
        run: RunId,
    },
    /// The cell was recorded before.
    #[error("cell {index} of run {run} is in the store already")]
    CellExists {
        /// The run.
        run: RunId,
        /// Its position in the plan.
        index: u32,
    },
    /// A value that is no number: it would spoil every mean it came into.
    #[error("{metric} of task {task:?} (cell {index}, iteration {iteration}) is {value}, which is no figure")]
    NotFinite {
        /// Position of the cell in the plan.
        index: u32,
        /// Task id.
        task: String,
        /// Which time.
        iteration: u32,
        /// Metric id.
        metric: String,
        /// NaN or an infinity.
        value: f64,
    },
    /// One figure twice: it would count twice in every mean.
    #[error("{metric} of task {task:?} (cell {index}, iteration {iteration}) was reported twice")]
    DuplicateSample {
        /// Position of the cell in the plan.
        index: u32,
        /// Task id.
        task: String,
        /// Which time.
        iteration: u32,
        /// Metric id.
        metric: String,
    },
    /// A number that SQLite's 63 bits cannot hold.
    #[error("{what} is {value}, more than the store can hold")]
    TooLarge {
        /// What it counts.
        what: &'static str,
        /// The number.
        value: u64,
    },
    /// Text in the store that this version cannot read.
    #[error("the {what} of run {run} cannot be read by this version")]
    Unreadable {
        /// Which column.
        what: &'static str,
        /// The run.
        run: RunId,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Anything else that SQLite says.
    #[error("the results store {} failed", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: rusqlite::Error,
    },
}

fn near_text(near: &[RunId]) -> String {
    if near.is_empty() { String::new() } else { format!("; there are: {}", list(near)) }
}

fn list(runs: &[RunId]) -> String {
    runs.iter().map(RunId::as_str).collect::<Vec<_>>().join(", ")
}
