//! The drive whose requests come nearest to what was measured, one request at a time.
//!
//! One request at a time says nothing about how a drive works on several, so the controller's time per request and the
//! depth of its queue are not fitted, and are as in a drive of the catalogue.

use super::Flash;
use crate::{DiskModel, Model, Operation, Request};

/// Bytes of a small request.
const SMALL: u64 = 4096;
/// Bytes of a large request.
const LARGE: u64 = 1 << 20;
/// Large requests of each kind.
const MANY: u64 = 256;
/// A pause in ns that lets the drive become idle.
const PAUSE: u64 = 1 << 33;
/// The least part of a cost that is the drive's, to begin with.
const LEAST: f64 = 0.02;
/// Bytes of its buffer, unless the drive accepts more than it stores.
const USUAL_BUFFER: u64 = 16 << 20;
/// Time in ns to program a page, where no flush shows it.
const PROGRAMMING: u64 = 500_000;

/// What one request takes at queue depth 1, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// A read of 4 KiB at random.
    pub read: f64,
    /// A write of 4 KiB at random.
    pub write: f64,
    /// The same, with the flush after it.
    pub flush: f64,
    /// 1 MiB of a long read in order.
    pub large_read: f64,
    /// 1 MiB of a long write in order, until it is accepted.
    pub large_write: f64,
    /// The same, until it is on the medium.
    pub stored: f64,
}

