//! Whether a sample falls into two groups.
//!
//! The sorted values are cut where the gap is widest beside the spread within both parts: the gap over their pooled
//! standard deviation (n - 2 degrees of freedom). Such a quotient is large by chance too: three values have two that lie
//! close to each other, and heavy tails leave one value alone. So the bounds are simulated, for each number of values,
//! and apart for a part of one value: for the worst of normal, uniform, Laplace, exponential, Gumbel and t (3 degrees of
//! freedom) noise, a part of one passes in 4 of 1,000 samples, and larger parts in 4. `tests/groups.rs` prints the
//! bounds, the rates of false groups, and how often a mix of two modes is found.

use super::summary::mean;

/// Below this number of values nothing is a group.
pub const FEWEST: usize = 3;

/// Quotients that chance exceeds in 4 of 1,000 samples of `FEWEST` to 30 values: for a part of one, and for larger ones.
/// Infinite where there is no such part.
const BOUNDS: [[f64; 2]; 28] = [
    [933.2, NONE],
    [70.3, 36.1],
    [33.5, 20.8],
    [23.2, 14.2],
    [19.0, 11.7],
    [16.4, 10.3],
    [15.7, 9.2],
    [15.2, 8.3],
    [NONE, 7.7],
    [NONE, 7.3],
    [NONE, 7.0],
    [NONE, 6.7],
    [NONE, 6.5],
    [NONE, 6.2],
    [NONE, 6.0],
    [NONE, 5.8],
    [NONE, 5.7],
    [NONE, 5.6],
    [NONE, 4.1],
    [NONE, 4.0],
    [NONE, 3.9],
    [NONE, 3.9],
    [NONE, 3.8],
    [NONE, 3.8],
    [NONE, 3.7],
    [NONE, 3.6],
    [NONE, 3.6],
    [NONE, 3.5],
];

const NONE: f64 = f64::INFINITY;

/// The smaller part has at least one of so many values: a value alone among more is an outlier.
const SHARE: usize = 10;

/// Where to cut the sorted `values`: the number of values below the gap. `None` if they are one group.
pub fn cut(values: &[f64]) -> Option<usize> {
    let bounds = BOUNDS[values.len().checked_sub(FEWEST)?.min(BOUNDS.len() - 1)];
    let passed = quotients(values).map(|(at, quotient)| (at, quotient / bounds[part(values.len(), at)]));
    let passed = passed.filter(|(_, over)| *over > 1.0);
    passed.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(at, _)| at)
}

/// The largest quotient with a part of one value, and with larger parts; 0 where there is none.
pub fn largest(values: &[f64]) -> [f64; 2] {
    let mut out = [0.0_f64; 2];
    for (at, quotient) in quotients(values) {
        let most = &mut out[part(values.len(), at)];
        *most = most.max(quotient);
    }
    out
}

/// 0 if a cut after `at` of `n` values leaves a part of one, else 1.
fn part(n: usize, at: usize) -> usize {
    usize::from(at.min(n - at) > 1)
}

/// By number of values below it, each gap over the standard deviation within both parts; infinite if that is 0.
fn quotients(sorted: &[f64]) -> impl Iterator<Item = (usize, f64)> + '_ {
    let n = sorted.len();
    let least = n.div_ceil(SHARE);
    (least..=n.saturating_sub(least)).filter_map(move |at| {
        let gap = sorted[at] - sorted[at - 1];
        let within = squares(&sorted[..at]) + squares(&sorted[at..]);
        (gap > 0.0).then(|| (at, gap / libm::sqrt(within / (n - 2) as f64)))
    })
}

/// The sum of squared distances from the mean.
fn squares(values: &[f64]) -> f64 {
    let center = mean(values).unwrap_or_default();
    values.iter().map(|value| (value - center) * (value - center)).sum()
}
