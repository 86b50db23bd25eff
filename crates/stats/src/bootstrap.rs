//! Resampling with a seed.

use crate::interval::Interval;
use crate::random::Random;

/// Draws `count` indices from 0 to `count` - 1 with replacement, and writes them over `out`.
pub fn draw(random: &mut Random, count: usize, out: &mut Vec<usize>) {
    out.clear();
    out.extend((0..count).map(|_| random.below(count)));
}

/// The interval that holds the middle `level` of the sorted `values`; positions are interpolated (type 7 of Hyndman and
/// Fan, "Sample quantiles in statistical packages", 1996). `None` if empty.
pub fn percentile(sorted: &[f64], level: f64) -> Option<Interval> {
    let tail = (1.0 - level) / 2.0;
    Some(Interval { low: quantile(sorted, tail)?, high: quantile(sorted, 1.0 - tail)? })
}

fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = p.clamp(0.0, 1.0) * last as f64;
    let below = (place.floor() as usize).min(last);
    let above = (below + 1).min(last);
    Some(sorted[below] + (place - below as f64) * (sorted[above] - sorted[below]))
}
