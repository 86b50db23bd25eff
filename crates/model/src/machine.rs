//! Machines: how fast a lab's computer is, and how much memory it has.

use serde::{Deserialize, Serialize};

use crate::{Bytes, Disk, Processor};

/// One file of `catalog/machines/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The name in `--machine`, the file's own name without `.toml`.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// log2 of the nanoseconds that one instruction takes: 0 is 1000 million a second, 1 is 500 million.
    pub shift: u8,
    /// What the guest's processor can do; all that one can be given where a file does not say. In a plan it is absent
    /// where the processor was the host's own, or where a program measured that did not write it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<Processor>,
    /// Main memory of the guest, exactly; the disks' media and the guest's own files are not part of it.
    pub ram: Bytes,
    /// The disk under test unless `--disk` names another.
    pub disk: String,
    /// The second disk, which holds the source of copies.
    pub second_disk: String,
    /// Where the figures come from.
    pub sources: Vec<String>,
}

/// A computer that is there, where no profile chooses one.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnComputer {
    /// The computer itself.
    pub machine: Machine,
    /// What its cells get for a disk.
    pub disk: Disk,
    /// What stands for its kernel in plans.
    pub kernel: String,
}
