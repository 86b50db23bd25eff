use mountmark_model::DeviceRecord;
use mountmark_model::device::{DeviceOperation, ROWS, SECTOR, SLICES};
use proptest::prelude::*;

use super::*;

const MIB: u64 = 1 << 20;
const MS: u64 = 1 << 20;

fn recorder(size: u64) -> Box<Recorder> {
    let mut recorder = Recorder::new();
    recorder.reset(0, size);
    recorder
}

/// Records a request that is alone at the device.
fn alone(recorder: &mut Recorder, operation: DeviceOperation, offset: u64, length: u64, from: u64, to: u64) {
    recorder.arrive(from);
    recorder.complete(to, &Completed { operation, offset, length, fua: false, arrival: from });
}

fn drawn(record: &DeviceRecord) -> (u64, u64) {
    let fields = &record.map.as_ref().unwrap().fields;
    let read: u64 = fields.iter().map(|field| u64::from(field.read)).sum();
    let written: u64 = fields.iter().map(|field| u64::from(field.written)).sum();
    (read * SECTOR, written * SECTOR)
}

#[test]
fn a_few_requests_are_where_they_belong() {
    let mut recorder = Recorder::new();
    recorder.reset(1000 * MS, 96 * MIB);
    alone(&mut recorder, DeviceOperation::Read, MIB / 2, MIB, 1000 * MS, 1000 * MS + MS / 2);
    alone(&mut recorder, DeviceOperation::Write, 95 * MIB, 4096, 1003 * MS, 1005 * MS);
    alone(&mut recorder, DeviceOperation::Flush, 0, 0, 1005 * MS, 1006 * MS);
    alone(&mut recorder, DeviceOperation::Discard, 0, MIB, 1006 * MS, 1006 * MS);
    // A request in flight when the task began is not its own.
    recorder.complete(
        1007 * MS,
        &Completed { operation: DeviceOperation::Read, offset: 0, length: 512, fua: false, arrival: 1 },
    );
    let record = recorder.record(Times { returned: MS, durable: 2 * MS, settled: 7 * MS });
    assert_eq!((record.size, record.slice, record.settled), (96 * MIB, MS, 7 * MS));
    assert_eq!(record.slices.len(), 7);
    let totals = record.totals();
    assert_eq!(totals.count, [1, 1, 1, 1]);
    assert_eq!(totals.bytes, [MIB, 4096, MIB, 0]);
    assert_eq!(totals.wait, [MS / 2, 2 * MS, 0, MS]);
    assert_eq!((totals.busy, totals.queued), (MS / 2 + 3 * MS, MS / 2 + 3 * MS));
    // Busy in the slices that it spans, counted in the slice where it ends.
    let busy: Vec<u64> = record.slices.iter().map(|slice| slice.busy).collect();
    assert_eq!(busy, [MS / 2, 0, 0, MS, MS, MS, 0]);
    assert_eq!(record.slices[5].count(DeviceOperation::Write), 1);
    assert_eq!(record.sizes[0].iter().rposition(|count| *count == 1), Some(20));
    assert_eq!(record.sizes[1].len(), 13);
    let map = record.map.as_ref().unwrap();
    assert_eq!(map.row_bytes, MIB);
    let places: Vec<_> = map.fields.iter().map(|f| (f.column, f.row, f.read, f.written)).collect();
    assert_eq!(places, [(0, 0, 1024, 0), (0, 1, 1024, 0), (5, 95, 0, 8)]);
}

#[test]
fn reads_that_follow_one_another_make_the_layout_score() {
    let mut recorder = recorder(96 * MIB);
    let score = |recorder: &Recorder| recorder.record(Times::default()).layout_score();
    let mut at = 0;
    let mut read = |recorder: &mut Recorder, operation: DeviceOperation, offset: u64| {
        alone(recorder, operation, offset, 4096, at, at + 1);
        at += 2;
    };
    read(&mut recorder, DeviceOperation::Read, 0);
    assert_eq!(score(&recorder), None);
    read(&mut recorder, DeviceOperation::Read, 4096);
    assert_eq!(score(&recorder), Some(1.0));
    // A write between two reads changes nothing.
    read(&mut recorder, DeviceOperation::Write, MIB);
    read(&mut recorder, DeviceOperation::Read, 8192);
    for offset in [MIB, 0] {
        read(&mut recorder, DeviceOperation::Read, offset);
    }
    assert_eq!(score(&recorder), Some(0.5));
}

