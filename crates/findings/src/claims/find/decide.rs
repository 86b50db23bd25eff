//! Decides whether one comparison is as claimed.
//!
//! With one repeat, the smallest difference that matters decides. With several, a difference must also be shown by the
//! same test as for verdicts (`contrast`), corrected for all comparisons of all claims together.

use libm::{exp, log};
use mountmark_model::{Better, Limits};
use mountmark_stats::interval::Interval;

use crate::claims::find::{Against, Subject};
use crate::verdicts::find::contrast;
use crate::verdicts::find::contrast::{Contrast, Tested};

/// Probability of showing any difference by chance; 1 minus the confidence of intervals.
pub const LEVEL: f64 = 0.05;

/// The claimed relation of two figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Claimed {
    Better,
    NotWorse,
    /// They differ by at most this share.
    Equal(f64),
    /// Their quotient, or the left figure if the right is 1, is within limits.
    Within(Limits),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Holds,
    /// A claimed factor is passed in its own direction.
    Exceeded,
    Against,
    Undecided,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    pub subject: Subject,
    pub left: String,
    pub right: Against,
    pub left_value: f64,
    pub right_value: f64,
    pub claimed: Claimed,
    pub better: Better,
    /// The smallest relative difference that matters.
    pub smallest: f64,
    /// Logarithms of left over right by block; empty if a figure is not above 0.
    pub differences: Vec<f64>,
    /// Which comparisons share a variance, and the weight of a degree of freedom among them.
    pub stratum: usize,
    pub share: f64,
}

impl Comparison {
    /// Left over right; `None` if not a number above 0.
    pub fn ratio(&self) -> Option<f64> {
        mountmark_stats::summary::mean(&self.differences).map(exp)
    }

    /// Whether the claim holds. `tested` is given for several repeats.
    pub fn decide(&self, tested: Option<&Tested>) -> Decision {
        let Some(difference) = mountmark_stats::summary::mean(&self.differences) else { return self.by_value() };
        let (low, high) = tested.map_or((difference, difference), |tested| tested.interval(difference, 1.0 - LEVEL));
        // Slack for the last bit of exact decimals such as 1.01 over 1.
        let slack = 1e-9;
        let matters = log(1.0 + self.smallest) - slack;
        let sign = if self.better == Better::Lower { -1.0 } else { 1.0 };
        let (advantage, shown) = (sign * difference, tested.is_none_or(|tested| tested.adjusted < LEVEL));
        match self.claimed {
            Claimed::Better if shown && advantage >= matters => Decision::Holds,
            Claimed::Better | Claimed::NotWorse if shown && advantage <= -matters => Decision::Against,
            Claimed::NotWorse if sign.mul_add(if sign < 0.0 { high } else { low }, matters) > 0.0 => Decision::Holds,
            Claimed::Better | Claimed::NotWorse => Decision::Undecided,
            Claimed::Equal(within) => inside(low, high, -log(1.0 + within) - slack, log(1.0 + within) + slack),
            Claimed::Within(limits) => {
                let at_least = limits.at_least.map_or(f64::NEG_INFINITY, |limit| log(limit) - slack);
                let at_most = limits.at_most.map_or(f64::INFINITY, |limit| log(limit) + slack);
                match inside(low, high, at_least, at_most) {
                    Decision::Against if is_factor(self, limits) && beyond(limits, low, high) => Decision::Exceeded,
                    decision => decision,
                }
            }
        }
    }

    /// A figure of 0 has no quotient: decides by the values, without an interval.
    fn by_value(&self) -> Decision {
        let (left, right) = (self.left_value, self.right_value);
        let is_better = match self.better {
            Better::Lower => left < right,
            Better::Higher => left > right,
        };
        match self.claimed {
            Claimed::Within(limits) => {
                let value = if right == 1.0 { left } else { left / right };
                let fits = limits.at_least.is_none_or(|limit| value >= limit)
                    && limits.at_most.is_none_or(|limit| value <= limit);
                if fits { Decision::Holds } else { Decision::Against }
            }
            Claimed::Equal(_) | Claimed::NotWorse if left == right => Decision::Holds,
            Claimed::Equal(_) => Decision::Against,
            Claimed::Better if left == right => Decision::Undecided,
            _ if is_better => Decision::Holds,
            _ => Decision::Against,
        }
    }

    /// 95 % interval of the ratio.
    pub fn interval(&self, tested: Option<&Tested>) -> Option<Interval> {
        let mean = mountmark_stats::summary::mean(&self.differences)?;
        let (low, high) = tested?.interval(mean, 1.0 - LEVEL);
        Some(Interval { low: exp(low), high: exp(high) })
    }
}

/// Whether an interval is inside two limits, outside them, or across one.
fn inside(low: f64, high: f64, from: f64, to: f64) -> Decision {
    if low >= from && high <= to {
        Decision::Holds
    } else if high < from || low > to {
        Decision::Against
    } else {
        Decision::Undecided
    }
}

/// Whether limits are those of a factor between two figures, and not of a figure itself.
fn is_factor(comparison: &Comparison, limits: Limits) -> bool {
    matches!(comparison.right, Against::Name(_)) && limits.at_least.is_some() && limits.at_most.is_some()
}

