//! Variances of many small samples, each with some strength borrowed from the others.
//!
//! Three repeats give a poor estimate of one task's variance, but twenty tasks with three repeats each show how much
//! tasks vary, and how differently. Smyth, "Linear models and empirical Bayes methods for assessing differential
//! expression", Statistical Applications in Genetics and Molecular Biology 3 (2004), derives a t test whose degrees of
//! freedom grow by the strength of the others: many if all tasks vary alike, almost none if they differ.

use crate::distribution::{digamma, trigamma, trigamma_inverse};
use crate::summary::{mean, median};

/// A variance and its degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variance {
    pub value: f64,
    /// Infinite if the variance is as good as known.
    pub df: f64,
}

/// The estimate of a variance from the others alone, before its own data is used.
pub type Prior = Variance;

/// Minimum number of variances for a prior.
const FEWEST: usize = 4;

/// Strata with fewer degrees of freedom do not count as quieter than the median of all: see [`moderate`]. Seven
/// configurations have twelve with three repeats.
const FEW: f64 = 16.0;

/// Maximum weight of a prior, relative to the degrees of freedom of the stratum or [`LEAST`], whichever is larger.
const BORROWED: f64 = 2.0;

const LEAST: f64 = 8.0;

/// The prior by Smyth's equations 6.1 to 6.4. Variances of 0 are omitted: nothing varied, which is handled separately.
pub fn prior(variances: &[Variance]) -> Option<Prior> {
    let usable: Vec<&Variance> = variances.iter().filter(|v| v.value > 0.0 && v.df > 0.0 && v.df.is_finite()).collect();
    if usable.len() < FEWEST {
        return None;
    }
    let logs: Vec<f64> =
        usable.iter().map(|v| libm::log(v.value) - digamma(v.df / 2.0) + libm::log(v.df / 2.0)).collect();
    let center = mean(&logs)?;
    let spread = super::summary::variance(&logs)?;
    let expected = mean(&usable.iter().map(|v| trigamma(v.df / 2.0)).collect::<Vec<_>>())?;
    if spread <= expected {
        // They differ by no more than chance explains.
        return Some(Prior { value: libm::exp(center), df: f64::INFINITY });
    }
    let df = 2.0 * trigamma_inverse(spread - expected);
    let value = libm::exp(center + digamma(df / 2.0) - libm::log(df / 2.0));
    Some(Prior { value, df }).filter(|prior| prior.value.is_finite() && prior.value > 0.0)
}

/// The variances combined with the prior, in the same order.
///
/// The prior counts at most twice as much as the stratum itself: treated as certain, it would give the tails of the
/// normal distribution, but noise has heavier ones.
///
/// A variance with few degrees of freedom can be small by chance, and with noise of two modes often is: three repeats
/// may all be in one mode. It is raised to the median of all.
pub fn moderate(variances: &[Variance]) -> Vec<Variance> {
    let prior = prior(variances);
    let floor = median(&variances.iter().filter(|v| v.value > 0.0).map(|v| v.value).collect::<Vec<_>>());
    variances
        .iter()
        .map(|own| {
            let mut out = match prior {
                Some(prior) => {
                    let borrowed = prior.df.min(BORROWED * own.df.max(LEAST));
                    let df = own.df + borrowed;
                    // The degrees of freedom determine the tails; the value is the best available estimate.
                    let value = match prior.df.is_infinite() {
                        true => prior.value,
                        false => (own.value * own.df + prior.value * prior.df) / (own.df + prior.df),
                    };
                    Variance { value, df }
                }
                None => *own,
            };
            if let Some(floor) = floor.filter(|_| prior.is_some() && own.df < FEW) {
                out.value = out.value.max(floor);
            }
            out
        })
        .collect()
}
