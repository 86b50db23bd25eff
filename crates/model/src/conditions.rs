//! Conditions of a repeat that belong to no question, and yet move figures.

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// Whether repeats share the conditions that belong to no question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// Each repeat draws its own from its seed, so that intervals cover them.
    #[default]
    Varied,
    /// All repeats have the same: two runs of one seed differ by what was changed, and by chance effects of it.
    Fixed,
}

impl Way {
    pub const ALL: [Way; 2] = [Way::Varied, Way::Fixed];

    /// The name in `--conditions`.
    pub fn name(self) -> &'static str {
        match self {
            Way::Varied => "varied",
            Way::Fixed => "fixed",
        }
    }

    /// One line for lists.
    pub fn about(self) -> &'static str {
        match self {
            Way::Varied => "Each repeat draws its own, so that verdicts and intervals cover them",
            Way::Fixed => "All repeats have the same, for an exact comparison of two kernels or builds",
        }
    }

    pub fn find(name: &str) -> Option<Way> {
        Way::ALL.into_iter().find(|way| way.name() == name)
    }
}

/// The conditions of one repeat, equal for every configuration of its block. What is drawn in detail, such as each
/// task's idle time, comes from the cell's seed. `docs/explanation/conditions.md` gives the reasons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Before each measured step and task the machine idles for a uniform time below this, in seconds of the lab's
    /// clock: timers of the kernel and the platter are in any phase.
    pub idle_seconds: f64,
    /// Memory of the machine that is taken before mkfs and kept, in scattered pages.
    pub memory: Bytes,
    /// Pieces that are read from the disk under test before mkfs: they place the arm and fill the drive's cache.
    pub reads: u32,
    /// Folders that are made and removed after mount: they turn the file system's choice of a group for new folders.
    pub folders: u32,
    /// The wall clock at the start, in seconds since 1970; `None` leaves it as it is.
    pub date: Option<i64>,
}

impl Conditions {
    /// Maximum of `idle_seconds`: above the longest period of write-back and commits, which is 30 s (dirty pages'
    /// expiry, btrfs' commit, xfs' log worker).
    pub const IDLE_SECONDS: f64 = 35.0;
    /// Maximum part of the machine's memory that is taken.
    pub const MEMORY_PART: u64 = 100;
    pub const MOST_READS: u32 = 16;
    pub const MOST_FOLDERS: u32 = 16;
    /// From the start of 2030, after the dates of most files in corpora, since tar complains about files from the
    /// future, to the end of November 2037, before 32-bit times end, which some of the file systems have.
    pub const DATES: std::ops::Range<i64> = 1_893_456_000..2_143_238_400;
}
