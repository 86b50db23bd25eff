//! What is kept: runs, cells, samples.

use std::fmt;

use mountmark_model::{Bytes, Cell, Environment, Outcome, Plan, RealisedCorpus, Sample, TaskOutcome};
use serde::Serialize;

use crate::Timestamp;

/// The name of a run, such as `20261121-0345-a1b2`: when it began in UTC, and four digits of chance. Names sort
/// by the minute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct RunId(pub(crate) String);

impl RunId {
    /// A run id as text; whether a store has it is for the store to say.
    pub fn new(text: impl Into<String>) -> RunId {
        RunId(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// A process works on it.
    Running,
    /// Every planned cell was tried.
    Done,
    /// It was stopped, or its process is gone.
    Interrupted,
    /// It could not go on.
    Failed,
}

impl RunStatus {
    const ALL: [RunStatus; 4] = [RunStatus::Running, RunStatus::Done, RunStatus::Interrupted, RunStatus::Failed];

    /// `running`, `done`, `interrupted` or `failed`.
    pub fn word(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Done => "done",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Failed => "failed",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<RunStatus> {
        RunStatus::ALL.into_iter().find(|status| status.word() == word)
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A run as lists show it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// Its name.
    pub id: RunId,
    /// When it began.
    pub started: Timestamp,
    /// When it ended, if it did.
    pub ended: Option<Timestamp>,
    /// How far it came.
    pub status: RunStatus,
    /// The version of the program that ran it.
    pub program: String,
    /// As it was typed.
    pub command_line: String,
    /// Suite name.
    pub suite: String,
    /// Lab name.
    pub lab: String,
    /// Machine name.
    pub machine: String,
    /// Kernel as the user asked for it.
    pub kernel: String,
    /// How much the suite was shrunk.
    pub scale: f64,
    /// What everything random came from.
    pub seed: u64,
    /// Cells of each configuration.
    pub repeats: u32,
    /// Configuration names in the user's order.
    pub configurations: Vec<String>,
    /// Cells in the plan.
    pub planned: u32,
    /// Cells in the store.
    pub recorded: u32,
    /// Cells in the store that failed as a whole, or with a task.
    pub failed: u32,
}

/// A run with everything that was measured in it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// Its name.
    pub id: RunId,
    /// When it began.
    pub started: Timestamp,
    /// When it ended, if it did.
    pub ended: Option<Timestamp>,
    /// How far it came.
    pub status: RunStatus,
    /// The version of the program that ran it.
    pub program: String,
    /// As it was typed.
    pub command_line: String,
    /// What was to be done.
    pub plan: Plan,
    /// Where and with what, as known at the start.
    pub environment: Environment,
    /// The cells that ended, in the plan's order.
    pub cells: Vec<CellRecord>,
}

/// A cell that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct CellRecord {
    /// Position in the plan, from 0.
    pub index: u32,
    /// Block.
    pub repeat: u32,
    /// Configuration name.
    pub configuration: String,
    /// The seed of its repeat.
    pub seed: u64,
    /// Name of the disk under test.
    pub disk: String,
    /// Its size.
    pub disk_size: Bytes,
    /// When it began, by this machine's clock and not the lab's.
    pub started: Timestamp,
    /// When it ended, by this machine's clock and not the lab's.
    pub ended: Timestamp,
    /// How the cell as a whole ended; tasks have their own outcomes.
    pub outcome: Outcome,
    /// Where and with what it was measured.
    pub environment: Environment,
    /// What the corpus turned out to be, where the suite has one.
    pub corpus: Option<RealisedCorpus>,
    /// How its tasks and protocol steps ended, in the order they did.
    pub outcomes: Vec<TaskOutcome>,
    /// Its figures, in the order they were taken.
    pub samples: Vec<Sample>,
    /// Remarks.
    pub notes: Vec<String>,
    /// The last of what the lab's console said.
    pub log: String,
}

impl CellRecord {
    /// A record of `cell` with nothing measured yet, begun and ended now.
    pub fn new(cell: &Cell, environment: &Environment) -> CellRecord {
        let now = Timestamp::now();
        CellRecord {
            index: cell.index,
            repeat: cell.repeat,
            configuration: cell.configuration.name.clone(),
            seed: cell.seed,
            disk: cell.disk.name.clone(),
            disk_size: cell.disk_size,
            started: now,
            ended: now,
            outcome: Outcome::Ok,
            environment: environment.clone(),
            corpus: cell.second_disk.as_ref().map(|medium| medium.corpus.clone()),
            outcomes: Vec::new(),
            samples: Vec::new(),
            notes: Vec::new(),
            log: String::new(),
        }
    }

    /// Whether the cell or any of its tasks was tried and did not succeed.
    pub fn has_failure(&self) -> bool {
        self.outcome.is_failed() || self.outcomes.iter().any(|ended| ended.outcome.is_failed())
    }
}

/// Which of a run's [`DeviceUse`](crate::DeviceUse)s are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceUses {
    /// Those of one task or step; of all without.
    pub task: Option<String>,
    /// Those of one repeat, from 0; of all without.
    pub repeat: Option<u32>,
}
