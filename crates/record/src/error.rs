//! Errors of a store, as sentences.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::RunId;

#[derive(Debug, Error)]
pub enum StoreError {
    /// The folder for the store does not exist and cannot be created.
    #[error("cannot create the folder {} for the results store", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("cannot open the results store {}: {reason}", path.display())]
    Open { path: PathBuf, reason: String },
    /// The file can be read but not written, or SQLite's files beside it cannot be created.
    #[error("cannot write to the results store {}: {reason}; check the rights of the file and of its folder", path.display())]
    NotWritable { path: PathBuf, reason: String },
    /// There is no space for SQLite's writes, which reading may need too.
    #[error("no space is left for the results store {}: {reason}; free some there", path.display())]
    NoSpace { path: PathBuf, reason: String },
    #[error("there is no results store at {}: nothing has been run with it yet", path.display())]
    Missing { path: PathBuf },
    /// The file is not an SQLite database.
    #[error("{} is not a results store: it is not an SQLite database; it was left as it is", path.display())]
    NotADatabase { path: PathBuf },
    #[error("{} is an SQLite database of another program; it was left as it is", path.display())]
    Foreign { path: PathBuf },
    /// A later version of this program has written the store.
    #[error(
        "the results store {} has format {found}, this program knows {known} at most: use a newer mountmark; \
         the store was left as it is",
        path.display()
    )]
    Newer {
        path: PathBuf,
        found: u32,
        /// The last version that this program knows.
        known: u32,
    },
    /// SQLite finds the file corrupt.
    #[error("the results store {} is damaged: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    /// Another process locked the store for longer than any write takes.
    #[error("the results store {} is in use by another process that does not let go of it", path.display())]
    Busy { path: PathBuf },
    #[error("there is no {what} in the results store yet")]
    NoRuns {
        /// A run or a campaign.
        what: &'static str,
    },
    #[error("there is no {what} {name:?}{}", near_text(near))]
    UnknownRun {
        what: &'static str,
        /// As given.
        name: String,
        /// Similar names, or else the latest ones.
        near: Vec<RunId>,
    },
    /// The name is a prefix of several runs.
    #[error("{name:?} may be any of {} {what}s: {}", matches.len(), list(matches))]
    AmbiguousRun {
        what: &'static str,
        /// As given.
        name: String,
        /// The runs with this prefix.
        matches: Vec<RunId>,
    },
    /// The run cannot be deleted or resumed because a process works on it.
    #[error("run {run} is under way: {by} works on it; wait for its end or interrupt it, or say --force if it is gone")]
    StillRunning { run: RunId, by: String },
    /// The same of a campaign, whose process is on this machine.
    #[error("campaign {0} is under way: another process works on it; wait for its end or interrupt it")]
    CampaignUnderWay(RunId),
    /// Another process has resumed the run, because its user declared this process dead.
    #[error("another process took over run {run}: this one's results are discarded")]
    TakenOver { run: RunId },
    /// The run cannot be resumed because it has ended meanwhile.
    #[error("run {run} is complete: another process has run the cells that it lacked")]
    Complete { run: RunId },
    #[error("cell {index} of run {run} is in the store already")]
    CellExists { run: RunId, index: u32 },
    /// A value that is not finite, which would corrupt every mean.
    #[error("{metric} of task {task:?} (cell {index}, iteration {iteration}) is {value}, which is no figure")]
    NotFinite {
        /// Index of the cell in the plan.
        index: u32,
        task: String,
        iteration: u32,
        metric: String,
        /// NaN or an infinity.
        value: f64,
    },
    /// A figure occurs twice, and would count twice in every mean.
    #[error("{metric} of task {task:?} (cell {index}, iteration {iteration}) was reported twice")]
    DuplicateSample {
        /// Index of the cell in the plan.
        index: u32,
        task: String,
        iteration: u32,
        metric: String,
    },
    /// A number that exceeds SQLite's 63 bits.
    #[error("{what} is {value}, more than the store can hold")]
    TooLarge { what: &'static str, value: u64 },
    /// Text in the store that this version cannot read.
    #[error("the {what} of run {run} cannot be read by this version")]
    Unreadable {
        /// The column.
        what: &'static str,
        run: RunId,
        source: serde_json::Error,
    },
    /// Any other error of SQLite.
    #[error("the results store {} failed", path.display())]
    Sqlite { path: PathBuf, source: rusqlite::Error },
}

fn near_text(near: &[RunId]) -> String {
    if near.is_empty() { String::new() } else { format!("; there are: {}", list(near)) }
}

fn list(runs: &[RunId]) -> String {
    runs.iter().map(RunId::as_str).collect::<Vec<_>>().join(", ")
}
