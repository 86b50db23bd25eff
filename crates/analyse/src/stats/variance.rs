//! Variances of many small samples, each with some strength borrowed from the others.
//!
//! Three repeats say little of how much a task varies, but twenty tasks with three repeats each say how much tasks
//! vary, and how differently. Smyth, "Linear models and empirical Bayes methods for assessing differential expression",
//! Statistical Applications in Genetics and Molecular Biology 3 (2004), makes of that a t test whose degrees of freedom
//! grow by what the others are worth: many where all tasks vary alike, next to none where each is its own case.

use super::distribution::{digamma, trigamma, trigamma_inverse};
use super::summary::{mean, median};

/// A variance and what it is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variance {
    /// The variance.
    pub value: f64,
    /// Degrees of freedom; infinite where it is as good as known.
    pub df: f64,
}

/// What the others say of a variance before it is looked at: `value` with the worth of `df` degrees of freedom.
pub type Prior = Variance;

/// Fewest variances that make a prior: of fewer nobody knows how they differ.
const FEWEST: usize = 4;

/// Strata of fewer degrees of freedom are not taken to be quieter than the median of all: see [`moderate`]. Seven
/// configurations have twelve with three repeats.
const FEW: f64 = 16.0;

/// How much a prior may count, in degrees of freedom of the stratum's own or of [`LEAST`], whichever are more.
const BORROWED: f64 = 2.0;

/// See [`BORROWED`].
const LEAST: f64 = 8.0;

/// The prior by Smyth's equations 6.1 to 6.4. Variances of 0 are left out: nothing varied, which is a case of its own.
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
        // They differ by no more than chance makes them.
        return Some(Prior { value: libm::exp(center), df: f64::INFINITY });
    }
    let df = 2.0 * trigamma_inverse(spread - expected);
    let value = libm::exp(center + digamma(df / 2.0) - libm::log(df / 2.0));
    Some(Prior { value, df }).filter(|prior| prior.value.is_finite() && prior.value > 0.0)
}

/// The variances with the prior's strength added, in their order.
///
/// The prior counts at most twice as much as the stratum itself: taken for certain, it would have the tails of the normal
/// distribution, and noise has heavier ones.
///
/// A variance of few degrees of freedom can be small by chance alone, and with noise of two modes often is: three
/// repeats that all fell into one mode. Such a one counts as no smaller than the median of all.
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
                    // How much is borrowed says how far tails reach; the value is the best estimate there is.
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
