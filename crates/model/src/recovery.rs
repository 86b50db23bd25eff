//! How a machine comes up again: what a suite asks for, and what a file system needs.

use serde::{Deserialize, Serialize};

/// A task's machine goes down when its work has returned and comes up again, which is what is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restart {
    /// How the machine goes down.
    pub after: Down,
    /// What is timed when it comes up.
    pub then: Up,
}

/// How a machine goes down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Down {
    /// The file system is unmounted.
    Unmount,
    /// The power fails, and everything that the disk had replied to is on the medium.
    PowerCut,
    /// The power fails, and of what the disk was sent since the work began, only what a flush or FUA made durable is on
    /// the medium.
    PowerCutCacheLost,
}

impl Down {
    /// Whether the power fails.
    pub fn is_cut(self) -> bool {
        self != Down::Unmount
    }

    /// Whether the disk's cache is lost with the power.
    pub fn loses_cache(self) -> bool {
        self == Down::PowerCutCacheLost
    }
}

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Up {
    /// Until the file system can be used: what it needs first after a power cut, and the mount.
    Mount,
    /// Its full check, with repairs.
    Repair,
}

/// The table `[recovery]` of a file system. Commands are argument lists in which `{device}` stands for the block device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recovery {
    /// What must run after a power cut before it is mounted; empty if mounting recovers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before_mount: Vec<String>,
    /// The full check with repairs; empty if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repair: Vec<String>,
    /// Why `repair` is empty, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_repair: Option<String>,
    /// Whether it must be mounted and unmounted before `repair`, which cannot replay its log.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mount_first: bool,
    /// Exit codes of both commands after which it can be mounted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<i32>,
    /// Where the manual says so, for `mountmark list` and readers.
    pub source: String,
}

impl Recovery {
    /// Why this cannot be timed, as a sentence.
    pub fn lacks(&self, up: Up) -> Option<String> {
        let none = || "The catalogue names no check with repairs.".to_owned();
        (up == Up::Repair && self.repair.is_empty()).then(|| self.no_repair.clone().unwrap_or_else(none))
    }
}