/// Whether an interval of a logarithm lies beyond the limits of a factor, seen from 1.
fn beyond(limits: Limits, low: f64, high: f64) -> bool {
    match (limits.at_least, limits.at_most) {
        (Some(least), Some(most)) if least > 1.0 => low > log(most),
        (Some(least), Some(most)) if most < 1.0 => high < log(least),
        _ => false,
    }
}

/// Tests all comparisons as one family; `None` for those with one repeat.
pub(crate) fn test(comparisons: &[&Comparison]) -> Vec<Option<Tested>> {
    let contrasts: Vec<Option<Contrast>> =
        comparisons.iter().map(|found| Contrast::paired(found.stratum, &found.differences, found.share)).collect();
    let places: Vec<bool> = contrasts.iter().map(Option::is_some).collect();
    let family: Vec<Contrast> = contrasts.into_iter().flatten().collect();
    let mut tested = contrast::test(&family).into_iter();
    places.into_iter().map(|is_there| if is_there { tested.next() } else { None }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(claimed: Claimed, pairs: &[(f64, f64)]) -> Comparison {
        let values = |pick: fn(&(f64, f64)) -> f64| pairs.iter().map(pick).sum::<f64>() / pairs.len() as f64;
        let above_0 = pairs.iter().all(|(left, right)| *left > 0.0 && *right > 0.0);
        let differences = pairs.iter().filter(|_| above_0).map(|(left, right)| log(left / right)).collect();
        Comparison {
            subject: Subject::One("t".into()),
            left: "a".into(),
            right: Against::Name("b".into()),
            left_value: values(|pair| pair.0),
            right_value: values(|pair| pair.1),
            claimed,
            better: Better::Lower,
            smallest: 0.01,
            differences,
            stratum: 0,
            share: 1.0,
        }
    }

    fn decide(claimed: Claimed, pairs: &[(f64, f64)]) -> Decision {
        let comparison = comparison(claimed, pairs);
        let tested = test(&[&comparison]);
        comparison.decide(tested[0].as_ref())
    }

    #[test]
    fn one_repeat_is_decided_by_what_matters() {
        assert_eq!(decide(Claimed::Better, &[(1.0, 2.0)]), Decision::Holds);
        assert_eq!(decide(Claimed::Better, &[(2.0, 1.0)]), Decision::Against);
        assert_eq!(decide(Claimed::Better, &[(1.0, 1.01)]), Decision::Holds);
        assert_eq!(decide(Claimed::Better, &[(1.0, 1.009)]), Decision::Undecided);
        assert_eq!(decide(Claimed::NotWorse, &[(1.0, 1.0)]), Decision::Holds);
        assert_eq!(decide(Claimed::NotWorse, &[(1.009, 1.0)]), Decision::Holds);
        assert_eq!(decide(Claimed::NotWorse, &[(1.02, 1.0)]), Decision::Against);
        assert_eq!(decide(Claimed::Equal(0.05), &[(1.0, 1.05)]), Decision::Holds);
        assert_eq!(decide(Claimed::Equal(0.05), &[(1.0, 1.06)]), Decision::Against);
    }

    #[test]
    fn several_repeats_must_show_it() {
        let noisy = [(1.0, 1.2), (1.3, 1.1), (1.0, 1.4)];
        assert_eq!(decide(Claimed::Better, &noisy), Decision::Undecided);
        assert_eq!(decide(Claimed::Equal(0.05), &noisy), Decision::Undecided);
        let clear = [(1.0, 2.0), (1.01, 2.02), (1.0, 2.01)];
        assert_eq!(decide(Claimed::Better, &clear), Decision::Holds);
        assert_eq!(decide(Claimed::Equal(0.05), &clear), Decision::Against);
        // Shown, but too small to matter.
        assert_eq!(decide(Claimed::Better, &[(1.0, 1.005), (1.0, 1.005), (2.0, 2.01)]), Decision::Undecided);
    }

    #[test]
    fn limits_are_of_the_quotient() {
        let limits = |at_least, at_most| Claimed::Within(Limits { at_least, at_most });
        assert_eq!(decide(limits(Some(2.0), None), &[(4.0, 2.0)]), Decision::Holds);
        assert_eq!(decide(limits(Some(2.0), Some(3.0)), &[(8.0, 2.0)]), Decision::Exceeded);
        assert_eq!(decide(limits(None, Some(0.2)), &[(0.0, 1.0)]), Decision::Holds);
        assert_eq!(decide(limits(Some(0.2), None), &[(0.0, 1.0)]), Decision::Against);
    }

    #[test]
    fn zero_is_compared_by_value() {
        assert_eq!(decide(Claimed::Better, &[(0.0, 1.0)]), Decision::Holds);
        assert_eq!(decide(Claimed::Better, &[(1.0, 0.0)]), Decision::Against);
        assert_eq!(decide(Claimed::Better, &[(0.0, 0.0)]), Decision::Undecided);
        assert_eq!(decide(Claimed::Equal(0.1), &[(0.0, 0.0)]), Decision::Holds);
    }
}
