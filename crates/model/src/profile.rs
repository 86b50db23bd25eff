//! Where the time of a measured interval went, by the path of calls.

use std::collections::BTreeMap;

use crate::device::DeviceOperation;

/// A part of a task's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interval {
    /// From before the command was started until it had ended.
    Returned,
    /// Until its data were durable, after that.
    Sync,
}

impl Interval {
    pub const ALL: [Interval; 2] = [Interval::Returned, Interval::Sync];

    /// Its number in a mark of the guest.
    pub const fn number(self) -> u64 {
        match self {
            Interval::Returned => 1,
            Interval::Sync => 2,
        }
    }
}

/// What a path of calls ran and waited for. Times are nanoseconds of the guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathTime {
    /// While its instructions were executed.
    pub running: u64,
    /// While the processor was idle and this path was the last to sleep, by what the disk did: `None` if it had nothing
    /// to do.
    pub waiting: BTreeMap<Option<DeviceOperation>, u64>,
}

/// An interval of one task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// By path: the program, then the kernel's functions from the outermost on (`module:function` for those of modules).
    pub paths: BTreeMap<Vec<String>, PathTime>,
}

/// Where the time of one task went, the time `iteration` that it ran (from 0).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskProfile {
    pub task: String,
    pub iteration: u32,
    pub returned: Profile,
    /// After that.
    pub sync: Profile,
}

/// Programs that are none of the task's, as the first element of paths.
pub mod program {
    /// The processes that stand for the disks.
    pub const DISK_SERVER: &str = "disk server";
    /// What interrupts do, whoever they interrupt.
    pub const INTERRUPTS: &str = "interrupts";
}
