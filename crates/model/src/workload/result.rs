//! What the engine found: one document for a whole workload.

use serde::{Deserialize, Serialize};

use super::{Engine, Operation};

/// The phases of a workload, as they went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadResult {
    /// In the order of the workload; setup phases too.
    pub phases: Vec<PhaseResult>,
    /// Which clock was read for latencies: `tsc` or `monotonic`. Times are nanoseconds of CLOCK_MONOTONIC with both.
    pub clock: String,
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseResult {
    /// The phase's name.
    pub name: String,
    /// Whether it only prepared others: no result.
    pub setup: bool,
    /// How data was read and written.
    pub engine: Engine,
    /// From the first thread's start to the last one's end, in seconds, the syncs at the end included and the warm-up
    /// left out.
    pub seconds: f64,
    /// Processor time of all threads in user space and in the kernel, in seconds, the warm-up left out.
    pub user_seconds: f64,
    /// See `user_seconds`.
    pub system_seconds: f64,
    /// What was done, all threads together, in the order of [`Operation::ALL`]. The syncs that a policy asked for are
    /// here as [`Operation::Fsync`]; those of whole files are part of their operation's own time, too.
    pub operations: Vec<OperationResult>,
    /// The same for each thread, where there is more than one.
    pub threads: Vec<ThreadResult>,
    /// Rate and latency over time, all threads and operations together, syncs left out; empty without latencies.
    pub series: Series,
    /// Bytes that were checked against their tags and were right.
    pub verified_bytes: u64,
    /// The first errors, at most 16, as sentences: which call failed on which file and why, or which byte was wrong.
    pub errors: Vec<String>,
    /// What a reader should know, as sentences.
    pub notes: Vec<String>,
}

/// One kind of operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationResult {
    /// What.
    pub operation: Operation,
    /// How often it was done without an error.
    pub count: u64,
    /// Bytes that it moved. A rewrite counts its block once, as Bonnie does.
    pub bytes: u64,
    /// How often it failed, wrong bytes included.
    pub errors: u64,
    /// Seconds that a rate of this operation stands over: the phase's seconds, or the thread's.
    pub seconds: f64,
    /// Times of single operations, where they were kept.
    pub latency: Option<Latency>,
}

impl OperationResult {
    /// Operations a second; 0 where no time passed.
    pub fn operations_per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.count as f64 / self.seconds } else { 0.0 }
    }

    /// Bytes a second; 0 where no time passed.
    pub fn bytes_per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.bytes as f64 / self.seconds } else { 0.0 }
    }
}

/// One thread or process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadResult {
    /// From 0.
    pub thread: u32,
    /// From its start to its end, in seconds.
    pub seconds: f64,
    /// What it did, without histograms.
    pub operations: Vec<OperationResult>,
}

/// How long operations took, in nanoseconds. Quantiles are within 1/64 of the true ones (a log-linear histogram with 64
/// steps to each power of two); min, max and mean are exact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Operations in it.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Smallest.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 90 of 100 took at most this.
    pub p90: u64,
    /// 99 of 100.
    pub p99: u64,
    /// 999 of 1000.
    pub p999: u64,
    /// Largest.
    pub max: u64,
    /// The histogram: (largest value of a step in ns, operations in it), ascending, empty steps left out. Left out
    /// itself for single threads.
    pub histogram: Vec<(u64, u64)>,
}

impl Latency {
    /// The time in nanoseconds that a share `q`, from 0 to 1, of the operations did not exceed, by the histogram; the
    /// largest time without one.
    pub fn quantile(&self, q: f64) -> u64 {
        // Saturating, as the document may be somebody else's.
        let total = self.histogram.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        let wanted = ((q * total as f64).ceil() as u64).clamp(1, total.max(1));
        // A damaged document may have them the wrong way round.
        value_at(self.histogram.iter().copied(), wanted).map_or(self.max, |value| value.max(self.min).min(self.max))
    }
}

/// The value at a rank, from 1, of a histogram: (largest value of a step, operations in it), ascending.
pub fn value_at(histogram: impl IntoIterator<Item = (u64, u64)>, rank: u64) -> Option<u64> {
    let mut seen = 0_u64;
    let step = histogram.into_iter().find(|(_, count)| {
        seen = seen.saturating_add(*count);
        seen >= rank
    });
    step.map(|(value, _)| value)
}

/// Rate and latency over the phase's time, in at most 256 steps of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Length of a step in seconds.
    pub step: f64,
    /// Steps from the start of measuring on.
    pub points: Vec<SeriesPoint>,
}

/// One step. Operations count where they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesPoint {
    /// Operations.
    pub operations: u64,
    /// Bytes.
    pub bytes: u64,
    /// Mean latency in nanoseconds; 0 where there were no operations.
    pub mean: f64,
    /// Largest latency in nanoseconds.
    pub max: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_come_from_the_histogram() {
        let histogram = vec![(10, 90), (20, 9), (1000, 1)];
        let latency = Latency { count: 100, min: 9, max: 990, histogram, ..Latency::default() };
        assert_eq!(
            [0.0, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0].map(|q| latency.quantile(q)),
            [10, 10, 10, 20, 20, 990, 990]
        );
        assert_eq!(Latency::default().quantile(0.5), 0);
        // A document that nobody measured.
        let histogram = vec![(10, u64::MAX), (20, u64::MAX)];
        let latency = Latency { max: 20, histogram, ..Latency::default() };
        assert_eq!([0.5, 1.0].map(|q| latency.quantile(q)), [10, 10]);
    }
}
