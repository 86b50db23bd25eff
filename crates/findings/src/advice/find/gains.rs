//! How much faster one configuration is than another, and whether that is shown.
//!
//! A configuration's speed is the geometric mean over the work's tasks. All are compared in pairs within a repeat, whose
//! workload and conditions are the same, and tested as verdicts are (`verdicts::find::contrast`), but where a pair is noisier
//! than others, by its own figures alone. The error is divided by the number of configurations that the whole search has
//! measured: the best of many looks better than it is. That is Bonferroni's correction, since what a search drops on its way
//! counts too. `tests/noise.rs` simulates searches without any difference.

use mountmark_stats::distribution::t_tails;
use mountmark_stats::interval::Interval;
use mountmark_stats::summary::mean;

use crate::advice::find::MATTERS;
use crate::advice::find::speeds::Speeds;
use crate::effects::find::Gain;
use crate::verdicts::find::contrast::{Contrast, test_at};

/// The probability with which anything is wrongly shown in a search.
const ERROR: f64 = 0.05;

/// How much faster the first of each pair is than the second, `None` where they have no repeat in common. What is shown is
/// shown after a search over so many configurations.
pub fn gains(speeds: &Speeds, pairs: &[(&str, &str)], searched: usize) -> Vec<Option<Gain>> {
    let differences: Vec<Vec<f64>> = pairs.iter().map(|pair| differences(speeds, pair)).collect();
    // Pairs of as many repeats share a variance.
    let places: Vec<(usize, usize)> = differences.iter().map(|all| (all.len(), 0)).collect();
    // One beside itself has no variance.
    let others = || pairs.iter().zip(&differences).filter(|((one, other), _)| one != other);
    let pairs_of = |repeats: usize| others().filter(|(_, all)| all.len() == repeats).count();
    tested(&differences, &places, |repeats| share(pairs_of(repeats)), searched)
}

/// The same of pairs in situations, each of which has a noise of its own: the number of the situation, and of what is compared
/// there.
pub fn gains_in(
    speeds: &Speeds,
    pairs: &[(&str, &str)],
    places: &[(usize, usize)],
    searched: usize,
) -> Vec<Option<Gain>> {
    let differences: Vec<Vec<f64>> = pairs.iter().map(|pair| differences(speeds, pair)).collect();
    // A situation's own figures are few, and count in full beside those of the others.
    tested(&differences, places, |_| 1.0, searched)
}

/// Differences of logarithms in common repeats.
fn differences(speeds: &Speeds, (one, other): &(&str, &str)) -> Vec<f64> {
    let both = |(one, other): (&Option<f64>, &Option<f64>)| Some((*one)? - (*other)?);
    let [Some(one), Some(other)] = [speeds.get(*one), speeds.get(*other)] else { return Vec::new() };
    one.iter().zip(other).filter_map(both).collect()
}

/// The gains of these differences, whose variances are pooled by the first of each place; `share` is the weight of a pair's
/// degrees of freedom there.
fn tested(
    differences: &[Vec<f64>],
    places: &[(usize, usize)],
    share: impl Fn(usize) -> f64,
    searched: usize,
) -> Vec<Option<Gain>> {
    let contrast = |(all, (stratum, kind)): (&Vec<f64>, &(usize, usize))| {
        Some(Contrast::paired(*stratum, all, share(*stratum))?.of_kind(*kind).alone())
    };
    let contrasts: Vec<Option<Contrast>> = differences.iter().zip(places).map(contrast).collect();
    let there: Vec<usize> = (0..differences.len()).filter(|at| contrasts[*at].is_some()).collect();
    let tests = test_at(&contrasts.into_iter().flatten().collect::<Vec<_>>(), 1.0 - ERROR / searched.max(1) as f64);
    let mut tested = there.into_iter().zip(tests).peekable();
    let gain = |at: usize| {
        let middle = mean(&differences[at])?;
        let ratio = libm::exp(middle);
        let Some((_, test)) = tested.next_if(|(of, _)| *of == at) else {
            return Some(Gain { ratio, interval: None, shown: false });
        };
        let (low, high) = test.around(middle);
        let p = if test.error > 0.0 { t_tails(middle / test.error, test.df) } else { 0.0 };
        Some(Gain {
            ratio,
            interval: Some(Interval { low: libm::exp(low), high: libm::exp(high) }).filter(|one| one.high.is_finite()),
            shown: (ratio - 1.0).abs() >= MATTERS && p * searched.max(1) as f64 <= ERROR,
        })
    };
    (0..differences.len()).map(gain).collect()
}

/// The weight of a pair's degrees of freedom, of so many that have one configuration in common: the noise of that one is in
/// all. The sum of their variances has 4 k / (k + 3) times the degrees of freedom of one, by Satterthwaite's approximation.
fn share(pairs: usize) -> f64 {
    4.0 / (pairs as f64 + 3.0)
}

/// How much faster the first of one pair is.
pub fn gain(speeds: &Speeds, one: &str, other: &str, searched: usize) -> Option<Gain> {
    gains(speeds, &[(one, other)], searched).pop().flatten()
}