#[test]
fn two_requests_at_once_make_a_queue() {
    let mut recorder = recorder(MIB);
    recorder.arrive(0);
    recorder.arrive(MS);
    let one = Completed { operation: DeviceOperation::Read, offset: 0, length: 512, fua: false, arrival: 0 };
    recorder.complete(2 * MS, &one);
    recorder.complete(3 * MS, &Completed { arrival: MS, ..one });
    let record = recorder.record(Times::default());
    let queued: Vec<u64> = record.slices.iter().map(|slice| slice.queued).collect();
    assert_eq!(queued, [MS, 2 * MS, MS, 0]);
    // Little's law: the sum of waits is the integral of the queue length.
    assert_eq!(record.totals().wait(DeviceOperation::Read), record.totals().queued);
    assert_eq!(record.totals().busy, 3 * MS);
}

#[test]
fn a_million_requests_over_an_hour_take_no_more_room() {
    let mut recorder = recorder(1 << 36);
    let step = 3_600_000_000;
    for number in 0..1_000_000_u64 {
        let at = number * step;
        let operation = DeviceOperation::ALL[number as usize % 2];
        alone(&mut recorder, operation, number * 65536 % (1 << 36), 4096, at, at + step / 2);
    }
    let record = recorder.record(Times { settled: 1_000_000 * step, ..Times::default() });
    assert!(record.slices.len() <= SLICES && record.slices.len() > SLICES / 2, "{}", record.slices.len());
    let totals = record.totals();
    assert_eq!(totals.count, [500_000, 500_000, 0, 0]);
    assert_eq!(totals.bytes, [500_000 * 4096, 500_000 * 4096, 0, 0]);
    assert_eq!((totals.busy, totals.queued), (1_000_000 * (step / 2), 1_000_000 * (step / 2)));
    assert_eq!(drawn(&record), (500_000 * 4096, 500_000 * 4096));
    assert!(record.map.unwrap().fields.len() <= SLICES * ROWS);
    assert!(size_of::<Recorder>() < 128 << 10, "{}", size_of::<Recorder>());
}

#[test]
fn what_lies_beyond_the_device_is_counted_and_not_drawn() {
    let mut recorder = recorder(0);
    alone(&mut recorder, DeviceOperation::Write, u64::MAX - 100, 4096, 0, 10);
    let record = recorder.record(Times::default());
    assert_eq!(record.totals().bytes(DeviceOperation::Write), 4096);
    assert_eq!(record.map.unwrap().fields, []);
}

proptest! {
    /// However slices are joined, sums equal those of the requests, and no slice is busier than it is long.
    #[test]
    fn joining_keeps_sums(
        requests in prop::collection::vec((0u64..1 << 34, 0u64..1 << 24, 0usize..4, 0u64..1 << 21, 0u64..300), 1..200),
        begin in 0u64..1 << 40,
    ) {
        let size = 1 << 34;
        let mut recorder = Recorder::new();
        recorder.reset(begin, size);
        let mut time = begin;
        let mut expected = mountmark_model::device::Slice::default();
        let mut busy = 0;
        for (gap, offset, kind, took, sectors) in requests {
            let operation = DeviceOperation::ALL[kind];
            let length = if operation == DeviceOperation::Flush { 0 } else { sectors * SECTOR };
            let from = time + gap;
            time = from + took;
            alone(&mut recorder, operation, offset * SECTOR, length, from, time);
            expected.count[kind] += 1;
            expected.bytes[kind] += length;
            expected.wait[kind] += took;
            busy += took;
        }
        let record = recorder.record(Times { settled: time - begin, ..Times::default() });
        let totals = record.totals();
        prop_assert_eq!((totals.count, totals.bytes, totals.wait), (expected.count, expected.bytes, expected.wait));
        prop_assert_eq!((totals.busy, totals.queued), (busy, busy));
        prop_assert!(record.slices.iter().all(|slice| slice.busy <= record.slice));
        prop_assert!(record.slices.len() <= SLICES);
        prop_assert_eq!(drawn(&record), (expected.bytes[0], expected.bytes[1]));
        let sizes: u64 = record.sizes.iter().flatten().sum();
        prop_assert!(sizes <= totals.count.iter().sum());
    }
}
