//! Agreement of two orders: Kendall's tau-b, exact for few items.

use libm::exp;
use mountmark_stats::interval::Interval;
use serde::Serialize;

/// Minimum number of items to compare: two have only two orders.
const FEWEST: usize = 3;

/// Minimum number of items for an interval: with fewer it would always reach from about -1 to 1.
const FEWEST_FOR_INTERVAL: usize = 4;

/// Maximum number of items whose permutations are enumerated: 8! is 40,320.
const MOST_COUNTED: usize = 8;

/// Agreement of two orders of the same items.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Number of items with both figures.
    pub items: usize,
    /// Kendall's tau-b: 1 the same order, 0 no correlation, -1 the reverse order. `None` below three items, or if all
    /// are equal on one side.
    pub tau: Option<f64>,
    /// 95 % interval of tau under Mallows' model; `None` below four items.
    pub interval: Option<Interval>,
    /// Probability of a tau at least as far from 0 if the two orders are independent.
    pub p: Option<f64>,
    /// Pairs in the same order.
    pub same: usize,
    /// Pairs in reversed order.
    pub reversed: usize,
    /// Pairs that are equal on one side or both.
    pub tied: usize,
    /// Why tau or the interval is missing.
    #[serde(skip)]
    pub remark: Option<Limit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Too few items for a tau.
    FewItems {
        items: usize,
        /// Number of items needed.
        fewest: usize,
    },
    /// No tau: all figures of a side are equal.
    AllEqual,
    /// Too few items for an interval.
    FewForInterval {
        items: usize,
        /// Number of items needed.
        fewest: usize,
    },
}

impl Agreement {
    /// From pairs (published, measured). Which direction is better does not matter: it would reverse both sides.
    pub fn of(pairs: &[(f64, f64)]) -> Agreement {
        let items = pairs.len();
        let (same, reversed, tied) = count(pairs);
        let mut agreement = Agreement { items, tau: None, interval: None, p: None, same, reversed, tied, remark: None };
        if items < FEWEST {
            agreement.remark = Some(Limit::FewItems { items, fewest: FEWEST });
            return agreement;
        }
        agreement.tau = kendall_tau_b(pairs);
        if agreement.tau.is_none() {
            agreement.remark = Some(Limit::AllEqual);
            return agreement;
        }
        agreement.p = Some(if items <= MOST_COUNTED { exact_p(pairs) } else { normal_p(pairs) });
        if items < FEWEST_FOR_INTERVAL {
            agreement.remark = Some(Limit::FewForInterval { items, fewest: FEWEST_FOR_INTERVAL });
        } else {
            agreement.interval = Some(mallows_interval(items, reversed, tied));
        }
        agreement
    }
}

/// Pairs in the same order, in reversed order, and equal on one side or both.
fn count(pairs: &[(f64, f64)]) -> (usize, usize, usize) {
    let (mut same, mut reversed, mut tied) = (0, 0, 0);
    for (index, left) in pairs.iter().enumerate() {
        for right in &pairs[index + 1..] {
            match (left.0.total_cmp(&right.0), left.1.total_cmp(&right.1)) {
                (first, second) if first.is_eq() || second.is_eq() => tied += 1,
                (first, second) if first == second => same += 1,
                _ => reversed += 1,
            }
        }
    }
    (same, reversed, tied)
}

/// Kendall's tau-b (Kendall, "The treatment of ties in ranking problems", Biometrika 33, 1945): pairs in the same order
/// minus pairs in reversed order, over the geometric mean of the numbers of pairs not tied on each side. `None` if one
/// side ties all, or a figure is NaN.
pub fn kendall_tau_b(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.iter().any(|(first, second)| first.is_nan() || second.is_nan()) {
        return None;
    }
    let (mut score, mut first, mut second) = (0i64, 0i64, 0i64);
    for (index, left) in pairs.iter().enumerate() {
        for right in &pairs[index + 1..] {
            let (a, b) = (left.0.total_cmp(&right.0) as i64, left.1.total_cmp(&right.1) as i64);
            score += a * b;
            first += a.abs();
            second += b.abs();
        }
    }
    let scale = ((first * second) as f64).sqrt();
    (scale > 0.0).then(|| score as f64 / scale)
}

