//! Distribution-free confidence intervals of a median.

use serde::Serialize;

use crate::distribution::ln_binomial_half;

/// From `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// Minimum number of values for [`median_interval`] at 95 %: the range of five covers the median with 93.75 %, that of
/// four with 87.5 %.
pub const FEWEST: usize = 5;

/// Confidence interval of the median by interpolated order statistics: Hettmansperger and Sheather, "Confidence
/// intervals based on interpolated order statistics", Statistics & Probability Letters 4 (1986).
///
/// `None` below [`FEWEST`] values. If even the range does not reach `level` (five values at 95 %), returns the range.
pub fn median_interval(values: &[f64], level: f64) -> Option<Interval> {
    let n = values.len();
    if n < FEWEST || !(0.0..1.0).contains(&level) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    // The interval from the d-th to the (n + 1 - d)-th covers with 1 - 2 P(B < d), B binomial of n and 1/2.
    let half = libm::exp(ln_binomial_half(n, 0));
    let (mut d, mut outer, mut below) = (1, 1.0 - 2.0 * half, half);
    while d < n.div_ceil(2) {
        below += libm::exp(ln_binomial_half(n, d));
        let inner = 1.0 - 2.0 * below;
        if inner < level {
            if outer <= level {
                break;
            }
            // Between two steps, by their formula, which is exact for the double exponential distribution.
            let part = (outer - level) / (outer - inner);
            let weight = (n - d) as f64 * part / (d as f64 + (n as f64 - 2.0 * d as f64) * part);
            let between = |from: f64, to: f64| from + weight * (to - from);
            return Some(Interval {
                low: between(sorted[d - 1], sorted[d]),
                high: between(sorted[n - d], sorted[n - d - 1]),
            });
        }
        (d, outer) = (d + 1, inner);
    }
    Some(Interval { low: sorted[d - 1], high: sorted[n - d] })
}
