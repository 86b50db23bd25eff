//! Real disks: what is known about one, why it is not touched, and how it is held while it is used.

mod backing;
mod claims;
mod device_lock;
mod drive;
mod erase;
mod facts;
mod gather;
pub(crate) mod health;
mod look;
mod mapping;
mod mounts;
mod precondition;
mod refuse;
mod relatives;
pub(super) mod upper;

use std::fs::File;

use anyhow::{Result, bail};

pub(super) use device_lock::{DeviceLock, Made, Together};
pub(super) use facts::{Facts, Opened, Relation};
pub(super) use gather::examine;
pub(super) use mounts::{number as number_of, processes, swaps, writers_of_file};
use refuse::refusals;
pub(super) use relatives::name_of as name_of_number;

/// A device that was looked at.
pub(super) struct Examined {
    pub facts: Facts,
    /// Holds it against all others; `None` if it could not be held.
    pub claim: Option<File>,
    /// Other devices that reach its sectors, by their names, held in the same way.
    pub also: Vec<(String, File)>,
}

/// An error with every reason why a device must not be written.
pub(super) fn check(facts: &Facts, wipe: &[String]) -> Result<()> {
    let reasons: Vec<String> = refusals(facts, wipe).iter().map(ToString::to_string).collect();
    match reasons.is_empty() {
        true => Ok(()),
        false => bail!("{}; nothing was changed", reasons.join("; also, ")),
    }
}