/// Share of all permutations of the second side whose tau-b is at least as far from 0: the exact test, including ties.
fn exact_p(pairs: &[(f64, f64)]) -> f64 {
    let first: Vec<f64> = pairs.iter().map(|pair| pair.0).collect();
    let mut second: Vec<f64> = pairs.iter().map(|pair| pair.1).collect();
    let observed = score(&first, &second).abs();
    let (mut as_far, mut all) = (0u32, 0u32);
    // Heap's algorithm generates each permutation once.
    let mut counters = vec![0; second.len()];
    let mut visit = |second: &[f64]| {
        all += 1;
        as_far += u32::from(score(&first, second).abs() >= observed);
    };
    visit(&second);
    let mut at = 0;
    while at < second.len() {
        if counters[at] < at {
            second.swap(if at % 2 == 0 { 0 } else { counters[at] }, at);
            visit(&second);
            counters[at] += 1;
            at = 0;
        } else {
            counters[at] = 0;
            at += 1;
        }
    }
    f64::from(as_far) / f64::from(all)
}

/// Pairs in the same order minus pairs in reversed order.
fn score(first: &[f64], second: &[f64]) -> i64 {
    let mut score = 0;
    for index in 0..first.len() {
        for other in index + 1..first.len() {
            let (a, b) = (first[index].total_cmp(&first[other]), second[index].total_cmp(&second[other]));
            score += a as i64 * b as i64;
        }
    }
    score
}

