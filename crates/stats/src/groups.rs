//! Whether a sample falls into two groups, or into three.
//!
//! The sorted values are cut where the gap is widest beside the spread within both parts: the gap over their pooled
//! standard deviation (n - 2 degrees of freedom). Such a quotient is large by chance too: three values have two that lie
//! close to each other, and heavy tails leave one value alone. So the bounds are simulated, for each number of values,
//! and apart for a part of one value: for the worst of normal, uniform, Laplace, exponential, Gumbel and t (3 degrees of
//! freedom) noise, a part of one passes in 4 of 1,000 samples, and larger parts in 4. `tests/groups.rs` prints the
//! bounds, the rates of false groups, and how often a mix of modes is found.
//!
//! Three groups far apart have no such cut, since one part of any cut is wide. So three are sought apart, by the smaller
//! of two gaps over the pooled standard deviation within three parts (n - 3 degrees of freedom), with bounds that are
//! simulated likewise. Noise would pass these in up to 8 of 1,000 samples more, so they are only for samples that are known
//! to depend on conditions.

use crate::summary::mean;

/// Below this number of values nothing is a group.
pub const FEWEST: usize = 3;

/// Quotients that chance exceeds in 4 of 1,000 samples of `FEWEST` to 30 values: for a part of one, and for larger ones.
/// Infinite where there is no such part, as behind the end of the first row.
const BOUNDS: [&[f64]; 2] = [
    &[933.2, 70.3, 33.5, 23.2, 19.0, 16.4, 15.7, 15.2],
    &[
        NONE, 36.1, 20.8, 14.2, 11.7, 10.3, 9.2, 8.3, 7.7, 7.3, 7.0, 6.7, 6.5, 6.2, 6.0, 5.8, 5.7, 5.6, 4.1, 4.0, 3.9,
        3.9, 3.8, 3.8, 3.7, 3.6, 3.6, 3.5,
    ],
];

const NONE: f64 = f64::INFINITY;

/// The smaller part has at least one of so many values: a value alone among more is an outlier.
const SHARE: usize = 10;

/// Where to cut the sorted `values`: the number of values below the gap. `None` if they are one group.
pub fn cut(values: &[f64]) -> Option<usize> {
    let row = values.len().checked_sub(FEWEST)?;
    let bound = |at: usize| bound(&BOUNDS, part(values.len(), at), row);
    let passed = quotients(values, &bound).map(|(at, quotient)| (at, quotient / bound(at)));
    let passed = passed.filter(|(_, over)| *over > 1.0);
    passed.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(at, _)| at)
}

/// The largest quotient with a part of one value, and with larger parts; 0 where there is none.
pub fn largest(values: &[f64]) -> [f64; 2] {
    let mut out = [0.0_f64; 2];
    for (at, quotient) in quotients(values, &|_| 0.0) {
        let most = &mut out[part(values.len(), at)];
        *most = most.max(quotient);
    }
    out
}

/// The bound of a part in this row; samples of more values than the last row have that one's.
fn bound(bounds: &[&[f64]; 2], part: usize, row: usize) -> f64 {
    let row = row.min(bounds[1].len() - 1);
    bounds[part].get(row).copied().unwrap_or(NONE)
}

/// 0 if a cut after `at` of `n` values leaves a part of one, else 1.
fn part(n: usize, at: usize) -> usize {
    usize::from(at.min(n - at) > 1)
}

/// By number of values below it, each gap over the standard deviation within both parts, infinite if that is 0; but for those that
/// are certainly below `bound`.
fn quotients<'a>(sorted: &'a [f64], bound: &'a dyn Fn(usize) -> f64) -> impl Iterator<Item = (usize, f64)> + 'a {
    let n = sorted.len();
    let least = n.div_ceil(SHARE);
    // The same but for rounding, of all cuts at once: of thousands of values few are looked at closely.
    let below = squares_from(sorted.iter());
    let above = squares_from(sorted.iter().rev());
    let deviation = move |within: f64| libm::sqrt(within / (n - 2) as f64);
    let cuts = (least..=n.saturating_sub(least)).map(|at| (at, sorted[at] - sorted[at - 1]));
    let near = move |(at, gap): &(usize, f64)| *gap >= 0.999 * bound(*at) * deviation(below[*at] + above[n - at]);
    cuts.filter(|(_, gap)| *gap > 0.0)
        .filter(near)
        .map(move |(at, gap)| (at, gap / deviation(squares(&sorted[..at]) + squares(&sorted[at..]))))
}

