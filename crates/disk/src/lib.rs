//! Models of disks: from a request and its time they compute its completion time.
//!
//! All quantities are integer nanoseconds and bytes, and depend only on the requests seen so far: the same requests at
//! the same times complete at the same times, on any machine. This crate does not know who sends requests, where the
//! bytes are stored, how callers wait, or what a file system is; it does no I/O, keeps no clock and draws no random
//! numbers.
//!
//! One folder per model ([`hdd`], [`flash`]), the same file names in each: `mod.rs` has the [`Parameters`] as written
//! in `catalog/disks/`, `drive.rs` the disk in use. A new model is a folder and a line in the list of `models.rs`;
//! other code asks a [`DiskModel`] for its properties (has a drive, is rotational, supports trim).
//!
//! The drives run in a guest whose clock counts instructions, so a request costs work in proportion to the extents it
//! touches, never to its sectors, and the common path does not allocate.

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
    /// The name in `--disk`: the file's name without `.toml`.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// Sources of the figures.
    pub sources: Vec<String>,
    pub model: DiskModel,
    /// Models of the second disk of a guest and those behind it, where they are not all of one. Files of the catalogue have none.
    pub others: Vec<DiskModel>,
}

impl Disk {
    /// The model of the guest's disk under test with this number, from 0.
    pub fn model_of(&self, at: usize) -> &DiskModel {
        at.checked_sub(1).and_then(|at| self.others.get(at)).unwrap_or(&self.model)
    }

    /// All models, each as often as it is there.
    pub fn models(&self) -> impl Iterator<Item = &DiskModel> {
        std::iter::once(&self.model).chain(&self.others)
    }

    /// Bytes of the smallest modelled drive; `None` if no model has a size.
    pub fn capacity(&self) -> Option<u64> {
        self.models().filter_map(DiskModel::capacity).min()
    }
}

/// Parameters of a model, as written in a disk's file.
pub trait Parameters {
    /// The parameters of a model that has none, so that its file needs no table.
    fn without_table() -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// An error if no drive can be built from them.
    fn check(&self) -> Result<(), BadParameter>;

    /// A drive in its state after power-on; `None` if requests take no time of the disk's own. May panic if
    /// [`check`](Self::check) refuses the parameters.
    fn start(&self) -> Option<Box<dyn Model>>;

    /// Bytes of the drive; `None` if there is no drive.
    fn capacity(&self) -> Option<u64>;

    /// Whether an arm moves.
    fn rotational(&self) -> bool {
        false
    }

    /// Whether the drive announces trim support.
    fn trims(&self) -> bool {
        false
    }

    /// Whether writes that it has replied to are lost with the power until they are flushed.
    fn has_volatile_cache(&self) -> bool {
        false
    }
}

/// Why no drive can have these parameters, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadParameter(pub(crate) String);

impl std::fmt::Display for BadParameter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadParameter {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Read,
    /// `fua`: complete only when the bytes are on the medium.
    Write {
        /// Force unit access.
        fua: bool,
    },
    /// Complete when all writes completed before are on the medium.
    Flush,
    /// Discard bytes.
    Trim,
}

/// One request. Parts beyond the drive's capacity cost nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub operation: Operation,
    pub offset: u64,
    /// Bytes; 0 for a flush.
    pub length: u64,
}

/// The state of a disk in use: its arm, its caches, its queue.
pub trait Model: Send {
    /// Takes `request` at time `now` and returns its completion time, both in nanoseconds since the disk was started.
    /// `now` never falls from call to call; completion times may be in any order.
    fn submit(&mut self, now: u64, request: Request) -> u64;

    /// When the drive will have destaged all acknowledged writes if no further request comes; a time in the past if all
    /// are on the medium. May cost as much work as a flush.
    fn idle_at(&self) -> u64;
}