/// The normal approximation of [`exact_p`], without the correction for ties: slightly too large.
fn normal_p(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let (same, reversed, _) = count(pairs);
    let z = (same as f64 - reversed as f64) / (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    2.0 * (1.0 - mountmark_stats::distribution::normal_cdf(z.abs()))
}

/// 95 % interval of the expected tau, by inverting the exact distribution of the number of reversed pairs under
/// Mallows' model ("Non-null ranking models", Biometrika 44, 1957), as Clopper and Pearson do for a proportion. Tied
/// pairs count against each end, so the interval is rather too wide than too narrow.
fn mallows_interval(items: usize, reversed: usize, tied: usize) -> Interval {
    let counts = inversions(items);
    let most = counts.len() - 1;
    let low = match reversed + tied {
        at_most if at_most >= most => -1.0,
        at_most => tau(&counts, solve(&counts, |theta| below(&counts, theta, at_most) - 0.025)),
    };
    let high = match reversed {
        0 => 1.0,
        at_least => tau(&counts, solve(&counts, |theta| 0.025 - (1.0 - below(&counts, theta, at_least - 1)))),
    };
    Interval { low, high }
}

/// Shares of the orders of `items` with 0, 1, 2, ... reversed pairs.
fn inversions(items: usize) -> Vec<f64> {
    let mut counts = vec![1.0];
    for size in 2..=items {
        let mut next = vec![0.0; counts.len() + size - 1];
        for (pairs, share) in counts.iter().enumerate() {
            for more in 0..size {
                next[pairs + more] += share / size as f64;
            }
        }
        counts = next;
    }
    counts
}

/// Shares under Mallows' model: weights exp(-theta d) on the number d of reversed pairs.
fn weights(counts: &[f64], theta: f64) -> Vec<f64> {
    let middle = (counts.len() - 1) as f64 / 2.0;
    let raw: Vec<f64> =
        counts.iter().enumerate().map(|(pairs, share)| share * exp(-theta * (pairs as f64 - middle))).collect();
    let sum: f64 = raw.iter().sum();
    raw.iter().map(|weight| weight / sum).collect()
}

/// Probability of at most `pairs` reversed pairs.
fn below(counts: &[f64], theta: f64, pairs: usize) -> f64 {
    weights(counts, theta)[..=pairs].iter().sum()
}

/// Expected tau.
fn tau(counts: &[f64], theta: f64) -> f64 {
    let mean: f64 = weights(counts, theta).iter().enumerate().map(|(pairs, share)| pairs as f64 * share).sum();
    1.0 - 2.0 * mean / (counts.len() - 1) as f64
}

/// The theta at which the increasing function `rises` is 0.
fn solve(counts: &[f64], rises: impl Fn(f64) -> f64) -> f64 {
    // At 40 all weight is on one order, and exp stays finite for a hundred items.
    let reach = 40.0_f64.min(1400.0 / counts.len() as f64);
    let (mut low, mut high) = (-reach, reach);
    for _ in 0..100 {
        let middle = low + (high - low) / 2.0;
        if rises(middle) < 0.0 { low = middle } else { high = middle }
    }
    low + (high - low) / 2.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn agreement(pairs: &[(f64, f64)]) -> Agreement {
        Agreement::of(pairs)
    }

    fn close(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-6, "{left} {right}");
    }

    #[test]
    fn tau_is_that_of_the_textbook() {
        // R: cor(c(1,2,3,4,5), c(2,1,4,3,5), method = "kendall") is 0.6: 8 pairs of 10 agree.
        let pairs = [(1.0, 2.0), (2.0, 1.0), (3.0, 4.0), (4.0, 3.0), (5.0, 5.0)];
        close(kendall_tau_b(&pairs).unwrap(), 0.6);
        // scipy.stats.kendalltau([12, 2, 1, 12, 2], [1, 4, 7, 1, 0]) is -0.4714045207910316, with ties.
        let tied = [(12.0, 1.0), (2.0, 4.0), (1.0, 7.0), (12.0, 1.0), (2.0, 0.0)];
        close(kendall_tau_b(&tied).unwrap(), -0.471_404_520_791_031_6);
    }

    #[test]
    fn the_test_is_exact() {
        // Of the 120 orders of five, 2 have |tau| = 1, and 2 * (1 + 4 + 9) have |tau| of at least 0.6.
        let same: Vec<(f64, f64)> = (0..5).map(|i| (f64::from(i), f64::from(i))).collect();
        close(agreement(&same).p.unwrap(), 2.0 / 120.0);
        let pairs = [(1.0, 2.0), (2.0, 1.0), (3.0, 4.0), (4.0, 3.0), (5.0, 5.0)];
        close(agreement(&pairs).p.unwrap(), 28.0 / 120.0);
    }

    #[test]
    fn inversions_are_counted() {
        let counts: Vec<f64> = inversions(5).iter().map(|share| (share * 120.0).round()).collect();
        assert_eq!(counts, [1.0, 4.0, 9.0, 15.0, 20.0, 22.0, 20.0, 15.0, 9.0, 4.0, 1.0]);
    }

    #[test]
    fn the_interval_ends_where_the_tails_are_a_fortieth() {
        let counts = inversions(5);
        let Interval { low, high } = mallows_interval(5, 2, 0);
        // At the theta of the lower end's tau, two reversed pairs or fewer have a probability of 1 in 40.
        let at = |wanted: f64| solve(&counts, |theta| tau(&counts, theta) - wanted);
        close(below(&counts, at(low), 2), 0.025);
        close(1.0 - below(&counts, at(high), 1), 0.025);
        assert!(low < 0.6 && 0.6 < high);
        close(mallows_interval(5, 0, 0).high, 1.0);
        close(mallows_interval(5, 10, 0).low, -1.0);
        // If all are tied, nothing is known.
        assert_eq!(mallows_interval(5, 0, 10), Interval { low: -1.0, high: 1.0 });
    }

    #[test]
    fn few_or_equal_items_are_said() {
        let two = agreement(&[(1.0, 1.0), (2.0, 2.0)]);
        assert_eq!(two.remark, Some(Limit::FewItems { items: 2, fewest: 3 }));
        let three = agreement(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]);
        assert!(three.tau == Some(1.0) && three.interval.is_none() && three.remark.is_some());
        let equal = agreement(&[(1.0, 5.0), (2.0, 5.0), (3.0, 5.0)]);
        assert!(equal.tau.is_none() && equal.remark == Some(Limit::AllEqual));
        assert_eq!(agreement(&[]).items, 0);
    }

    proptest! {
        #[test]
        fn tau_lies_in_its_interval_and_turns_with_a_side(
            pairs in prop::collection::vec((0..6i32, 0..6i32), 0..8)
        ) {
            let pairs: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (f64::from(*a), f64::from(*b))).collect();
            let turned: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (*a, -b)).collect();
            let (one, other) = (agreement(&pairs), agreement(&turned));
            prop_assert_eq!(one.same + one.reversed + one.tied, pairs.len() * pairs.len().saturating_sub(1) / 2);
            prop_assert_eq!((one.same, one.reversed), (other.reversed, other.same));
            if let (Some(left), Some(right)) = (one.tau, other.tau) {
                prop_assert!((left + right).abs() < 1e-12 && left.abs() <= 1.0 + 1e-12);
            }
            if let (Some(tau), Some(p)) = (one.tau, one.p) {
                prop_assert!(p > 0.0 && p <= 1.0, "{tau} {p}");
            }
            if let Some(interval) = one.interval {
                let plain = 1.0 - 2.0 * (one.reversed as f64 + one.tied as f64 / 2.0) / (one.same + one.reversed + one.tied) as f64;
                prop_assert!(interval.low <= plain + 1e-9 && plain <= interval.high + 1e-9, "{interval:?} {plain}");
                prop_assert!((-1.0..=1.0).contains(&interval.low) && (-1.0..=1.0).contains(&interval.high));
            }
        }
    }
}
