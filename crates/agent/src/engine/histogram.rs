//! Latencies in a log-linear table: 64 steps per power of two, so that a quantile is at most 1/64 too large.
//!
//! The layout is that of HdrHistogram (Gil Tene) with 6 bits. Recording is an index and an addition, without
//! allocation.

use mountmark_model::workload::{Latency, value_at};
use serde::{Deserialize, Serialize};

/// log2 of the steps per power of two.
const BITS: u32 = 6;
const STEPS: usize = 1 << BITS;
/// Nanoseconds (78 hours); longer times count as this.
const LONGEST: u64 = (1 << 48) - 1;
const LENGTH: usize = (48 - BITS as usize + 1) * STEPS;

/// Counts by latency, in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    counts: Box<[u64; LENGTH]>,
    sum: u64,
    min: u64,
    max: u64,
}

/// The non-empty steps of a histogram, as sent by a worker process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sparse {
    counts: Vec<(u32, u64)>,
    sum: u64,
    min: u64,
    max: u64,
}

#[inline(always)]
fn step_of(value: u64) -> usize {
    if value < STEPS as u64 {
        return value as usize;
    }
    // A double has this form: exponent, then the steps within it. Below 2^53 it is exact, and on processors of 2008 the
    // conversion is faster than counting leading zeros.
    let (exponent_of_one, fraction) = (1023, 52);
    ((value as f64).to_bits() >> (fraction - BITS)) as usize - ((exponent_of_one + BITS as usize - 1) << BITS)
}

/// The largest value of a step.
fn largest_in(step: usize) -> u64 {
    if step < STEPS {
        return step as u64;
    }
    let shift = (step >> BITS) - 1;
    let first = ((step & (STEPS - 1)) + STEPS) as u64;
    ((first + 1) << shift) - 1
}

impl Histogram {
    pub(super) fn new() -> Histogram {
        // Built on the heap: the table is too large for a guest's stack.
        let counts = vec![0; LENGTH].into_boxed_slice().try_into().unwrap_or_else(|_| Box::new([0; LENGTH]));
        Histogram { counts, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Counts one operation of `nanoseconds`.
    #[inline(always)]
    pub(super) fn record(&mut self, nanoseconds: u64) {
        self.record_but_sum(nanoseconds);
        self.sum += nanoseconds;
    }

    /// Like [`Histogram::record`], but the caller keeps the sum and passes it to [`Histogram::add_sum`].
    #[inline(always)]
    pub(super) fn record_but_sum(&mut self, nanoseconds: u64) {
        let value = nanoseconds.min(LONGEST);
        self.counts[step_of(value)] += 1;
        // A branch, not min(): a new minimum is rare, and the processor does not wait for the result.
        if value < self.min {
            self.min = value;
        }
        if value > self.max {
            self.max = value;
        }
    }

    /// Adds nanoseconds of operations that were counted without their sum.
    pub(super) fn add_sum(&mut self, nanoseconds: u64) {
        self.sum += nanoseconds;
    }

    pub(super) fn clear(&mut self) {
        self.counts.fill(0);
        (self.sum, self.min, self.max) = (0, u64::MAX, 0);
    }

    pub(super) fn to_sparse(&self) -> Sparse {
        let counts = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let counts = counts.map(|(step, count)| (step as u32, *count)).collect();
        Sparse { counts, sum: self.sum, min: self.min, max: self.max }
    }

    /// Adds another thread's counts.
    pub(super) fn add(&mut self, other: &Sparse) {
        for (step, count) in &other.counts {
            if let Some(own) = self.counts.get_mut(*step as usize) {
                *own += count;
            }
        }
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// The figures of a result; `None` if nothing was counted.
    pub(super) fn summary(&self, with_histogram: bool) -> Option<Latency> {
        let count: u64 = self.counts.iter().sum();
        if count == 0 {
            return None;
        }
        let steps = || {
            let counts = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
            counts.map(|(step, count)| (largest_in(step), *count))
        };
        // The smallest value not exceeded by at least this share of the operations.
        let quantile = |per_mille: u64| {
            let rank = (u128::from(count) * u128::from(per_mille)).div_ceil(1000).max(1) as u64;
            value_at(steps(), rank).unwrap_or(self.max).clamp(self.min, self.max)
        };
        let histogram = match with_histogram {
            true => steps().collect(),
            false => Vec::new(),
        };
        Some(Latency {
            count,
            mean: self.sum as f64 / count as f64,
            min: self.min,
            p50: quantile(500),
            p90: quantile(900),
            p99: quantile(990),
            p999: quantile(999),
            max: self.max,
            histogram,
        })
    }
}

#[cfg(test)]
mod tests {
    use mountmark_random::Stream;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn steps_follow_each_other_without_a_gap() {
        let mut step = 0;
        for value in 0..1_000_000u64 {
            let next = step_of(value);
            assert!(next == step || next == step + 1, "{value}");
            step = next;
            assert!(value <= largest_in(step));
            assert!(largest_in(step) - value <= value / 64, "{value}");
        }
        assert_eq!(step_of(LONGEST), LENGTH - 1);
        assert_eq!(largest_in(LENGTH - 1), LONGEST);
    }

    /// The definition: the smallest sample not exceeded by at least that share.
    fn true_quantile(sorted: &[u64], per_mille: usize) -> u64 {
        sorted[(sorted.len() * per_mille).div_ceil(1000).max(1) - 1]
    }

    fn assert_agrees(mut samples: Vec<u64>) {
        let mut histogram = Histogram::new();
        samples.iter().for_each(|sample| histogram.record(*sample));
        samples.sort_unstable();
        let found = histogram.summary(true).unwrap();
        for (got, per_mille) in [(found.p50, 500), (found.p90, 900), (found.p99, 990), (found.p999, 999)] {
            let truth = true_quantile(&samples, per_mille);
            assert!(got >= truth && got - truth <= truth / 64, "{per_mille}: {got} against {truth}");
        }
        assert_eq!((found.min, found.max), (samples[0], samples[samples.len() - 1]));
        assert_eq!(found.count, samples.len() as u64);
        assert_eq!(found.histogram.iter().map(|(_, count)| count).sum::<u64>(), found.count);
        let sum: u128 = samples.iter().map(|sample| u128::from(*sample)).sum();
        assert!((found.mean / (sum as f64 / samples.len() as f64) - 1.0).abs() < 1e-12 || sum == 0);
    }

    #[test]
    fn quantiles_agree_with_sorted_samples() {
        let mut stream = Stream::new(1, "latencies");
        assert_agrees((0..100_000).map(|_| stream.lognormal(7.0, 1.5) as u64).collect());
        assert_agrees(vec![5]);
        assert!(Histogram::new().summary(true).is_none());
    }

    proptest! {
        #[test]
        fn quantiles_agree_with_any_samples(samples in prop::collection::vec(0u64..1 << 40, 1..400)) {
            assert_agrees(samples);
        }

        #[test]
        fn parts_add_up(one in prop::collection::vec(0u64..1 << 40, 0..200), other in prop::collection::vec(0u64..1 << 40, 1..200)) {
            let of = |samples: &[u64]| {
                let mut histogram = Histogram::new();
                samples.iter().for_each(|sample| histogram.record(*sample));
                histogram
            };
            let mut sum = Histogram::new();
            sum.add(&of(&one).to_sparse());
            sum.add(&of(&other).to_sparse());
            prop_assert_eq!(sum.summary(true), of(&[one, other].concat()).summary(true));
        }
    }
}
