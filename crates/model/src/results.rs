//! What a cell gives: figures, how tasks ended, what programs printed, what the disk was asked.

use crate::{DeviceRecord, Outcome};

/// How a task or a protocol step of a cell ended.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskOutcome {
    /// Task id, or a protocol step such as `mkfs`.
    pub task: String,
    /// How.
    pub outcome: Outcome,
}

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Task id, or a protocol step such as `mkfs`.
    pub task: String,
    /// Which time in its cell, from 0.
    pub iteration: u32,
    /// Metric id.
    pub metric: String,
    /// Its value in the metric's unit; always finite.
    pub value: f64,
}

/// What a program printed in a cell, or what the engine found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Position of the cell in the plan.
    pub cell: u32,
    /// Task id.
    pub task: String,
    /// Which time in its cell, from 0.
    pub iteration: u32,
    /// `stdout`, `stderr`, or `result` for the engine's document, JSON.
    pub kind: String,
    /// As it is; the middle of a very long one is left out.
    pub text: String,
}

/// What a task or a protocol step asked of the device under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceUse {
    /// Position of the cell in the plan.
    pub cell: u32,
    /// Task id, or a protocol step such as `mkfs`.
    pub task: String,
    /// Which time in its cell, from 0.
    pub iteration: u32,
    /// Over time, by size and by address.
    pub record: DeviceRecord,
}
