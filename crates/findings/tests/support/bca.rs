//! The bootstrap interval, for comparison: scores do not use it.

use mountmark_stats::distribution::{normal_cdf, normal_quantile};
use mountmark_stats::interval::Interval;
use mountmark_stats::summary::mean;

/// Bias-corrected and accelerated interval: Efron, "Better bootstrap confidence intervals", JASA 82 (1987).
///
/// `estimate` is the statistic of the sample, `resampled` of its resamples, `left_out` of the sample with each value
/// omitted in turn. `None` if any is not finite, or there is none. A single point if nothing varies.
pub fn bca(estimate: f64, resampled: &[f64], left_out: &[f64], level: f64) -> Option<Interval> {
    let finite = |values: &[f64]| !values.is_empty() && values.iter().all(|value| value.is_finite());
    if !estimate.is_finite() || !finite(resampled) || !finite(left_out) {
        return None;
    }
    let mut sorted = resampled.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len() as f64;
    // Half of the equal values count as below: statistics such as medians take few values.
    let below = sorted.iter().filter(|value| **value < estimate).count() as f64;
    let equal = sorted.iter().filter(|value| **value == estimate).count() as f64;
    let share = ((below + equal / 2.0) / count).clamp(0.5 / count, 1.0 - 0.5 / count);
    let bias = normal_quantile(share);

    let center = mean(left_out)?;
    let squares: f64 = left_out.iter().map(|value| (center - value) * (center - value)).sum();
    let cubes: f64 = left_out.iter().map(|value| (center - value) * (center - value) * (center - value)).sum();
    let acceleration = if squares > 0.0 { cubes / (6.0 * squares * squares.sqrt()) } else { 0.0 };
    let place = |p: f64| {
        let z = bias + normal_quantile(p);
        normal_cdf(bias + z / (1.0 - acceleration * z))
    };
    let tail = (1.0 - level) / 2.0;
    let (low, high) = (place(tail), place(1.0 - tail));
    Some(Interval { low: quantile(&sorted, low), high: quantile(&sorted, high) })
        .filter(|interval| interval.low <= interval.high)
}

fn quantile(sorted: &[f64], p: f64) -> f64 {
    let last = sorted.len() - 1;
    let place = p.clamp(0.0, 1.0) * last as f64;
    let below = (place.floor() as usize).min(last);
    sorted[below] + (place - below as f64) * (sorted[(below + 1).min(last)] - sorted[below])
}
