//! What a task asked of its device: counts over time, sizes of requests, and a map of addresses over time.
//!
//! A record is bounded whatever a task does: at most [`SLICES`] slices and [`ROWS`] rows. Nothing here knows who saw the
//! requests.

mod pack;

use serde::{Deserialize, Serialize};

/// Slices of time at most. All slices of a record are equally long.
pub const SLICES: usize = 120;
/// Rows of a map: the device's addresses in equal parts.
pub const ROWS: usize = 96;
/// Classes of request sizes: class `n` holds those of 2^n to 2^(n+1) - 1 bytes; the last also what is larger.
pub const SIZES: usize = 32;
/// The unit of a map's fields, in bytes.
pub const SECTOR: u64 = 512;

/// What a request asks for. The number is its place in the arrays of [`Slice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DeviceOperation {
    /// Read bytes.
    Read,
    /// Write bytes.
    Write,
    /// Forget bytes: discard, trim.
    Discard,
    /// Bring what was written to the medium; it has no bytes.
    Flush,
}

impl DeviceOperation {
    /// All, in the order of their numbers.
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

/// What happened at the device in a span of time. A request counts where it completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Slice {
    /// Requests that completed, by [`DeviceOperation`].
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
    /// Adds what another slice has.
    pub fn add(&mut self, other: &Slice) {
        // Saturating: slices may come out of a store that somebody else wrote.
        let sum = |one: &mut u64, other: u64| *one = one.saturating_add(other);
        for at in 0..4 {
            sum(&mut self.count[at], other.count[at]);
            sum(&mut self.bytes[at], other.bytes[at]);
            sum(&mut self.wait[at], other.wait[at]);
        }
        sum(&mut self.queued, other.queued);
        sum(&mut self.busy, other.busy);
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        *self == Slice::default()
    }

    /// Requests of one kind.
    pub fn count(&self, operation: DeviceOperation) -> u64 {
        self.count[operation as usize]
    }

    /// Bytes of one kind.
    pub fn bytes(&self, operation: DeviceOperation) -> u64 {
        self.bytes[operation as usize]
    }

    /// Nanoseconds that requests of one kind took together.
    pub fn wait(&self, operation: DeviceOperation) -> u64 {
        self.wait[operation as usize]
    }
}

/// A place of the map where something was read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The slice of time, from 0.
    pub column: u32,
    /// The part of the device, from 0 at its first byte.
    pub row: u32,
    /// Sectors of [`SECTOR`] bytes read.
    pub read: u32,
    /// Sectors written.
    pub written: u32,
}

/// Addresses over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoMap {
    /// Bytes of the device in a row; the last rows may lie beyond its end.
    pub row_bytes: u64,
    /// Fields with anything in them, by column and then by row.
    #[serde(with = "pack::fields")]
    pub fields: Vec<Field>,
}

/// The device under test during one task, from just before its command began until the machine had settled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRecord {
    /// Bytes of the device.
    pub size: u64,
    /// Nanoseconds from the beginning until the command had returned.
    pub returned: u64,
    /// Nanoseconds from the beginning until what it wrote was durable.
    pub durable: u64,
    /// Nanoseconds from the beginning until the last sign of work at the device: the record's end.
    pub settled: u64,
    /// What the record lacks, and why, as a sentence; nothing where every request was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacking: Option<String>,
    /// Nanoseconds in a slice.
    pub slice: u64,
    /// Slices from the beginning; the empty ones at the end are left out.
    #[serde(with = "pack::slices")]
    pub slices: Vec<Slice>,
    /// Requests by size, as [`SIZES`] says, for reads, writes and discards. Empty ones at the end are left out.
    pub sizes: [Vec<u64>; 3],
    /// Where was read and written; nothing where addresses were not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<IoMap>,
}

impl DeviceRecord {
    /// Everything together.
    pub fn totals(&self) -> Slice {
        let mut totals = Slice::default();
        self.slices.iter().for_each(|slice| totals.add(slice));
        totals
    }

    /// Whether not a byte was read, written or discarded; the sync at a task's end may have flushed the disk's cache.
    pub fn moved_nothing(&self) -> bool {
        self.totals().bytes == [0; 4]
    }

    /// Seconds from the record's beginning to its end.
    pub fn seconds(&self) -> f64 {
        self.settled as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> DeviceRecord {
        let slice = Slice {
            count: [1, 2, 0, 3],
            bytes: [4096, 1 << 40, 0, 0],
            wait: [u64::MAX >> 1, 1, 0, 200],
            queued: 12345,
            busy: 999,
        };
        DeviceRecord {
            size: 1 << 30,
            returned: 5_000_000,
            durable: 6_000_000,
            settled: 7_000_000,
            lacking: None,
            slice: 1 << 20,
            slices: vec![slice, Slice::default(), slice],
            sizes: [vec![0, 0, 1], vec![2], Vec::new()],
            map: Some(IoMap {
                row_bytes: 1 << 24,
                fields: vec![
                    Field { column: 0, row: 0, read: 8, written: 0 },
                    Field { column: 0, row: 95, read: 0, written: u32::MAX },
                    Field { column: 119, row: 95, read: 1, written: 2 },
                ],
            }),
        }
    }

    #[test]
    fn a_record_comes_back_as_it_was() {
        let text = serde_json::to_string(&record()).unwrap();
        assert_eq!(serde_json::from_str::<DeviceRecord>(&text).unwrap(), record());
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
