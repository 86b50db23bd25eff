//! Results of a cell: figures, outcomes of tasks, output of programs, device records.

use serde::{Deserialize, Serialize};

use crate::{DeviceRecord, Outcome};

#[derive(Clone, Debug, PartialEq)]
pub struct TaskOutcome {
    /// Task id, or a protocol step such as `mkfs`.
    pub task: String,
    pub outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Task id, or a protocol step such as `mkfs`.
    pub task: String,
    /// Iteration in its cell, from 0.
    pub iteration: u32,
    pub metric: String,
    /// In the metric's unit; always finite.
    pub value: f64,
}

/// Output of a program in a cell, or the engine's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Index of the cell in the plan.
    pub cell: u32,
    pub task: String,
    /// Iteration in its cell, from 0.
    pub iteration: u32,
    pub kind: OutputKind,
    /// Unchanged; the middle of a very long text is omitted.
    pub text: String,
}

/// Serialised and stored as its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputKind {
    Stdout,
    Stderr,
    /// The engine's document: [`crate::WorkloadResult`] as JSON.
    Result,
}

impl OutputKind {
    const ALL: [OutputKind; 3] = [OutputKind::Stdout, OutputKind::Stderr, OutputKind::Result];

    pub fn word(self) -> &'static str {
        match self {
            OutputKind::Stdout => "stdout",
            OutputKind::Stderr => "stderr",
            OutputKind::Result => "result",
        }
    }

    pub fn from_word(word: &str) -> Option<OutputKind> {
        OutputKind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// I/O of a task or a protocol step at the device under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceUse {
    /// Index of the cell in the plan.
    pub cell: u32,
    /// Task id, or a protocol step such as `mkfs`.
    pub task: String,
    /// Iteration in its cell, from 0.
    pub iteration: u32,
    pub record: DeviceRecord,
}
