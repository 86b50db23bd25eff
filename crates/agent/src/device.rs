//! The record of a device whose requests are not visible, from the kernel's counters.

use mountmark_job::Times;
use mountmark_model::DeviceRecord;
use mountmark_model::device::Slice;

use super::probes::DeviceCounters;

/// A record with one slice that covers the time between two readings of the counters; `reason` says why there are no
/// more. The counters' times are whole milliseconds.
pub(super) fn counted(
    size: u64,
    times: Times,
    before: &DeviceCounters,
    after: &DeviceCounters,
    reason: String,
) -> DeviceRecord {
    let since = |of: fn(&DeviceCounters) -> u64| of(after).saturating_sub(of(before));
    let nanoseconds = |of: fn(&DeviceCounters) -> u64| since(of).saturating_mul(1_000_000);
    let bytes = |of: fn(&DeviceCounters) -> u64| since(of).saturating_mul(512);
    let slice = Slice {
        count: [since(|c| c.reads), since(|c| c.writes), since(|c| c.discards), since(|c| c.flushes)],
        bytes: [bytes(|c| c.read_sectors), bytes(|c| c.written_sectors), bytes(|c| c.discarded_sectors), 0],
        wait: [
            nanoseconds(|c| c.read_time),
            nanoseconds(|c| c.write_time),
            nanoseconds(|c| c.discard_time),
            nanoseconds(|c| c.flush_time),
        ],
        queued: nanoseconds(|c| c.queue_time),
        busy: nanoseconds(|c| c.busy_time),
    };
    DeviceRecord {
        size,
        returned: times.returned,
        durable: times.durable,
        settled: times.settled,
        lacking: Some(reason),
        slice: times.settled.max(1),
        slices: if slice.is_empty() { Vec::new() } else { vec![slice] },
        ..DeviceRecord::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_become_one_slice() {
        let before = DeviceCounters { reads: 5, read_sectors: 40, read_time: 3, busy_time: 3, ..Default::default() };
        let after = DeviceCounters {
            reads: 7,
            read_sectors: 56,
            read_time: 5,
            busy_time: 4,
            writes: 1,
            written_sectors: 8,
            queue_time: 9,
            flushes: 2,
            flush_time: 6,
            ..before
        };
        let times = Times { returned: 1, durable: 2, settled: 30_000_000 };
        let record = counted(1 << 20, times, &before, &after, "No queue.".into());
        let totals = record.totals();
        assert_eq!((totals.count, totals.bytes), ([2, 1, 0, 2], [16 * 512, 4096, 0, 0]));
        assert_eq!((totals.wait, totals.queued, totals.busy), ([2_000_000, 0, 0, 6_000_000], 9_000_000, 1_000_000));
        assert_eq!((record.slice, record.map), (30_000_000, None));
        assert_eq!(counted(1, times, &after, &after, String::new()).slices, []);
    }
}
