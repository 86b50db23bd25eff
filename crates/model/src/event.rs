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
    /// What is being done now.
    Stage {
        /// See there.
        name: Stage,
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
    /// Something ended.
    Ended {
        /// What did.
        task: Subject,
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

/// What an agent does: it measures, or does what must be done between two measurements. In a line it is its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Stage {
    /// Lays out the second disk.
    Source,
    /// Runs what a task needs before it.
    Prepare,
    /// Mounts again, so that the task finds nothing cached.
    Remount,
    /// Waits until nothing is dirty.
    Settle,
    /// Runs what undoes a task.
    Cleanup,
    /// Removes all files, to see what room comes back.
    Capacity,
    /// Measures a task or a protocol step, by its id.
    Measured(String),
}

impl Stage {
    const BETWEEN: [Stage; 6] =
        [Stage::Source, Stage::Prepare, Stage::Remount, Stage::Settle, Stage::Cleanup, Stage::Capacity];

    /// Its name in lines of progress, and in the agent's.
    pub fn name(&self) -> &str {
        match self {
            Stage::Source => "source",
            Stage::Prepare => "prepare",
            Stage::Remount => "remount",
            Stage::Settle => "settle",
            Stage::Cleanup => "cleanup",
            Stage::Capacity => "capacity",
            Stage::Measured(id) => id,
        }
    }
}

impl From<String> for Stage {
    fn from(name: String) -> Stage {
        Stage::BETWEEN.into_iter().find(|stage| stage.name() == name).unwrap_or(Stage::Measured(name))
    }
}

impl From<Stage> for String {
    fn from(stage: Stage) -> String {
        stage.name().to_owned()
    }
}

/// What of a cell has ended. In a line it is the task's id, and empty for the cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Subject {
    /// The cell as a whole.
    Cell,
    /// A task or a protocol step, by its id.
    Task(String),
}

impl From<String> for Subject {
    fn from(task: String) -> Subject {
        if task.is_empty() { Subject::Cell } else { Subject::Task(task) }
    }
}

impl From<Subject> for String {
    fn from(subject: Subject) -> String {
        match subject {
            Subject::Cell => String::new(),
            Subject::Task(id) => id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_and_subjects_are_said_by_name() {
        for (event, line) in [
            (Event::Stage { name: Stage::Settle }, r#"{"event":"stage","name":"settle"}"#),
            (Event::Stage { name: Stage::Measured("001".into()) }, r#"{"event":"stage","name":"001"}"#),
            (Event::Ended { task: Subject::Cell, outcome: Outcome::Ok }, r#"{"event":"ended","task":"","#),
            (Event::Ended { task: Subject::Task("a".into()), outcome: Outcome::Ok }, r#"{"event":"ended","task":"a","#),
        ] {
            let said = serde_json::to_string(&event).unwrap();
            assert!(said.starts_with(line), "{said}");
            assert_eq!(serde_json::from_str::<Event>(&said).unwrap(), event);
        }
        assert!(Stage::BETWEEN.into_iter().all(|stage| Stage::from(stage.name().to_owned()) == stage));
    }
}
