//! What an agent says while it works on a cell: one JSON object a line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{DeviceRecord, Outcome};

/// One line from the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The first line: who speaks.
    Hello {
        /// [`crate::PROTOCOL`] of the agent.
        protocol: u32,
        /// `uname -r` and `-v` of the kernel that measures.
        kernel: String,
        /// Main memory in bytes as the kernel counts it.
        memory: u64,
    },
    /// What is being done now: the id of a task, or `prepare`, `settle`.
    Stage {
        /// A protocol step or task id.
        name: String,
    },
    /// A figure.
    Sample {
        /// Task id, or a protocol step such as `mkfs`.
        task: String,
        /// Which time in this cell, from 0.
        iteration: u32,
        /// Values by metric id.
        values: BTreeMap<String, f64>,
    },
    /// What a program printed, or what the engine found, as it is.
    Output {
        /// Task id.
        task: String,
        /// Which time in this cell, from 0.
        iteration: u32,
        /// `stdout`, `stderr`, or `result` for the engine's document ([`crate::WorkloadResult`] as JSON).
        kind: String,
        /// The text; the middle of a very long one is left out.
        text: String,
    },
    /// What a task or a protocol step asked of the device under test.
    Device {
        /// Task id, or a protocol step such as `mkfs`.
        task: String,
        /// Which time in this cell, from 0.
        iteration: u32,
        /// From the beginning of its command until the machine had settled.
        record: Box<DeviceRecord>,
    },
    /// A task, a protocol step, or (`task` empty) the whole cell ended.
    Ended {
        /// Task id, or empty.
        task: String,
        /// How.
        outcome: Outcome,
    },
    /// A remark for the record: a limit that passed, a tool's version.
    Note {
        /// A sentence.
        text: String,
    },
    /// The last line: everything was said. Without it the cell has failed, whatever else was seen.
    Done,
}
