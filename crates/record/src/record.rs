//! Stored data: runs, cells, samples.

use std::collections::HashSet;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use mountmark_cells::{Plan, PlannedCell};
use mountmark_model::{Bytes, Environment, Metric, Outcome, RealisedCorpus, TaskOutcome, Vary};
use serde::Serialize;

use crate::{CellEnvironment, SampleRef, Samples, Timestamp};

/// The name of a run, such as `20261121-0345-a1b2`: start time in UTC, and four random digits. Sorts by the minute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct RunId(pub(crate) String);

impl RunId {
    /// A run id from text, which need not exist in a store.
    pub fn new(text: impl Into<String>) -> RunId {
        RunId(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// A process works on it.
    Running,
    /// Every planned cell was tried.
    Done,
    /// It was stopped, or its process is gone.
    Interrupted,
    /// It could not continue.
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

/// A run in lists.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    #[serde(rename = "run")]
    pub id: RunId,
    pub started: Timestamp,
    /// `None` if it has not ended.
    pub ended: Option<Timestamp>,
    pub status: RunStatus,
    /// Version of the program that ran it.
    #[serde(rename = "mountmark")]
    pub program: String,
    /// As typed.
    pub command_line: String,
    pub suite: String,
    /// The factor on the suite's counts and sizes.
    pub scale: f64,
    /// The parameter that differs between cells.
    pub vary: Option<Vary>,
    pub lab: String,
    pub machine: String,
    /// Kernel as the user requested it.
    pub kernel: String,
    /// Seed of everything random.
    pub seed: u64,
    /// Number of cells of each configuration.
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

/// A run with all its measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    pub id: RunId,
    pub started: Timestamp,
    /// `None` if it has not ended.
    pub ended: Option<Timestamp>,
    pub status: RunStatus,
    /// Version of the program that ran it.
    pub program: String,
    /// As typed.
    pub command_line: String,
    pub plan: Plan,
    /// As known at the start.
    pub environment: Environment,
    /// The cells that ended, in the plan's order.
    pub cells: Vec<CellRecord>,
    /// The side of [`Plan::sides`] that this is of a run.
    pub side: Option<String>,
}

impl RunRecord {
    /// The run with these configurations alone.
    pub fn of_configurations(mut self, is_one: impl Fn(&str) -> bool) -> RunRecord {
        self.plan.configurations.retain(|name| is_one(name));
        self.plan.cells.retain(|cell| is_one(&cell.configuration.name));
        self.cells.retain(|cell| is_one(&cell.configuration));
        self
    }

    /// One side of a run that compares: its configurations have their names without the label. `None`: it has no such side.
    pub fn of_side(mut self, side: &str) -> Option<RunRecord> {
        let at = self.plan.sides.iter().position(|known| known == side)?;
        let whole = self.plan.clone();
        let renamed = |name: &mut String| match whole.side(name) {
            Some((found, bare)) if found == at => {
                *name = bare.to_owned();
                true
            }
            _ => false,
        };
        let plan = &mut self.plan;
        let (kernel, machine) = whole.computer(at);
        (plan.kernel, plan.machine) = (kernel.to_owned(), machine.clone());
        plan.configurations.retain_mut(renamed);
        plan.cells.retain(|cell| renamed(&mut cell.configuration.name.clone()));
        plan.change_alike(|alike| {
            renamed(&mut alike.configuration.name);
            Ok::<(), Infallible>(())
        })
        .unwrap_or_else(|never| match never {});
        plan.sides.clear();
        plan.factors.clear();
        plan.computers.clear();
        self.cells.retain_mut(|cell| renamed(&mut cell.configuration));
        // The run's own is that of its first cell, which may be on another side.
        if let Some(cell) = self.cells.first() {
            self.environment = cell.environment.whole();
        }
        Some(RunRecord { side: Some(side.to_owned()), ..self })
    }

    /// The environments of its cells without what is each cell's own, those that are alike once, and its own at the end.
    pub fn environments(&self) -> Vec<&Environment> {
        let mut seen = HashSet::new();
        let cells = self.cells.iter().map(|cell| &cell.environment.alike);
        let each = cells.filter(|alike| seen.insert(Arc::as_ptr(alike))).map(|alike| &**alike);
        each.chain([&self.environment]).collect()
    }

    /// What commands call it: its id, and its side.
    pub fn name(&self) -> String {
        self.side.as_ref().map_or_else(|| self.id.to_string(), |side| format!("{}#{side}", self.id))
    }
}

/// A cell that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct CellRecord {
    /// Index in the plan, from 0.
    pub index: u32,
    /// Block number.
    pub repeat: u32,
    pub configuration: String,
    pub seed: u64,
    /// Name of the disk under test.
    pub disk: String,
    pub disk_size: Bytes,
    /// By this machine's clock, not the lab's.
    pub started: Timestamp,
    /// By this machine's clock, not the lab's.
    pub ended: Timestamp,
    /// Outcome of the cell as a whole; tasks have their own outcomes.
    pub outcome: Outcome,
    pub environment: CellEnvironment,
    /// The corpus, if the suite has one.
    pub corpus: Option<Arc<RealisedCorpus>>,
    /// Outcomes of its tasks and protocol steps, in the order in which they ended.
    pub outcomes: Vec<TaskOutcome>,
    /// Its figures, in the order in which they were measured.
    pub samples: Samples,
    pub notes: Vec<String>,
    /// The end of the lab's console output.
    pub log: String,
}

impl CellRecord {
    /// A record of `cell` without measurements, started and ended now.
    pub fn new(cell: &PlannedCell, environment: &Environment) -> CellRecord {
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
            environment: environment.clone().into(),
            corpus: cell.second_disk.as_ref().map(|medium| Arc::new(medium.corpus.clone())),
            outcomes: Vec::new(),
            samples: Samples::default(),
            notes: Vec::new(),
            log: String::new(),
        }
    }

    /// A figure of the first time that a task ran, measured or the sum of two that were.
    pub fn figure(&self, task: &str, metric: &Metric) -> Option<f64> {
        let measured = |metric: &Metric| {
            let is_it = |sample: &SampleRef| sample.task == task && sample.iteration == 0 && sample.metric == metric.id;
            self.samples.iter().find(is_it).map(|sample| sample.value)
        };
        measured(metric).or_else(|| metric.sum_of()?.iter().map(measured).sum())
    }

    /// Whether the cell or any of its tasks failed.
    pub fn has_failure(&self) -> bool {
        self.outcome.is_failed() || self.outcomes.iter().any(|ended| ended.outcome.is_failed())
    }
}

/// Selects [`DeviceUse`](crate::DeviceUse)s of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceUses {
    /// A task or step; all if `None`.
    pub task: Option<String>,
    /// A repeat, from 0; all if `None`.
    pub repeat: Option<u32>,
}
