//! Models of disks: a request and a time in, its completion time out.
//!
//! Everything is integer nanoseconds and bytes, and depends on nothing but the requests seen so far: the same
//! requests at the same times complete at the same times, on any machine. This crate does not know who sends
//! requests, where the bytes lie, or how anybody waits.

use serde::{Deserialize, Serialize};

/// One file of `catalog/disks/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disk {
    /// The name in `--disk`, the file's own name without `.toml`.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// Where the figures come from.
    pub sources: Vec<String>,
    /// The model and its parameters.
    #[serde(flatten)]
    pub model: DiskModel,
}

/// The models there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "lowercase")]
pub enum DiskModel {
    /// Memory: as fast as the machine copies.
    Ram,
}

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

/// One request.
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

    /// The time until which writes that were acknowledged are still being destaged, if any.
    fn idle_at(&self) -> u64;
}
