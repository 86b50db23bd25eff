//! Plans and cells.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Configuration, Disk, Lab, Machine, RealisedCorpus, Scale, Source, Task};

/// Names of the steps that are measured like tasks but are no part of a suite.
pub mod protocol_task {
    /// Making the file system.
    pub const MKFS: &str = "mkfs";
    /// Mounting it.
    pub const MOUNT: &str = "mount";
    /// Unmounting it.
    pub const UMOUNT: &str = "umount";
    /// The read-only check at the end; no part of any score.
    pub const FSCK: &str = "fsck";
    /// Usable space, after mkfs and after everything was removed.
    pub const CAPACITY: &str = "capacity";
}

/// Everything that is going to be done, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Suite name.
    pub suite: String,
    /// What the suite's file says about it.
    pub suite_about: String,
    /// Where.
    pub lab: Lab,
    /// The lab's computer.
    pub machine: Machine,
    /// How much the suite is shrunk.
    pub scale: Scale,
    /// Cells of each configuration.
    pub repeats: u32,
    /// What everything random comes from.
    pub seed: u64,
    /// Configuration names in the order the user gave.
    pub configurations: Vec<String>,
    /// Kernel as the user asked for it.
    pub kernel: String,
    /// Tasks in order (id, title), for tables; titles state the counts and sizes of the plan's scale.
    pub tasks: Vec<(String, String)>,
    /// Decisions of the suite, for reports.
    pub decisions: Vec<String>,
    /// In the order they are started: blocks of all configurations, shuffled within each.
    pub cells: Vec<Cell>,
    /// Configurations that are not tried, each with a sentence why.
    #[serde(default)]
    pub skipped: Vec<(String, String)>,
}

impl Plan {
    /// The most configurations: each is compared with each.
    pub const MOST_CONFIGURATIONS: usize = 1000;

    /// Why tables and verdicts would fill memory, in a sentence: they have a place for each task on each configuration,
    /// whatever was measured.
    pub fn too_large(tasks: usize, configurations: usize) -> Option<String> {
        const MOST_TASKS: usize = 10_000;
        const MOST_PAIRS: usize = 100_000;
        let most = Plan::MOST_CONFIGURATIONS;
        (tasks > MOST_TASKS || configurations > most || tasks * configurations > MOST_PAIRS).then(|| {
            format!(
                "{tasks} tasks on {configurations} configurations are too many: a plan has at most {MOST_TASKS} tasks, \
                 {most} configurations, and {MOST_PAIRS} of the one times the other"
            )
        })
    }

    /// Whether titles state what is done at this scale; those of other plans state the suite's own counts and sizes.
    pub fn titles_are_scaled(&self) -> bool {
        let written = self.cells.first().map_or(&[][..], |cell| &cell.tasks);
        written.iter().zip(&self.tasks).any(|(task, (_, title))| task.title != *title)
    }
}

/// One configuration x one suite x one repeat: everything that an agent must know, and nothing that it must look up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Position in the plan, from 0.
    pub index: u32,
    /// Block: cells of one repeat are compared with each other.
    pub repeat: u32,
    /// What is compared.
    pub configuration: Configuration,
    /// The seed of this repeat; equal for every configuration of a block.
    pub seed: u64,
    /// The disk under test.
    pub disk: Disk,
    /// Its size in bytes, as the file system sees it.
    pub disk_size: Bytes,
    /// The second disk, where the suite has a source.
    pub second_disk: Option<SourceMedium>,
    /// Run in the second disk's folder after the corpus was laid out there, untimed, before anything is measured.
    #[serde(default)]
    pub source_prepare: Option<String>,
    /// Memory of the machine, in bytes.
    pub ram: Bytes,
    /// Parameters at this scale, by environment variable name.
    pub parameters: BTreeMap<String, u64>,
    /// Rest before each task, in seconds of the lab's clock.
    pub pause_seconds: f64,
    /// The tasks in their order.
    pub tasks: Vec<Task>,
    /// Further programs that must be in the lab.
    pub tools: Vec<String>,
    /// Further packages that hold them.
    pub packages: Vec<String>,
}

/// The second disk and what lies on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceMedium {
    /// Its model.
    pub disk: Disk,
    /// Its size in bytes.
    pub size: Bytes,
    /// How the corpus lies on it.
    pub layout: Source,
    /// What the corpus is.
    pub corpus: RealisedCorpus,
    /// The plain tar file on the machine that runs the lab.
    pub tar: String,
}
