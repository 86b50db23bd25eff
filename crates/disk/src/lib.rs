//! Models of disks: a request and a time in, its completion time out.
//!
//! Everything is integer nanoseconds and bytes, and depends on nothing but the requests seen so far: the same
//! requests at the same times complete at the same times, on any machine. This crate does not know who sends
//! requests, where the bytes lie, how anybody waits, or what a file system is; it does no I/O, keeps no clock and
//! draws no random numbers.
//!
//! One folder per model ([`hdd`], [`flash`]), the same file names in each: `mod.rs` has the parameters as they stand
//! in `catalog/disks/`, `drive.rs` the disk in use. A further model is a folder, a variant of [`DiskModel`] and a
//! table in `file.rs`.
//!
//! The drives are called from a guest whose clock counts instructions, so a request costs work in proportion to the
//! extents it touches, never to its sectors, and the common path allocates nothing.

mod file;
pub mod flash;
pub mod hdd;
mod units;

pub use flash::Flash;
pub use hdd::Hdd;

use serde::{Deserialize, Serialize};

/// One file of `catalog/disks/`.
///
/// In the file `model` is a name, and the parameters are a table of that name; see `file.rs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "file::DiskFile", into = "file::DiskFile")]
pub struct Disk {
    /// The name in `--disk`, the file's own name without `.toml`.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// Where the figures come from.
    pub sources: Vec<String>,
    /// The model and its parameters.
    pub model: DiskModel,
}

/// The models there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "lowercase")]
pub enum DiskModel {
    /// Memory: as fast as the machine copies.
    Ram,
    /// A rotating disk.
    Hdd(Hdd),
    /// A solid-state disk, on SATA or NVMe.
    Flash(Flash),
}

impl DiskModel {
    /// A drive of this model as it is after power-on, or `None` where a request takes no time of the disk's own.
    ///
    /// # Panics
    ///
    /// If [`check`](Self::check) refuses the parameters; those read from a file have passed it.
    pub fn start(&self) -> Option<Box<dyn Model>> {
        match self {
            DiskModel::Ram => None,
            DiskModel::Hdd(hdd) => Some(Box::new(hdd.start())),
            DiskModel::Flash(flash) => Some(Box::new(flash.start())),
        }
    }

    /// Bytes on the modelled drive, or `None` where the model has no size. A disk under test may be smaller: it is
    /// then a partition at the drive's start.
    pub fn capacity(&self) -> Option<u64> {
        match self {
            DiskModel::Ram => None,
            DiskModel::Hdd(hdd) => Some(hdd.capacity),
            DiskModel::Flash(flash) => Some(flash.capacity),
        }
    }

    /// Whether an arm moves: what Linux calls rotational and sets its elevator and read-ahead by.
    pub fn rotational(&self) -> bool {
        matches!(self, DiskModel::Hdd(_))
    }

    /// Whether such a drive announces that it takes trims. Those that do not still answer one.
    pub fn trims(&self) -> bool {
        matches!(self, DiskModel::Flash(_))
    }

    /// Whether a drive can be built from the parameters, and what is wrong if not.
    pub fn check(&self) -> Result<(), BadParameter> {
        match self {
            DiskModel::Ram => Ok(()),
            DiskModel::Hdd(hdd) => hdd.check(),
            DiskModel::Flash(flash) => flash.check(),
        }
    }
}

/// A sentence on why no drive can have these parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadParameter(pub(crate) String);

impl std::fmt::Display for BadParameter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadParameter {}

/// What is asked of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Read bytes.
    Read,
    /// Write bytes; `fua`: complete only once they are on the medium.
    Write {
        /// Force unit access.
        fua: bool,
    },
    /// Complete once every write completed before is on the medium.
    Flush,
    /// The bytes are no longer needed.
    Trim,
}

/// One request. What lies beyond the drive's capacity costs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What is asked.
    pub operation: Operation,
    /// First byte.
    pub offset: u64,
    /// Number of bytes; 0 for a flush.
    pub length: u64,
}

/// A disk in use: its arm, its caches, its queue.
pub trait Model: Send {
    /// Takes `request` at time `now` and says when it completes, both in nanoseconds since the disk was started.
    /// `now` never falls from call to call; completion times may be in any order.
    fn submit(&mut self, now: u64, request: Request) -> u64;

    /// The time until which writes that were acknowledged are still being destaged if no further request comes;
    /// a time already past if all is on the medium. It may cost as much work as a flush.
    fn idle_at(&self) -> u64;
}
