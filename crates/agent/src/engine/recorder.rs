//! A thread's counts while it works, and what it returns at the end.

use mountmark_model::workload::Operation;
use serde::{Deserialize, Serialize};

use super::histogram::{Histogram, Sparse};
use super::series::Timeline;

/// A thread gives up after so many failed operations.
const MOST_ERRORS: u64 = 1000;

pub(super) struct Tally {
    operation: Operation,
    count: u64,
    bytes: u64,
    errors: u64,
    histogram: Histogram,
}

impl Tally {
    pub(super) fn new(operation: Operation) -> Tally {
        Tally { operation, count: 0, bytes: 0, errors: 0, histogram: Histogram::new() }
    }

    pub(super) fn clear(&mut self) {
        (self.count, self.bytes, self.errors) = (0, 0, 0);
        self.histogram.clear();
    }

    /// Counts a sync of the policy; a negative `answer` is a failure.
    pub(super) fn sync(&mut self, answer: i64, latency: Option<u64>) {
        if answer < 0 {
            self.errors += 1;
            return;
        }
        self.count += 1;
        if let Some(latency) = latency {
            self.histogram.record(latency);
        }
    }
}

pub(super) struct Recorder {
    tallies: Vec<Tally>,
    /// Whether the mix has one kind of operation: the series then holds its sums, which are not kept twice while time
    /// is taken.
    alone: bool,
    series: Timeline,
    errors: u64,
}

/// A thread's results; worker processes send them as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Found {
    pub(super) thread: u32,
    /// CLOCK_MONOTONIC in nanoseconds, comparable between processes.
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) user: f64,
    pub(super) system: f64,
    pub(super) kinds: Vec<Kind>,
    pub(super) series: Timeline,
    pub(super) verified: u64,
    pub(super) sentences: Vec<String>,
    pub(super) notes: Vec<String>,
    pub(super) clock: String,
}

/// Counts of one kind of operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Kind {
    pub(super) operation: Operation,
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) errors: u64,
    pub(super) histogram: Sparse,
}

impl Recorder {
    pub(super) fn new(operations: impl Iterator<Item = Operation>) -> Recorder {
        let tallies: Vec<Tally> = operations.map(Tally::new).collect();
        Recorder { alone: tallies.len() == 1, tallies, series: Timeline::new(), errors: 0 }
    }

    /// Resets the counts, but not the number of errors.
    pub(super) fn clear(&mut self) {
        self.tallies.iter_mut().for_each(Tally::clear);
        self.series.clear();
    }

    /// Counts an operation that took `latency` and ended `at` nanoseconds after the start.
    #[inline(always)]
    pub(super) fn record(&mut self, kind: usize, bytes: u64, latency: u64, at: u64) {
        if let Some(tally) = self.tallies.get_mut(kind) {
            if self.alone {
                tally.histogram.record_but_sum(latency);
            } else {
                tally.count += 1;
                tally.bytes += bytes;
                tally.histogram.record(latency);
            }
        }
        self.series.record(at, latency, bytes);
    }

    /// Counts an operation that was not timed.
    #[inline(always)]
    pub(super) fn count(&mut self, kind: usize, bytes: u64) {
        if let Some(tally) = self.tallies.get_mut(kind) {
            tally.count += 1;
            tally.bytes += bytes;
        }
    }

    /// Counts a failed operation; true if the thread should give up.
    #[cold]
    pub(super) fn fail(&mut self, kind: usize) -> bool {
        if let Some(tally) = self.tallies.get_mut(kind) {
            tally.errors += 1;
        }
        self.errors += 1;
        self.errors >= MOST_ERRORS
    }

    pub(super) fn gave_up(&self) -> bool {
        self.errors >= MOST_ERRORS
    }

    /// The counts, those of the policy's syncs, and the series.
    pub(super) fn into_parts(mut self, syncs: Tally) -> (Vec<Kind>, Timeline) {
        let (operations, bytes, nanoseconds) = self.series.finish();
        if self.alone
            && let Some(tally) = self.tallies.first_mut()
        {
            tally.count += operations;
            tally.bytes += bytes;
            tally.histogram.add_sum(nanoseconds);
        }
        let syncs = Some(syncs).filter(|syncs| syncs.count + syncs.errors > 0);
        let kinds = self.tallies.into_iter().chain(syncs).map(|tally| Kind {
            operation: tally.operation,
            count: tally.count,
            bytes: tally.bytes,
            errors: tally.errors,
            histogram: tally.histogram.to_sparse(),
        });
        (kinds.collect(), self.series)
    }
}
