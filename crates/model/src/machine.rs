//! Machines: speed and memory of a lab's computer.

use serde::{Deserialize, Serialize};

use crate::{Bytes, Disk, Processor, Target};

/// One file of `catalog/machines/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The name in `--machine`: the file's name without `.toml`.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// log2 of the nanoseconds per instruction: 0 is 1000 million a second, 1 is 500 million.
    pub shift: u8,
    /// Features of the guest's processor; if a file omits them, all that a guest can have. Absent from a plan if the
    /// processor was the host's own, or if the program that measured did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<Processor>,
    /// Main memory of the guest, exactly; the disks' media and the guest's own files are not part of it.
    pub ram: Bytes,
    /// The disk under test unless `--disk` names another.
    pub disk: String,
    /// The second disk, which holds the source of copies.
    pub second_disk: String,
    /// Sources of the numbers.
    pub sources: Vec<String>,
}

/// This computer, for labs without a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnComputer {
    pub machine: Machine,
    /// The disk of its cells.
    pub disk: Disk,
    /// The name of its kernel in plans.
    pub kernel: String,
    /// What its cells work on; blocks take turns.
    pub targets: Vec<OwnTarget>,
}

/// One of the targets of this computer.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnTarget {
    pub target: Target,
    /// Its size, if it has one of its own.
    pub size: Option<Bytes>,
    /// What is free of it, if it is a file system that somebody else has made.
    pub free: Option<Bytes>,
}
