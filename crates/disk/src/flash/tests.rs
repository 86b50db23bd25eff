use super::*;
use crate::{Model, Operation, Request};
use proptest::prelude::*;

const PAGE: u64 = 16_384;

fn drive() -> Flash {
    Flash {
        capacity: 1 << 38,
        channels: 8,
        units: 4,
        page: PAGE,
        read_latency_ns: 60_000,
        program_latency_ns: 1_000_000,
        channel_rate: 400_000_000,
        interface_rate: 2_000_000_000,
        overhead_ns: 2_000,
        write_latency_ns: 15_000,
        queue_depth: 64,
        write_buffer: 32 << 20,
        power_loss_protection: false,
    }
}

fn started(flash: &Flash) -> Drive {
    Drive::new(flash)
}

fn read(offset: u64, length: u64) -> Request {
    Request { operation: Operation::Read, offset, length }
}

fn write(offset: u64, length: u64, fua: bool) -> Request {
    Request { operation: Operation::Write { fua }, offset, length }
}

const FLUSH: Request = Request { operation: Operation::Flush, offset: 0, length: 0 };

#[test]
fn one_read_at_a_time_costs_overhead_latency_and_transfer() {
    let flash = drive();
    let mut disk = started(&flash);
    let one = 2_000 + 60_000 + 4096 * SECOND / 400_000_000 + 4096 * SECOND / 2_000_000_000;
    let mut now = 0;
    for index in 0..1_000u64 {
        now = disk.submit(now, read(index * 7_919 * PAGE, 4096));
    }
    assert!(now.abs_diff(1_000 * one) < 2_000, "{now} {one}");
}

#[test]
fn parallel_reads_scale_with_units_and_share_a_channel() {
    let mut disk = started(&drive());
    let one = disk.submit(0, read(0, 4096));
    let mut disk = started(&drive());
    // One page on each channel: they differ by the controller's time alone.
    let last = (0..8).map(|index| disk.submit(0, read(index * PAGE, 4096))).max().unwrap();
    assert_eq!(last, one + 7 * 2_000);
    let mut disk = started(&drive());
    // Always the same unit: no parallelism.
    let last = (0..8).map(|index| disk.submit(0, read(index * 32 * PAGE, 4096))).max().unwrap();
    assert!(last > 8 * 60_000);
    let mut disk = started(&drive());
    // Four units of one channel read at once and send one after the other.
    let last = (0..4).map(|index| disk.submit(0, read(index * 8 * PAGE, PAGE))).max().unwrap();
    let expected = 2_000 + 60_000 + 4 * (PAGE * SECOND / 400_000_000) + PAGE * SECOND / 2_000_000_000;
    assert_eq!(last, expected);
}

#[test]
fn a_read_overtakes_one_whose_unit_is_busy() {
    let mut disk = started(&drive());
    disk.submit(0, read(0, PAGE));
    let behind = disk.submit(0, read(32 * PAGE, PAGE));
    let aside = disk.submit(0, read(PAGE, PAGE));
    assert!(aside < behind);
}

#[test]
fn the_interface_bounds_large_reads() {
    let mut disk = started(&drive());
    let mut done = 0;
    for index in 0..256u64 {
        done = done.max(disk.submit(0, read(index << 20, 1 << 20)));
    }
    let rate = (256u64 << 20) as f64 / (done as f64 / 1e9);
    assert!((rate / 2e9 - 1.0).abs() < 0.01, "{rate}");
}

#[test]
fn the_controller_bounds_small_reads() {
    let mut flash = drive();
    flash.overhead_ns = 10_000;
    let mut disk = started(&flash);
    let done = (0..10_000u64).map(|index| disk.submit(0, read(index * PAGE, 4096))).max().unwrap();
    assert!(done.abs_diff(10_000 * 10_000) < 200_000, "{done}");
}

