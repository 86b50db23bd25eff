//! A rotating disk, after C. Ruemmler and J. Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3),
//! March 1994, and for the cache after DiskSim (J. Bucy, J. Schindler, S. Schlosser, G. Ganger, "The DiskSim
//! Simulation Environment Version 4.0 Reference Manual", CMU-PDL-08-101, 2008).
//!
//! `seek.rs` is the seek curve, `geometry.rs` the layout of bytes and when they pass under the head, `read_buffer.rs`
//! and `write_cache.rs` the drive's memory, `drive.rs` the drive made of these.
//!
//! Modelled: arm, head switches, skew, the angle of the platters, zones, read-ahead, write-back, flush and forced unit
//! access. Not modelled:
//! * Command queueing: requests are served in order of arrival. The kernel's elevator sorts before that, but not the
//!   requests that it has dispatched, and nbd takes up to 128 of them where an IDE drive took one: concurrent reads of
//!   many processes move the arm more than they did there. Writes are sorted in the cache.
//! * Other track orders: tracks are laid out cylinder by cylinder, as in the paper; newer drives fill a band of one
//!   surface first.
//! * Uneven zones: all have the same number of cylinders and their rates fall in equal steps; no defects or spare
//!   sectors.
//! * Reading a track from where the head happens to land: it is read from its first requested byte.
//! * Read hits in the write cache after destaging; a write also leaves the read buffer alone, as though it were updated
//!   there too.

mod drive;
mod geometry;
mod read_buffer;
mod seek;
#[cfg(test)]
mod tests;
mod write_cache;

pub use drive::Drive;

use crate::units::{SECOND, SECTOR};
use crate::{BadParameter, Model, Parameters};
use geometry::Geometry;
use seek::Seek;
use serde::{Deserialize, Serialize};

/// The parameters of a rotating disk: bytes, nanoseconds, bytes a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hdd {
    /// Addressable bytes. The number of cylinders follows from it, the heads and the rates.
    pub capacity: u64,
    /// Revolutions per minute.
    pub rpm: u64,
    /// Surfaces that hold data.
    pub heads: u64,
    /// Zones with equal numbers of cylinders; the rate falls from zone to zone in equal steps.
    pub zones: u64,
    /// Bytes a second of a long sequential read in the outermost zone, head and cylinder switches included: the figure
    /// that benchmarks print.
    pub outer_rate: u64,
    /// The same for the innermost zone.
    pub inner_rate: u64,
    /// Seek to the next cylinder, ns.
    pub seek_single_ns: u64,
    /// Mean over all pairs of cylinders, ns, as in data sheets.
    pub seek_average_ns: u64,
    /// Seek from the first cylinder to the last, ns.
    pub seek_full_ns: u64,
    /// Switch to another head of the cylinder, ns; the skew of the tracks hides it in sequential access.
    pub head_switch_ns: u64,
    /// Extra time of a seek of more than one cylinder before a write, ns.
    pub write_settle_ns: u64,
    /// The controller's time per request, ns.
    pub overhead_ns: u64,
    /// Bytes a second between the host and the drive's memory.
    pub interface_rate: u64,
    /// Bytes of the drive's memory for read-ahead.
    pub read_buffer: u64,
    /// Sequential streams among which that memory is divided.
    pub segments: u64,
    /// Whether a write completes when its bytes are in the drive's memory.
    pub write_cache: bool,
    /// Bytes of the drive's memory for writes that are not yet on the medium; unused if `write_cache` is false.
    pub write_cache_size: u64,
}

/// Least number of cylinders for the seek curve, which is fitted as for a continuum.
const FEWEST_CYLINDERS: u64 = 16;

impl Parameters for Hdd {
    fn check(&self) -> Result<(), BadParameter> {
        self.build().map(drop)
    }

    fn start(&self) -> Option<Box<dyn Model>> {
        match self.build() {
            Ok((geometry, seek)) => Some(Box::new(Drive::new(self, geometry, seek))),
            Err(error) => panic!("not a disk: {error}"),
        }
    }

    fn capacity(&self) -> Option<u64> {
        Some(self.capacity)
    }

    fn rotational(&self) -> bool {
        true
    }

    fn has_volatile_cache(&self) -> bool {
        self.write_cache
    }
}

impl Hdd {
    pub fn revolution_ns(&self) -> u64 {
        60 * SECOND / self.rpm
    }

    /// The time from the last byte of a cylinder to the first of the next, ns: the arm and the head move at the same
    /// time.
    fn cylinder_switch(&self) -> u64 {
        self.seek_single_ns.max(self.head_switch_ns)
    }

    fn build(&self) -> Result<(Geometry, Seek), BadParameter> {
        let refuse = |text: String| Err(BadParameter(text));
        // The upper limits keep every product of the model within 64 bits; no real drive comes near them.
        let limits = [
            ("capacity", self.capacity, SECTOR, 1 << 50),
            ("rpm", self.rpm, 60, 60_000),
            ("heads", self.heads, 1, 256),
            ("zones", self.zones, 1, 1_000),
            ("inner_rate", self.inner_rate, 10_000, 10_000_000_000),
            ("outer_rate", self.outer_rate, self.inner_rate, 10_000_000_000),
            ("seek_single_ns", self.seek_single_ns, 1, SECOND),
            ("seek_average_ns", self.seek_average_ns, self.seek_single_ns, SECOND),
            ("seek_full_ns", self.seek_full_ns, self.seek_average_ns, SECOND),
            ("head_switch_ns", self.head_switch_ns, 0, self.revolution_ns_or_zero()),
            ("write_settle_ns", self.write_settle_ns, 0, SECOND),
            ("overhead_ns", self.overhead_ns, 0, SECOND),
            ("interface_rate", self.interface_rate, 10_000, 1_000_000_000_000),
            ("read_buffer", self.read_buffer, 0, 1 << 40),
            ("segments", self.segments, 1, 1_024),
        ];
        for (name, value, least, most) in limits {
            if value < least || value > most {
                return refuse(format!("{name} = {value} is not between {least} and {most}"));
            }
        }
        if self.write_cache && !(SECTOR..=1 << 40).contains(&self.write_cache_size) {
            return refuse(format!("write_cache_size = {} is no size for a write cache", self.write_cache_size));
        }
        let geometry = Geometry::new(self);
        if geometry.cylinders() < FEWEST_CYLINDERS {
            return refuse(format!(
                "capacity = {} makes {} cylinders at these rates and heads; at least {FEWEST_CYLINDERS} are needed",
                self.capacity,
                geometry.cylinders()
            ));
        }
        if geometry.cylinders() > u64::from(u32::MAX) >> 4 {
            return refuse(format!("capacity = {} makes more cylinders than can be", self.capacity));
        }
        let seek = Seek::fit(geometry.cylinders() - 1, self.seek_single_ns, self.seek_average_ns, self.seek_full_ns)?;
        Ok((geometry, seek))
    }

    fn revolution_ns_or_zero(&self) -> u64 {
        (60 * SECOND).checked_div(self.rpm).unwrap_or(0)
    }
}
