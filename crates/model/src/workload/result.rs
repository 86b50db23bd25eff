//! Results of the engine: one document for a whole workload.

use serde::{Deserialize, Serialize};

use super::{Engine, Operation};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadResult {
    /// In the workload's order; includes setup phases.
    pub phases: Vec<PhaseResult>,
    /// The clock for latencies: `tsc` or `monotonic`. Times are nanoseconds of CLOCK_MONOTONIC with both.
    pub clock: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseResult {
    pub name: String,
    /// Whether it only prepared others: no result.
    pub setup: bool,
    pub engine: Engine,
    /// From the first thread's start to the last one's end, in seconds; includes the syncs at the end, excludes the
    /// warm-up.
    pub seconds: f64,
    /// Processor time of all threads in user space, in seconds, without the warm-up.
    pub user_seconds: f64,
    /// The same in the kernel.
    pub system_seconds: f64,
    /// Operations of all threads together, in the order of [`Operation::ALL`]. Syncs of a policy are included as
    /// [`Operation::Fsync`]; those of whole files also count in their operation's own time.
    pub operations: Vec<OperationResult>,
    /// The same for each thread, if there are several.
    pub threads: Vec<ThreadResult>,
    /// Rate and latency over time, all threads and operations together, without syncs; empty without latencies.
    pub series: Series,
    /// Bytes that matched their tags.
    pub verified_bytes: u64,
    /// The first errors, at most 16, as sentences: which call failed on which file and why, or which byte was wrong.
    pub errors: Vec<String>,
    /// Notes for the reader, as sentences.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationResult {
    pub operation: Operation,
    /// Number of operations without an error.
    pub count: u64,
    /// Bytes moved. A rewrite counts its block once, as Bonnie does.
    pub bytes: u64,
    /// Number of failures, including wrong bytes.
    pub errors: u64,
    /// Base of rates, in seconds: the phase's time, or the thread's.
    pub seconds: f64,
    /// Times of single operations, if recorded.
    pub latency: Option<Latency>,
}

impl OperationResult {
    /// Operations per second; 0 if no time passed.
    pub fn operations_per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.count as f64 / self.seconds } else { 0.0 }
    }

    /// Bytes per second; 0 if no time passed.
    pub fn bytes_per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.bytes as f64 / self.seconds } else { 0.0 }
    }
}

/// One thread or process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadResult {
    pub thread: u32,
    /// From its start to its end, in seconds.
    pub seconds: f64,
    /// Without histograms.
    pub operations: Vec<OperationResult>,
}

/// Latencies in nanoseconds. Quantiles are within 1/64 of the true ones (a log-linear histogram with 64 steps per power
/// of two); min, max and mean are exact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Number of operations.
    pub count: u64,
    pub mean: f64,
    pub min: u64,
    pub p50: u64,
    /// 90 % took at most this.
    pub p90: u64,
    pub p99: u64,
    pub p999: u64,
    pub max: u64,
    /// The histogram: (largest value of a step in ns, operations in it), ascending, without empty steps. Omitted for
    /// single threads.
    pub histogram: Vec<(u64, u64)>,
}

impl Latency {
    /// The latency in nanoseconds that a share `q`, from 0 to 1, of the operations did not exceed, from the histogram;
    /// `max` without one.
    pub fn quantile(&self, q: f64) -> u64 {
        // Saturating: the document may be foreign.
        let total = self.histogram.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        let wanted = ((q * total as f64).ceil() as u64).clamp(1, total.max(1));
        // In a damaged document min may exceed max.
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
    /// Steps from the start of measuring.
    pub points: Vec<SeriesPoint>,
}

/// One step. Operations count when they end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesPoint {
    pub operations: u64,
    pub bytes: u64,
    /// Mean latency in nanoseconds; 0 without operations.
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
        // A forged document.
        let histogram = vec![(10, u64::MAX), (20, u64::MAX)];
        let latency = Latency { max: 20, histogram, ..Latency::default() };
        assert_eq!([0.5, 1.0].map(|q| latency.quantile(q)), [10, 10]);
    }
}
