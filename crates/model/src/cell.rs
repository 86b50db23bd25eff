//! Plans and cells.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Age, Bytes, Conditions, Configuration, Disk, Factor, Fill, KnownFault, Lab, Machine, Precondition, RealisedCorpus,
    Sampling, Scale, SideComputer, Source, Target, Task, TaskRoot, Vary,
};

/// Names of the steps that are measured like tasks but are not part of a suite.
pub mod protocol_task {
    pub const MKFS: &str = "mkfs";
    pub const MOUNT: &str = "mount";
    pub const UMOUNT: &str = "umount";
    /// The read-only check at the end; part of no score.
    pub const FSCK: &str = "fsck";
    /// Usable space, after mkfs and after all files were removed.
    pub const CAPACITY: &str = "capacity";
    /// All of them.
    pub const ALL: [&str; 5] = [MKFS, MOUNT, UMOUNT, FSCK, CAPACITY];

    /// Whether a step of the protocol has this name, and no task.
    pub fn is_step(name: &str) -> bool {
        ALL.contains(&name)
    }
}

/// The beginning of a cell's note if the machine disturbed it past a limit: it is measured again.
pub const DISTURBED: &str = "disturbed: ";

/// All cells of a run, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub suite: String,
    /// The suite file's `about`.
    pub suite_about: String,
    pub lab: Lab,
    pub machine: Machine,
    /// The factor on the suite's counts and sizes.
    pub scale: Scale,
    /// Number of cells of each configuration, or most of one.
    pub repeats: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// Configuration names in the user's order.
    pub configurations: Vec<String>,
    /// Kernel as the user requested it.
    pub kernel: String,
    /// Names in records and titles of tasks in order, for tables; titles state the counts and sizes of the plan's scale.
    pub tasks: Vec<(String, String)>,
    pub decisions: Vec<String>,
    /// Most bytes that a cell writes to its disk under test, if the disk is known to be larger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_written: Option<Bytes>,
    /// In starting order: blocks of all configurations, shuffled within each.
    pub cells: Vec<Cell>,
    /// Configurations that are not tried, each with the reason.
    #[serde(default)]
    pub skipped: Vec<(String, String)>,
    /// What was known of the file systems when the plan was made; none if an older version made it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_faults: Vec<KnownFault>,
    /// The parameter that differs between cells, with [`Cell::point`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vary: Option<Vary>,
    /// Labels behind the `#` of configurations that are measured beside each other (`run --compare`, `--kernel 6.1,6.12`), the
    /// first as the one before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sides: Vec<String>,
    /// What differs between sides: their combinations of levels, the last factor's changing first. Empty if an older version
    /// made the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<Factor>,
    /// The computer of each of [`Plan::sides`]; empty if all have the plan's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub computers: Vec<SideComputer>,
    /// What cells of the host lab work on, with [`Cell::target`]; empty in guests, and if an older version measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    /// How the number of repeats is found; `None` if it is what the user said. Then configurations may have unequal ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// The most memory that a cell's programs and the pages they cache may take on this machine; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<Bytes>,
    /// How real disks are brought into steady state before the first cell; `None`: they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precondition: Option<Precondition>,
}

impl Plan {
    /// Maximum number of configurations: each is compared with each.
    pub const MOST_CONFIGURATIONS: usize = 1000;

    /// Returns the reason why tables and verdicts would fill memory: they have a place for each task on each
    /// configuration, measured or not.
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

    /// Whether the run may get further repeats.
    pub fn is_open(&self) -> bool {
        self.sampling.as_ref().is_some_and(|sampling| sampling.ended.is_none())
    }

    /// Most repeats that the run may have: on several targets each is one of a target.
    pub fn most_repeats(&self) -> u32 {
        let Some(sampling) = &self.sampling else { return self.repeats };
        let most = if sampling.budget.is_some() { Sampling::MOST_IN_BUDGET } else { Sampling::MOST };
        most.saturating_mul(self.targets.len().max(1) as u32).max(sampling.least)
    }
}

/// One configuration x one suite x one repeat: everything that an agent needs, so that it looks nothing up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Index in the plan, from 0.
    pub index: u32,
    /// Block number: cells of one repeat are compared with each other.
    pub repeat: u32,
    /// Which of the points of [`Plan::vary`] it is at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<u32>,
    /// Which of [`Plan::targets`] it works on; `None` in guests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<u32>,
    /// Whether its file system is somebody else's, and is neither made, mounted nor checked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_mounted: bool,
    pub configuration: Configuration,
    /// The seed of this repeat; equal for every configuration of a block.
    pub seed: u64,
    pub disk: Disk,
    /// Disk size in bytes, as the file system sees it.
    pub disk_size: Bytes,
    /// Whether the file system under test lies in a file on the disk, over a loop device. In a lab whose disks are such
    /// files anyway it changes nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_loop: bool,
    /// The second disk, if the suite has a source.
    pub second_disk: Option<SourceMedium>,
    /// Command to run in the second disk's folder after the corpus is in place, untimed, before any measurement.
    #[serde(default)]
    pub source_prepare: Option<String>,
    /// Memory of the machine, in bytes.
    pub ram: Bytes,
    /// Parameters at this scale, by environment variable name.
    pub parameters: BTreeMap<String, u64>,
    /// Pause before each task, in seconds of the lab's clock.
    pub pause_seconds: f64,
    /// What this repeat draws anew; `None` if conditions are fixed, as they were before they could vary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
    /// What takes a share of the file system before the tasks; `None`: it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<Fill>,
    /// The history that is played on the file system before the tasks; `None`: it is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<Age>,
    pub tasks: Vec<Task>,
    /// Further programs that the lab needs.
    pub tools: Vec<String>,
    /// Further packages with those programs.
    pub packages: Vec<String>,
    /// Further packages, of which all is there with what they depend on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub whole_packages: Vec<String>,
    /// In which tree tasks find programs; `None`: the machine's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<TaskRoot>,
    /// Further kernel modules, for tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<String>,
}

/// The second disk and its contents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceMedium {
    pub disk: Disk,
    /// Size in bytes.
    pub size: Bytes,
    /// How the corpus is stored on it.
    pub layout: Source,
    pub corpus: RealisedCorpus,
    /// Path of the plain tar file on the machine that runs the lab.
    pub tar: String,
}
