//! I/O of a task at its device: counts over time, sizes of requests, and a map of addresses over time.
//!
//! The size of a record is bounded for every task: at most [`SLICES`] slices and [`ROWS`] rows. This file does not know
//! who observed the requests.

mod pack;

use serde::{Deserialize, Serialize};

/// Maximum number of time slices. All slices of a record are equally long.
pub const SLICES: usize = 120;
/// Rows of a map: equal parts of the device's addresses.
pub const ROWS: usize = 96;
/// Classes of request sizes: class `n` is 2^n to 2^(n+1) - 1 bytes; the last includes all larger ones.
pub const SIZES: usize = 32;
/// The unit of a map's fields, in bytes.
pub const SECTOR: u64 = 512;

/// The kind of a request. The number is its index in the arrays of [`Slice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DeviceOperation {
    Read,
    Write,
    /// Discard, trim.
    Discard,
    /// Write the cache to the medium; has no bytes.
    Flush,
}

impl DeviceOperation {
    /// All operations, in the order of their numbers.
    pub const ALL: [DeviceOperation; 4] =
        [DeviceOperation::Read, DeviceOperation::Write, DeviceOperation::Discard, DeviceOperation::Flush];

    /// `read`, `write`, `discard`, `flush`.
    pub fn name(self) -> &'static str {
        match self {
            DeviceOperation::Read => "read",
            DeviceOperation::Write => "write",
            DeviceOperation::Discard => "discard",
            DeviceOperation::Flush => "flush",
        }
    }
}

/// Device activity in a span of time. A request counts when it completes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Slice {
    /// Completed requests, by [`DeviceOperation`].
    pub count: [u64; 4],
    /// Their bytes.
    pub bytes: [u64; 4],
    /// The sum of their times from arrival to completion, in nanoseconds.
    pub wait: [u64; 4],
    /// The number of requests at the device, integrated over the span: nanoseconds.
    pub queued: u64,
    /// Nanoseconds with at least one request at the device.
    pub busy: u64,
}

impl Slice {
    pub fn add(&mut self, other: &Slice) {
        // Saturating: slices may come from a foreign store.
        let sum = |one: &mut u64, other: u64| *one = one.saturating_add(other);
        for at in 0..4 {
            sum(&mut self.count[at], other.count[at]);
            sum(&mut self.bytes[at], other.bytes[at]);
            sum(&mut self.wait[at], other.wait[at]);
        }
        sum(&mut self.queued, other.queued);
        sum(&mut self.busy, other.busy);
    }

    pub fn is_empty(&self) -> bool {
        *self == Slice::default()
    }

    pub fn count(&self, operation: DeviceOperation) -> u64 {
        self.count[operation as usize]
    }

    pub fn bytes(&self, operation: DeviceOperation) -> u64 {
        self.bytes[operation as usize]
    }

    /// Total nanoseconds of requests of one kind.
    pub fn wait(&self, operation: DeviceOperation) -> u64 {
        self.wait[operation as usize]
    }
}

/// A field of the map with reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Index of the time slice, from 0.
    pub column: u32,
    /// Index of the part of the device, from 0 at its first byte.
    pub row: u32,
    /// Sectors read, of [`SECTOR`] bytes.
    pub read: u32,
    pub written: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoMap {
    /// Bytes of the device per row; the last rows may be beyond its end.
    pub row_bytes: u64,
    /// Fields with reads or writes, by column and then by row.
    #[serde(with = "pack::fields")]
    pub fields: Vec<Field>,
}

/// The device under test during one task, from just before its command starts until the machine has settled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRecord {
    /// Size of the device in bytes.
    pub size: u64,
    /// Nanoseconds from the start until the command returned.
    pub returned: u64,
    /// Nanoseconds from the start until its writes were durable.
    pub durable: u64,
    /// Nanoseconds from the start until the last activity at the device: the record's end.
    pub settled: u64,
    /// What the record lacks, and why, as a sentence; `None` if every request was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacking: Option<String>,
    /// Nanoseconds per slice.
    pub slice: u64,
    /// Slices from the start; empty ones at the end are omitted.
    #[serde(with = "pack::slices")]
    pub slices: Vec<Slice>,
    /// Requests by size class ([`SIZES`]), for reads, writes and discards. Empty classes at the end are omitted.
    pub sizes: [Vec<u64>; 3],
    /// Writes with FUA; `None` if they were not told from others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fua: Option<u64>,
    /// Reads that begin where the read before ended; `None` if that was not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<u64>,
    /// Addresses read and written; `None` if they were not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<IoMap>,
    /// Records of further disks below the same file system.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<DeviceRecord>,
}