/// Below this number of values there are no three groups.
pub const FEWEST_OF_THREE: usize = 5;

/// As [`BOUNDS`], for three groups of [`FEWEST_OF_THREE`] to 30 values: with a group of one, and with larger ones only.
const BOUNDS_OF_THREE: [&[f64]; 2] = [
    &[33.9, 17.0, 11.9, 9.5, 7.9, 6.9],
    &[
        NONE, 9.3, 8.5, 7.3, 6.4, 5.6, 5.1, 4.6, 4.3, 4.0, 3.8, 3.6, 3.5, 3.3, 3.3, 3.1, 2.5, 2.5, 2.3, 2.3, 2.3, 2.2,
        2.2, 2.1, 2.1, 2.0,
    ],
];

/// Where to cut the sorted `values` into three groups. `None` if they are not three.
pub fn cuts(values: &[f64]) -> Option<[usize; 2]> {
    let row = values.len().checked_sub(FEWEST_OF_THREE)?;
    let over = |found: &Three| found.quotient / bound(&BOUNDS_OF_THREE, found.part, row);
    let passed = quotients_of_three(values).map(|found| (found.at, over(&found)));
    let passed = passed.filter(|(_, over)| *over > 1.0);
    passed.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(at, _)| at)
}

/// As [`largest`], for three groups.
pub fn largest_of_three(values: &[f64]) -> [f64; 2] {
    let mut out = [0.0_f64; 2];
    for found in quotients_of_three(values) {
        out[found.part] = out[found.part].max(found.quotient);
    }
    out
}

struct Three {
    at: [usize; 2],
    /// 0 if there is a group of one, else 1.
    part: usize,
    quotient: f64,
}

/// The smaller of two gaps over the standard deviation within the three parts, of all pairs of gaps; infinite if that is
/// 0.
fn quotients_of_three(sorted: &[f64]) -> impl Iterator<Item = Three> + '_ {
    let n = sorted.len();
    let least = n.div_ceil(SHARE);
    let gap = |at: usize| sorted[at] - sorted[at - 1];
    let below = squares_from(sorted.iter());
    let above = squares_from(sorted.iter().rev());
    (least..n).flat_map(move |first| {
        let between = squares_from(sorted[first..].iter());
        let three = |second: usize| {
            let sizes = [first, second - first, n - second];
            let ones = sizes.iter().filter(|size| **size == 1).count();
            let gap = gap(first).min(gap(second));
            let within = below[first] + between[second - first] + above[n - second];
            let quotient = gap / libm::sqrt(within / (n - 3) as f64);
            (ones < 2 && gap > 0.0).then(|| Three { at: [first, second], part: 1 - ones, quotient })
        };
        (first + least..=n.saturating_sub(least)).filter_map(three).collect::<Vec<_>>()
    })
}

/// By number of values from the first one on, the sum of their squared distances from their mean (Welford).
fn squares_from<'a>(values: impl Iterator<Item = &'a f64>) -> Vec<f64> {
    let (mut mean, mut sum) = (0.0, 0.0);
    let mut out = vec![0.0];
    for (count, value) in (1_u32..).zip(values) {
        let from = value - mean;
        mean += from / f64::from(count);
        sum += from * (value - mean);
        out.push(sum);
    }
    out
}

/// The sum of squared distances from the mean.
fn squares(values: &[f64]) -> f64 {
    let center = mean(values).unwrap_or_default();
    values.iter().map(|value| (value - center) * (value - center)).sum()
}