impl Costs {
    /// What they are called in messages and files, in the order of [`values`](Self::values).
    pub const NAMES: [&'static str; 6] =
        ["4 KiB read", "4 KiB written", "4 KiB written and flushed", "1 MiB read", "1 MiB written", "1 MiB stored"];

    pub fn new(values: [f64; 6]) -> Costs {
        let [read, write, flush, large_read, large_write, stored] = values;
        Costs { read, write, flush, large_read, large_write, stored }
    }

    pub fn values(&self) -> [f64; 6] {
        [self.read, self.write, self.flush, self.large_read, self.large_write, self.stored]
    }

    /// What a drive takes that was just started; `start` makes one.
    pub fn of(start: &dyn Fn() -> Box<dyn Model>) -> Costs {
        let begin = PAUSE;
        let one = |operation, length| {
            let request = Request { operation, offset: 7_919 * LARGE, length };
            (start().submit(begin, request) - begin) as f64
        };
        let write = Operation::Write { fua: false };
        let row = |operation, flush: bool| {
            let (mut drive, mut now) = (start(), begin);
            for index in 0..MANY {
                now = drive.submit(now, Request { operation, offset: index * LARGE, length: LARGE });
            }
            if flush {
                now = drive.submit(now, Request { operation: Operation::Flush, offset: 0, length: 0 });
            }
            (now - begin) as f64 / MANY as f64
        };
        let mut drive = start();
        let written = drive.submit(begin, Request { operation: write, offset: 0, length: SMALL });
        let flushed = drive.submit(written, Request { operation: Operation::Flush, offset: 0, length: 0 });
        Costs {
            read: one(Operation::Read, SMALL),
            write: one(write, SMALL),
            flush: (flushed - begin) as f64,
            large_read: row(Operation::Read, false),
            large_write: row(write, false),
            stored: row(write, true),
        }
    }
}

/// The drive of `capacity` bytes whose costs, with the `way` to it, are nearest to `wanted`, all of which are above 0:
/// the sum of squares of the logarithms of their ratios is least. Where the way alone takes longer the drive adds little.
pub fn nearest(wanted: &Costs, way: &Costs, capacity: u64) -> DiskModel {
    let mut own = wanted.values();
    for (time, way) in own.iter_mut().zip(way.values()) {
        *time = (*time - way).max(*time * LEAST);
    }
    let own = Costs::new(own);
    let rate = |nanoseconds: f64| (LARGE as f64 * 1e9 / nanoseconds) as u64;
    // A flush that takes no longer than half of the write before it waits for nothing.
    let has_capacitors = own.flush < 1.5 * own.write;
    let takes_more = own.stored > 1.1 * own.large_write;
    let mut best = Flash {
        capacity,
        channels: 8,
        units: 8,
        page: SMALL,
        read_latency_ns: (own.read * 0.8) as u64,
        // With capacitors nobody waits for programming: it is the rate alone.
        program_latency_ns: if has_capacitors { PROGRAMMING } else { own.flush as u64 },
        channel_rate: rate(own.large_read) / 4,
        interface_rate: rate(own.large_read.min(own.large_write)),
        overhead_ns: (own.read.min(own.write) / 10.0) as u64,
        write_latency_ns: (own.write * 0.8) as u64,
        queue_depth: 64,
        write_buffer: if takes_more { MANY * LARGE } else { USUAL_BUFFER },
        power_loss_protection: has_capacitors,
    };
    within_limits(&mut best);
    let distance = |flash: &Flash| {
        let found = Costs::of(&|| Box::new(super::Drive::new(flash))).values();
        let ratios =
            found.iter().zip(way.values()).zip(wanted.values()).map(|((found, way), wanted)| (found + way) / wanted);
        ratios.map(|ratio| ratio.ln().powi(2)).sum::<f64>()
    };
    let mut least = distance(&best);
    for step in [4.0, 2.0, 1.4, 1.2, 1.1, 1.05, 1.02, 1.01] {
        while let Some((flash, nearer)) = neighbours(&best, step)
            .map(|flash| (distance(&flash), flash))
            .filter(|(distance, _)| *distance < least * (1.0 - 1e-6))
            .min_by(|one, other| one.0.total_cmp(&other.0))
            .map(|(distance, flash)| (flash, distance))
        {
            (best, least) = (flash, nearer);
        }
    }
    DiskModel::Flash(best)
}

/// Drives with one parameter, or two that belong together, larger or smaller by a factor.
fn neighbours(flash: &Flash, step: f64) -> impl Iterator<Item = Flash> + use<> {
    const FITTED: [fn(&mut Flash) -> Vec<&mut u64>; 7] = [
        |flash| vec![&mut flash.read_latency_ns],
        |flash| vec![&mut flash.write_latency_ns],
        |flash| vec![&mut flash.program_latency_ns],
        |flash| vec![&mut flash.units],
        // The rate of programming stays.
        |flash| vec![&mut flash.program_latency_ns, &mut flash.units],
        |flash| vec![&mut flash.channel_rate],
        |flash| vec![&mut flash.interface_rate],
    ];
    let flash = flash.clone();
    FITTED.into_iter().flat_map(move |fitted| {
        [step, 1.0 / step].map(|factor| {
            let mut other = flash.clone();
            for value in fitted(&mut other) {
                *value = (*value as f64 * factor).round() as u64;
            }
            within_limits(&mut other);
            other
        })
    })
}

/// Brings fitted values to where a drive can be built from them.
fn within_limits(flash: &mut Flash) {
    flash.units = flash.units.clamp(1, 1024);
    for latency in [&mut flash.read_latency_ns, &mut flash.write_latency_ns, &mut flash.program_latency_ns] {
        *latency = (*latency).clamp(1, 1_000_000_000);
    }
    for rate in [&mut flash.channel_rate, &mut flash.interface_rate] {
        *rate = (*rate).clamp(10_000, 1_000_000_000_000);
    }
    flash.overhead_ns = flash.overhead_ns.min(1_000_000_000);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters;

    /// Read and write, with flush, of 4 KiB in us; read, accept and store 1 MiB in us.
    fn fitted(us: [f64; 6]) -> (Flash, [f64; 6]) {
        let wanted = Costs::new(us.map(|us| us * 1000.0));
        let DiskModel::Flash(flash) = nearest(&wanted, &Costs::new([0.0; 6]), 1 << 38) else { panic!("another model") };
        flash.check().unwrap();
        let found = Costs::of(&|| flash.start().unwrap()).values();
        let mut ratios = [0.0; 6];
        for ((ratio, found), wanted) in ratios.iter_mut().zip(found).zip(wanted.values()) {
            *ratio = found / wanted;
        }
        (flash, ratios)
    }

    #[test]
    fn drives_of_all_kinds_are_found_again() {
        for (what, us) in [
            ("SATA", [82.0, 43.0, 1100.0, 2100.0, 2100.0, 2100.0]),
            ("NVMe", [78.0, 20.0, 440.0, 340.0, 420.0, 420.0]),
            ("a cloud's volume", [600.0, 900.0, 1900.0, 7800.0, 7800.0, 7800.0]),
            ("a file in the page cache of a machine with a slow disk", [18.0, 19.0, 5000.0, 260.0, 330.0, 2500.0]),
            ("with capacitors", [90.0, 15.0, 18.0, 330.0, 500.0, 510.0]),
        ] {
            let (flash, ratios) = fitted(us);
            assert!(ratios.iter().all(|ratio| (0.9..1.1).contains(ratio)), "{what}: {ratios:?} {flash:?}");
        }
    }

    #[test]
    fn a_drive_that_is_quicker_than_the_way_to_it_leaves_the_other_costs_right() {
        let wanted = Costs::new([300.0, 190.0, 1400.0, 1500.0, 1400.0, 1400.0].map(|us| us * 1000.0));
        let way = Costs::new([40.0, 40.0, 60.0, 1000.0, 2200.0, 2200.0].map(|us| us * 1000.0));
        let DiskModel::Flash(flash) = nearest(&wanted, &way, 1 << 38) else { panic!("another model") };
        let found = Costs::of(&|| flash.start().unwrap());
        let ratio = |of: fn(&Costs) -> f64| (of(&found) + of(&way)) / of(&wanted);
        for (what, ratio) in
            [("read", ratio(|all| all.read)), ("write", ratio(|all| all.write)), ("flush", ratio(|all| all.flush))]
        {
            assert!((0.9..1.1).contains(&ratio), "{what}: {ratio} {flash:?}");
        }
        assert!(ratio(|all| all.large_write) < 1.8, "{flash:?}");
    }

    #[test]
    fn a_flush_that_costs_nothing_is_a_drive_with_capacitors_and_one_that_takes_more_than_it_stores_has_a_buffer() {
        assert!(fitted([90.0, 15.0, 18.0, 330.0, 500.0, 510.0]).0.power_loss_protection);
        let (flash, _) = fitted([90.0, 15.0, 400.0, 330.0, 500.0, 2000.0]);
        assert!(!flash.power_loss_protection && flash.write_buffer == 256 << 20, "{flash:?}");
    }
}