impl DeviceRecord {
    /// The sum of all slices, of all disks; time with requests is the mean of the disks'.
    pub fn totals(&self) -> Slice {
        let mut totals = Slice::default();
        self.disks().flat_map(|disk| &disk.slices).for_each(|slice| totals.add(slice));
        totals.busy /= 1 + self.more.len() as u64;
        totals
    }

    /// The record of each disk.
    pub fn disks(&self) -> impl Iterator<Item = &DeviceRecord> {
        std::iter::once(self).chain(&self.more)
    }

    /// The record of each disk alone, if there are several.
    pub fn members(&self) -> Vec<DeviceRecord> {
        let alone = |disk: &DeviceRecord| DeviceRecord { more: Vec::new(), ..disk.clone() };
        if self.more.is_empty() { Vec::new() } else { self.disks().map(alone).collect() }
    }

    /// Whether nothing was read, written or discarded; the sync at a task's end may have flushed the disk's cache.
    pub fn moved_nothing(&self) -> bool {
        self.totals().bytes == [0; 4]
    }

    /// The dynamic layout score (Smith and Seltzer, "File System Aging", SIGMETRICS 1997, as Conway and others measure it in FAST
    /// 2017): the share of reads that begin where the one before ended. `None` of fewer than two reads.
    pub fn layout_score(&self) -> Option<f64> {
        let pairs = self.totals().count(DeviceOperation::Read).checked_sub(1).filter(|pairs| *pairs > 0)?;
        Some(self.followed? as f64 / pairs as f64)
    }

    /// Length of the record in seconds.
    pub fn seconds(&self) -> f64 {
        self.settled as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in a store of November 2026: slices that differ in all numbers, and fields at both ends of the map.
    fn record() -> DeviceRecord {
        serde_json::from_str(include_str!("../tests/stored-device.json")).unwrap()
    }

    #[test]
    fn a_record_comes_back_as_it_was() {
        let text = serde_json::to_string(&record()).unwrap();
        assert_eq!(serde_json::from_str::<DeviceRecord>(&text).unwrap(), record());
        let slice = Slice {
            count: [1, 2, 0, 3],
            bytes: [4096, 1 << 40, 0, 0],
            wait: [u64::MAX >> 1, 1, 0, 200],
            queued: 12345,
            busy: 999,
        };
        assert_eq!(record().slices, [slice, Slice::default(), slice]);
        let field = |column, row, read, written| Field { column, row, read, written };
        let fields = [field(0, 0, 8, 0), field(0, 95, 0, u32::MAX), field(119, 95, 1, 2)];
        assert_eq!(record().map.unwrap().fields, fields);
        assert_eq!(record().totals().count, [2, 4, 0, 6]);
        let empty = DeviceRecord::default();
        assert_eq!(serde_json::from_str::<DeviceRecord>(&serde_json::to_string(&empty).unwrap()).unwrap(), empty);
    }

    #[test]
    fn totals_of_any_record_have_an_end() {
        let most = Slice { count: [u64::MAX; 4], bytes: [u64::MAX; 4], wait: [u64::MAX; 4], queued: u64::MAX, busy: 1 };
        let totals = DeviceRecord { slices: vec![most, most], ..DeviceRecord::default() }.totals();
        assert_eq!((totals.count, totals.queued, totals.busy), ([u64::MAX; 4], u64::MAX, 2));
    }

    #[test]
    fn damaged_records_are_refused() {
        let good = serde_json::to_value(record()).unwrap();
        for (what, damage) in [("slices", "AQ"), ("slices", "!"), ("slices", "gICAgICAgICAgICAgA")] {
            let mut bad = good.clone();
            bad[what] = damage.into();
            assert!(serde_json::from_value::<DeviceRecord>(bad).is_err(), "{damage}");
        }
        let mut bad = good;
        // A gap of 2^32 - 1 fields is far beyond the last column.
        bad["map"]["fields"] = "/////w8BAQ".into();
        assert!(serde_json::from_value::<DeviceRecord>(bad).is_err());
    }
}