#[test]
fn no_more_than_the_queue_at_once() {
    let mut flash = drive();
    flash.queue_depth = 1;
    let mut disk = started(&flash);
    let first = disk.submit(0, read(0, 4096));
    let second = disk.submit(0, read(PAGE, 4096));
    assert_eq!(second, 2 * first);
}

#[test]
fn writes_run_at_the_interface_until_the_buffer_is_full_then_at_the_sustained_rate() {
    let flash = drive();
    let sustained = flash.sustained_write_rate();
    assert_eq!(sustained, 32 * PAGE * SECOND / 1_000_000);
    let mut disk = started(&flash);
    let piece = 1u64 << 17;
    let mut now = 0;
    // The data that fits while the buffer drains at a quarter of the interface's rate.
    for index in 0..(32u64 << 20) / piece {
        let done = disk.submit(now, write(index * piece, piece, false));
        assert_eq!(done - now, 2_000 + 15_000 + piece * SECOND / 2_000_000_000);
        now = done;
    }
    let mut first = (0, 0);
    for index in 0..4_096u64 {
        now = disk.submit(now, write(index * piece, piece, false));
        if index == 2_048 {
            first = (now, index);
        }
    }
    let rate = ((4_095 - first.1) * piece) as f64 / ((now - first.0) as f64 / 1e9);
    assert!((rate / sustained as f64 - 1.0).abs() < 0.01, "{rate} {sustained}");
}

#[test]
fn a_flush_waits_for_the_drain_unless_power_loss_is_provided_for() {
    let mut flash = drive();
    let mut disk = started(&flash);
    let written = disk.submit(0, write(0, 16 << 20, false));
    let flushed = disk.submit(written, FLUSH);
    assert!(flushed >= (16u64 << 20) * SECOND / flash.sustained_write_rate() + flash.program_latency_ns);
    assert!(disk.idle_at() <= flushed);
    assert_eq!(disk.submit(flushed, FLUSH), flushed + 2_000);
    flash.power_loss_protection = true;
    let mut disk = started(&flash);
    let written = disk.submit(0, write(0, 16 << 20, false));
    assert_eq!(disk.submit(written, FLUSH), written + 2_000);
}

#[test]
fn a_forced_write_waits_for_its_own_page_only() {
    let mut flash = drive();
    let mut disk = started(&flash);
    let buffered = disk.submit(0, write(0, 4096, false));
    let forced = disk.submit(buffered, write(1 << 20, 4096, true)) - buffered;
    assert!(forced > buffered + 900_000);
    let full = disk.submit(buffered + forced, write(0, 32 << 20, false));
    assert!(disk.submit(full, write(1 << 30, 4096, true)) - full < forced + 1_000);
    flash.power_loss_protection = true;
    let mut disk = started(&flash);
    let buffered = disk.submit(0, write(0, 4096, false));
    assert_eq!(disk.submit(buffered, write(1 << 20, 4096, true)), 2 * buffered);
}

#[test]
fn a_trim_costs_the_overhead() {
    let mut disk = started(&drive());
    assert_eq!(disk.submit(5, Request { operation: Operation::Trim, offset: 0, length: 1 << 37 }), 2_005);
}

proptest! {
    #[test]
    fn any_trace_is_served_twice_alike(steps in prop::collection::vec((0u64..3_000_000, 0u8..6, 0u64..1 << 39, 0u64..4 << 20), 1..200)) {
        let (mut one, mut two) = (started(&drive()), started(&drive()));
        let mut now = 0;
        for (pause, kind, offset, length) in steps {
            now += pause;
            let operation = match kind {
                0 | 1 => Operation::Read,
                2 | 3 => Operation::Write { fua: kind == 3 },
                4 => Operation::Flush,
                _ => Operation::Trim,
            };
            let request = Request { operation, offset, length };
            let done = one.submit(now, request);
            prop_assert!(done >= now);
            prop_assert_eq!(done, two.submit(now, request));
            prop_assert!(kind != 4 || one.idle_at() <= done);
        }
    }
}
