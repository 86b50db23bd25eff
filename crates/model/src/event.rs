//! The agent's messages while it works on a cell: one JSON object per line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{DeviceRecord, Outcome, OutputKind};

/// One line from the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The first line: version and kernel of the agent.
    Hello {
        /// [`crate::PROTOCOL`] of the agent.
        protocol: u32,
        /// `uname -r` and `-v` of the kernel that measures.
        kernel: String,
        /// Main memory in bytes as the kernel counts it.
        memory: u64,
    },
    Stage {
        name: Stage,
    },
    Sample {
        /// Task id, or a protocol step such as `mkfs`.
        task: String,
        /// Iteration in this cell, from 0.
        iteration: u32,
        /// Values by metric id.
        values: BTreeMap<String, f64>,
    },
    /// Output of a program, or the engine's result, unchanged.
    Output {
        task: String,
        /// Iteration in this cell, from 0.
        iteration: u32,
        kind: OutputKind,
        /// The middle of a very long text is omitted.
        text: String,
    },
    /// I/O of a task or a protocol step at the device under test.
    Device {
        /// Task id, or a protocol step such as `mkfs`.
        task: String,
        /// Iteration in this cell, from 0.
        iteration: u32,
        /// From the start of its command until the machine had settled.
        record: Box<DeviceRecord>,
    },
    Ended {
        task: Subject,
        outcome: Outcome,
    },
    /// A note for the record: a limit that passed, a tool's version.
    Note {
        /// As a sentence.
        text: String,
    },
    /// The last line. Without it the cell has failed, whatever else was received.
    Done,
}

/// An agent's current work: measuring, or a step between two measurements. Serialised as its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Stage {
    /// Prepares the second disk.
    Source,
    /// Makes what the file system holds before the tasks.
    Fill,
    /// Runs the command that a task needs before it.
    Prepare,
    /// Mounts again, so that the task starts with nothing cached.
    Remount,
    /// Waits until nothing is dirty.
    Settle,
    /// Runs the command that undoes a task.
    Cleanup,
    /// Removes all files, to measure the space that is freed.
    Capacity,
    /// Measures a task or a protocol step, by its id.
    Measured(String),
}

impl Stage {
    const BETWEEN: [Stage; 7] =
        [Stage::Source, Stage::Fill, Stage::Prepare, Stage::Remount, Stage::Settle, Stage::Cleanup, Stage::Capacity];

    /// Its name in progress lines and agent messages.
    pub fn name(&self) -> &str {
        match self {
            Stage::Source => "source",
            Stage::Fill => "fill",
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

/// What has ended. Serialised as the task's id, which is empty for the cell.
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
            (
                Event::Output { task: "a".into(), iteration: 0, kind: OutputKind::Result, text: "x".into() },
                r#"{"event":"output","task":"a","iteration":0,"kind":"result","text":"x"}"#,
            ),
            (Event::Stage { name: Stage::Settle }, r#"{"event":"stage","name":"settle"}"#),
            (Event::Stage { name: Stage::Measured("001".into()) }, r#"{"event":"stage","name":"001"}"#),
            (Event::Ended { task: Subject::Cell, outcome: Outcome::Ok }, r#"{"event":"ended","task":"","#),
            (Event::Ended { task: Subject::Task("a".into()), outcome: Outcome::Ok }, r#"{"event":"ended","task":"a","#),
        ] {
            let said = serde_json::to_string(&event).unwrap();
            assert!(said.starts_with(line), "{said}");
            assert_eq!(serde_json::from_str::<Event>(&said).unwrap(), event);
        }
        let unknown = r#"{"event":"output","task":"a","iteration":0,"kind":"secret","text":"x"}"#;
        assert!(serde_json::from_str::<Event>(unknown).is_err());
        assert!(Stage::BETWEEN.into_iter().all(|stage| Stage::from(stage.name().to_owned()) == stage));
    }
}
