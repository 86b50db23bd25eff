//! The whole drive compared with closed formulas.

use super::*;
use crate::units::duration;
use crate::{Model, Operation, Request};
use proptest::prelude::*;

mod memory;

/// 40 GB, 7200 rpm, small caches; not a real drive.
pub(super) fn drive() -> Hdd {
    Hdd {
        capacity: 40_000_000_000,
        rpm: 7200,
        heads: 4,
        zones: 8,
        outer_rate: 60_000_000,
        inner_rate: 32_000_000,
        seek_single_ns: 1_000_000,
        seek_average_ns: 8_500_000,
        seek_full_ns: 18_000_000,
        head_switch_ns: 800_000,
        write_settle_ns: 1_000_000,
        overhead_ns: 300_000,
        interface_rate: 100_000_000,
        read_buffer: 4 << 20,
        segments: 8,
        write_cache: true,
        write_cache_size: 4 << 20,
    }
}

fn started(hdd: &Hdd) -> Drive {
    let (geometry, seek) = hdd.build().expect("parameters of a drive");
    Drive::new(hdd, geometry, seek)
}

fn read(offset: u64, length: u64) -> Request {
    Request { operation: Operation::Read, offset, length }
}

fn write(offset: u64, length: u64) -> Request {
    Request { operation: Operation::Write { fua: false }, offset, length }
}

fn forced(offset: u64, length: u64) -> Request {
    Request { operation: Operation::Write { fua: true }, offset, length }
}

const FLUSH: Request = Request { operation: Operation::Flush, offset: 0, length: 0 };

/// Pseudo-random numbers, good enough for a mean.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * u128::from(limit)) >> 64) as u64
    }
}

/// The first byte and the rate of each zone, computed without `Geometry`.
fn zones(hdd: &Hdd) -> Vec<(u64, f64)> {
    let rate = |zone: u64| {
        let step = (hdd.outer_rate - hdd.inner_rate) as f64 / (hdd.zones - 1).max(1) as f64;
        hdd.outer_rate as f64 - step * zone as f64
    };
    let total: f64 = (0..hdd.zones).map(rate).sum();
    let mut first = 0.0;
    (0..hdd.zones)
        .map(|zone| {
            let start = first;
            first += hdd.capacity as f64 * rate(zone) / total;
            (start as u64, rate(zone))
        })
        .collect()
}

#[test]
fn sequential_reads_get_each_zones_rate() {
    for request in [64u64 << 10, 128 << 10, 1 << 20] {
        let hdd = drive();
        for (first, rate) in zones(&hdd) {
            let mut disk = started(&hdd);
            let first = first / 512 * 512 + (64 << 20);
            let begun = disk.submit(0, read(first, request));
            let count = (256u64 << 20) / request;
            let mut now = begun;
            for index in 1..=count {
                now = disk.submit(now, read(first + index * request, request));
            }
            let got = (count * request) as f64 / ((now - begun) as f64 / 1e9);
            assert!((got / rate - 1.0).abs() < 0.01, "{got} for {rate} with {request}");
        }
    }
}

#[test]
fn one_long_read_is_as_fast_as_many() {
    let hdd = drive();
    let mut disk = started(&hdd);
    let done = disk.submit(0, read(0, 512 << 20));
    let rate = (512u64 << 20) as f64 / (done as f64 / 1e9);
    assert!((rate / hdd.outer_rate as f64 - 1.0).abs() < 0.01, "{rate}");
}

/// The mean seek between two random bytes: outer cylinders hold more, so it differs from the mean over cylinders.
fn mean_seek(hdd: &Hdd) -> f64 {
    let geometry = Geometry::new(hdd);
    let (_, seek) = hdd.build().unwrap();
    let zones = zones(hdd);
    let width = geometry.cylinders() as f64 / zones.len() as f64;
    let steps = 1_500u64;
    let cylinder = |step: u64| {
        let byte = hdd.capacity / steps * step + hdd.capacity / steps / 2;
        let zone = zones.iter().rposition(|&(first, _)| first <= byte).unwrap();
        let end = zones.get(zone + 1).map_or(hdd.capacity, |next| next.0);
        let within = (byte - zones[zone].0) as f64 / (end - zones[zone].0) as f64;
        ((zone as f64 + within) * width) as u64
    };
    let cylinders: Vec<u64> = (0..steps).map(cylinder).collect();
    let mut sum = 0.0;
    for &one in &cylinders {
        for &other in &cylinders {
            sum += seek.time(one.abs_diff(other)) as f64;
        }
    }
    sum / (steps * steps) as f64
}

#[test]
fn random_reads_cost_overhead_seek_half_a_turn_and_transfer() {
    let hdd = drive();
    let mut disk = started(&hdd);
    let mut numbers = Numbers(1);
    let mut now = 0;
    let count = 20_000;
    for _ in 0..count {
        now = disk.submit(now, read(numbers.below(hdd.capacity / 4096) * 4096, 4096));
    }
    let mean = now as f64 / count as f64;
    let transfer = 4096.0 / 45e6 * 1e9;
    let expected = hdd.overhead_ns as f64 + mean_seek(&hdd) + hdd.revolution_ns() as f64 / 2.0 + transfer;
    assert!((mean / expected - 1.0).abs() < 0.01, "{mean} {expected}");
}

