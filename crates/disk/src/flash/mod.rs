//! A solid-state disk: channels with flash units behind them, a write buffer, a host interface.
//!
//! `drive.rs` has the drive. The model is that of N. Agrawal, V. Prabhakaran, T. Wobber, J. Davis, M. Manasse and R.
//! Panigrahy, "Design Tradeoffs for SSD Performance", USENIX ATC 2008: pages striped over channels and, within a
//! channel, over units that work in parallel and share the channel's wires.
//!
//! Modelled: parallel reads, which complete out of order because their units differ; the limits of controller and
//! interface; the write buffer, which drains at the rate at which the units can program, and the cost of a flush with
//! and without capacitors against power loss. Not modelled:
//! * Garbage collection, wear and a faster region of single-bit cells: writes are sustained at one rate for ever.
//! * Reads that wait for programming (every unit is assumed to suspend it) or for erasing.
//! * Read hits in the write buffer, and read-ahead.
//! * The address mapping: reads find their pages striped by address, writes are spread freely.

mod drive;
#[cfg(test)]
mod tests;

pub use drive::Drive;

use crate::units::SECOND;
use crate::{BadParameter, Model, Parameters};
use serde::{Deserialize, Serialize};

/// The parameters of a solid-state disk: bytes, nanoseconds, bytes a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flash {
    /// Addressable bytes.
    pub capacity: u64,
    /// Channels between the controller and the flash.
    pub channels: u64,
    /// Units per channel that read and program in parallel: dies times planes.
    pub units: u64,
    /// Bytes of a flash page, the unit of striping and of programming.
    pub page: u64,
    /// Time from the command to a unit until the page is in its register, ns.
    pub read_latency_ns: u64,
    /// Time to program one page of a unit, ns. The sustained write rate follows from it.
    pub program_latency_ns: u64,
    /// Bytes a second of each channel.
    pub channel_rate: u64,
    /// Bytes a second between the host and the drive.
    pub interface_rate: u64,
    /// The controller's time per request, ns. It takes one request after the other, so this limits the requests a
    /// second at any queue depth.
    pub overhead_ns: u64,
    /// Additional time of a buffered write beyond overhead and transfer, ns; writes overlap in it.
    pub write_latency_ns: u64,
    /// Requests that the drive works on at once; further ones wait.
    pub queue_depth: u64,
    /// Bytes of writes acknowledged before they are programmed.
    pub write_buffer: u64,
    /// Whether the buffer survives a power failure, so that flushes and forced writes need not wait.
    pub power_loss_protection: bool,
}

impl Parameters for Flash {
    fn check(&self) -> Result<(), BadParameter> {
        // The upper limits keep every product of the model within 64 bits; no real drive comes near them.
        let limits = [
            ("capacity", self.capacity, 512, 1 << 50),
            ("channels", self.channels, 1, 1_024),
            ("units", self.units, 1, 1_024),
            ("page", self.page, 512, 1 << 24),
            ("read_latency_ns", self.read_latency_ns, 0, SECOND),
            ("program_latency_ns", self.program_latency_ns, 1, SECOND),
            ("channel_rate", self.channel_rate, 10_000, 1_000_000_000_000),
            ("interface_rate", self.interface_rate, 10_000, 1_000_000_000_000),
            ("overhead_ns", self.overhead_ns, 0, SECOND),
            ("write_latency_ns", self.write_latency_ns, 0, SECOND),
            ("queue_depth", self.queue_depth, 1, 1 << 20),
            ("write_buffer", self.write_buffer, 0, 1 << 40),
        ];
        for (name, value, least, most) in limits {
            if value < least || value > most {
                return Err(BadParameter(format!("{name} = {value} is not between {least} and {most}")));
            }
        }
        Ok(())
    }

    fn start(&self) -> Option<Box<dyn Model>> {
        if let Err(error) = self.check() {
            panic!("not a disk: {error}");
        }
        Some(Box::new(Drive::new(self)))
    }

    fn capacity(&self) -> Option<u64> {
        Some(self.capacity)
    }

    fn trims(&self) -> bool {
        true
    }

    fn has_volatile_cache(&self) -> bool {
        !self.power_loss_protection
    }
}

impl Flash {
    /// Bytes a second that can be programmed for ever: all units in parallel, each one page per program latency,
    /// limited by the channels and the interface.
    pub fn sustained_write_rate(&self) -> u64 {
        let programmed = u128::from(self.channels * self.units * self.page) * u128::from(SECOND)
            / u128::from(self.program_latency_ns);
        let programmed = u64::try_from(programmed).unwrap_or(u64::MAX).max(1);
        programmed.min(self.channels * self.channel_rate).min(self.interface_rate)
    }
}
