//! Models of disks: a request and a time in, its completion time out.
//!
//! Everything is integer nanoseconds and bytes, and depends on nothing but the requests seen so far: the same
//! requests at the same times complete at the same times, on any machine. This crate does not know who sends
//! requests, where the bytes lie, how anybody waits, or what a file system is; it does no I/O, keeps no clock and
//! draws no random numbers.
//!
//! One folder per model ([`hdd`], [`flash`]), the same file names in each: `mod.rs` has the [`Parameters`] as they
//! stand in `catalog/disks/`, `drive.rs` the disk in use. A further model is a folder and a line in the list of
//! `models.rs`; everything else asks a [`DiskModel`] what it is (has it a drive, does it turn, does it take trims).
//!
//! The drives are called from a guest whose clock counts instructions, so a request costs work in proportion to the
//! extents it touches, never to its sectors, and the common path allocates nothing.

pub mod flash;
pub mod hdd;
mod models;
mod ram;
mod units;

pub use models::*;

use serde::{Deserialize, Serialize};

/// One file of `catalog/disks/`.
///
/// In the file `model` is a name, and the parameters are a table of that name; see `models.rs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "models::DiskFile", into = "models::DiskFile")]
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

/// What a model is made from, as it stands in a disk's file.
pub trait Parameters {
    /// These parameters where the model has none, so that a file has no table for it.
    fn without_table() -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Whether a drive can be built from them, and what is wrong if not.
    fn check(&self) -> Result<(), BadParameter>;

    /// A drive as it is after power-on; none where a request takes no time of the disk's own. It may panic where
    /// [`check`](Self::check) refuses the parameters.
    fn start(&self) -> Option<Box<dyn Model>>;

    /// Bytes on the drive; none where there is no drive.
    fn capacity(&self) -> Option<u64>;

    /// Whether an arm moves.
    fn rotational(&self) -> bool {
        false
    }

    /// Whether the drive announces that it takes trims.
    fn trims(&self) -> bool {
        false
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