#[test]
fn random_forced_writes_settle_longer() {
    let mut hdd = drive();
    let mut totals = [0u64; 2];
    for (settle, total) in [0, 2_000_000].into_iter().zip(&mut totals) {
        hdd.write_settle_ns = settle;
        let mut disk = started(&hdd);
        let mut numbers = Numbers(7);
        for _ in 0..5_000 {
            *total = disk.submit(*total, forced(numbers.below(hdd.capacity / 4096) * 4096, 4096));
        }
    }
    let difference = (totals[1] - totals[0]) as f64 / 5_000.0;
    assert!((difference / 2_000_000.0 - 1.0).abs() < 0.05, "{difference}");
}

#[test]
fn a_full_stroke_takes_what_the_data_sheet_says() {
    let hdd = drive();
    let geometry = Geometry::new(&hdd);
    let last = hdd.capacity / 512 * 512 - 512;
    let (_, angle) = geometry.locate(last);
    let transfer = geometry.end(last + 512) - angle;
    for pause in 0..50 {
        let mut disk = started(&hdd);
        let now = disk.submit(0, read(0, 512)) + pause * 200_000;
        // The read-ahead fills half a megabyte, a track or two: the arm stays on the first cylinder.
        let done = disk.submit(now, read(last, 512));
        let arrival = now + hdd.overhead_ns + hdd.seek_full_ns;
        let wait = done - transfer - arrival;
        assert!(wait < hdd.revolution_ns());
        assert_eq!((arrival + wait) % hdd.revolution_ns(), angle % hdd.revolution_ns());
    }
}

#[test]
fn the_same_sector_comes_round_once_a_revolution() {
    let mut hdd = drive();
    hdd.write_cache = false;
    let mut disk = started(&hdd);
    let mut before = disk.submit(0, write(1 << 30, 4096));
    for _ in 0..20 {
        let done = disk.submit(before, write(1 << 30, 4096));
        assert_eq!(done - before, hdd.revolution_ns());
        before = done;
    }
}

#[test]
fn a_trim_costs_the_overhead() {
    let mut disk = started(&drive());
    let trim = Request { operation: Operation::Trim, offset: 0, length: 1 << 30 };
    assert_eq!(disk.submit(7, trim), 7 + drive().overhead_ns);
}

#[test]
fn parameters_that_make_no_drive_are_refused() {
    let cases = [
        ("rpm", Hdd { rpm: 0, ..drive() }),
        ("outer_rate", Hdd { outer_rate: drive().inner_rate - 1, ..drive() }),
        ("seek_average_ns", Hdd { seek_average_ns: 2_000_000, ..drive() }),
        ("capacity", Hdd { capacity: 1_000_000, ..drive() }),
        ("segments", Hdd { segments: 0, ..drive() }),
        ("write_cache_size", Hdd { write_cache_size: 0, ..drive() }),
    ];
    for (name, hdd) in cases {
        let error = hdd.check().unwrap_err().to_string();
        assert!(error.starts_with(name), "{error}");
    }
    assert!(drive().check().is_ok());
}

fn request(kind: u8, offset: u64, length: u64) -> Request {
    match kind {
        0..=2 => read(offset, length),
        3..=5 => write(offset, length),
        6 => forced(offset, length),
        7 => FLUSH,
        _ => Request { operation: Operation::Trim, offset, length },
    }
}

proptest! {
    #[test]
    fn any_trace_is_served_twice_alike(
        steps in prop::collection::vec((0u64..40_000_000, 0u8..9, prop_oneof![0u64..8 << 20, 0u64..41_000_000_000], 0u64..6 << 20), 1..120),
        read_buffer in prop_oneof![Just(0u64), Just(512), Just(100_000), Just(4 << 20)],
        cached in any::<bool>(),
        heads in 1u64..5,
        zones in 1u64..9,
    ) {
        let hdd = Hdd { read_buffer, write_cache: cached, heads, zones, ..drive() };
        let (mut one, mut two) = (started(&hdd), started(&hdd));
        let (mut now, mut before) = (0, 0);
        for (pause, kind, offset, length) in steps {
            // Some requests arrive before the previous one is done.
            now += pause;
            let request = request(kind, offset, length);
            let done = one.submit(now, request);
            prop_assert!(done >= now + hdd.overhead_ns);
            prop_assert!(done >= before);
            prop_assert_eq!(done, two.submit(now, request));
            let idle = one.idle_at();
            match request.operation {
                Operation::Flush => prop_assert!(idle <= done),
                Operation::Write { fua: false } if !cached => prop_assert!(idle <= done),
                _ => {}
            }
            before = done;
        }
        let idle = one.idle_at();
        let flushed = one.submit(now, FLUSH);
        // An idle drive is done by then; a flush only keeps it from reading ahead first.
        prop_assert!(flushed <= idle.max(before.max(now)) + 2 * (hdd.seek_full_ns + hdd.revolution_ns()) + hdd.overhead_ns);
        prop_assert!(one.idle_at() <= flushed);
    }

    #[test]
    fn a_random_read_is_never_faster_than_the_medium(now in 0u64..1_000_000_000, sector in 0u64..40_000_000_000 / 512 - 8) {
        let hdd = drive();
        let geometry = Geometry::new(&hdd);
        let (place, start) = geometry.locate(sector * 512);
        let transfer = geometry.end(sector * 512 + 4096) - start;
        let (_, seek) = hdd.build().unwrap();
        let switch = if place.head == 0 { 0 } else { hdd.head_switch_ns };
        let least = hdd.overhead_ns + seek.time(place.cylinder).max(switch) + transfer;
        let took = started(&hdd).submit(now, read(sector * 512, 4096)) - now;
        prop_assert!(took >= least && took < least + hdd.revolution_ns(), "{} {}", took, least);
    }
}
