//! Tests a family of contrasts together and finds which differences are shown.
//!
//! A contrast is the mean of differences of logarithms: of two configurations within blocks, or of two runs. Contrasts
//! of one task by one metric form a stratum.
//!
//! # Why this test
//!
//! Exact tests cannot be used: three blocks have four outcomes of sign flips and six of ranks, so that no p-value is
//! below 1/4 for two configurations, and after Holm's correction for 500 comparisons nothing would ever be shown. The
//! paired t test alone has two degrees of freedom then: at the corrected level it requires 90 standard errors, and with
//! noise of two modes it is often wrong, since three repeats in one mode look as if nothing varied. So the variance of
//! a contrast is that of its whole stratum, with strength borrowed from the other strata (`stats::variance`), or its
//! own where that is clearly larger. A pair of configurations that is noisier than others over the whole run counts as
//! noisier in each stratum: without that, two noisy file systems among five quiet ones were wrongly distinguished in a
//! third of the runs. `tests/simulations.rs` simulates runs without any difference, and with one.
//!
//! With ten repeats a contrast can be clearly quieter than its stratum. Its variance is then at most the largest that its
//! own figures leave likely: otherwise one file system whose times vary by 10 % hides that another, which repeats to
//! 0.5 %, became 3 % slower. With fewer repeats this would be wrong where noise has two modes: of many pairs of
//! configurations some have all repeats of one in the one mode and all of the other in the other.
//!
//! A contrast whose differences are all equal is exact: instruction-counting clocks and capacities repeat exactly. It
//! is shown if it is not 0.

use std::collections::BTreeMap;

use mountmark_stats::distribution::{f_quantile, normal_quantile, t_quantile, t_tails};
use mountmark_stats::variance::{Variance, moderate};
use mountmark_stats::{holm, summary};

/// Logarithms closer than this are equal: rounding errors of a quotient.
const EQUAL: f64 = 1e-9;

/// A contrast uses its own variance if chance would make one so large from its stratum's less often than this.
const OWN: f64 = 0.25;

/// The variance of a contrast of [`ENOUGH`] figures is taken to be below one that would give its own, or a smaller one,
/// less often than this.
const QUIET: f64 = 0.05;

/// Figures on both sides of a contrast together, for a variance smaller than its stratum's. Of two equally frequent
/// modes, one side is all in the one and the other all in the other with a probability of 2^-19 then.
const ENOUGH: usize = 20;

/// A difference to test.
pub(crate) struct Contrast {
    /// Contrasts in one stratum share a variance.
    pub stratum: usize,
    /// Mean difference of logarithms.
    pub mean: f64,
    /// Variance of one difference, from this contrast alone.
    pub own: Variance,
    /// The squared standard error of `mean` over the variance: 1/n for n differences.
    pub scale: f64,
    /// Weight of its degrees of freedom in the stratum: 1 for independent contrasts; 2/k for k configurations in pairs,
    /// since k (k - 1) / 2 pairs share (k - 1) independent contrasts.
    pub share: f64,
    /// Figures on both sides together.
    pub figures: usize,
    /// Whether all differences were equal.
    pub exact: bool,
    /// Contrasts of one kind, one per stratum, compare the same two things, and may be noisier than others in all.
    pub kind: usize,
    /// Whether a variance of its own has no more degrees of freedom than it: then strata of few contrasts are not wrong where
    /// one of those is noisier. It costs much of what several can show.
    pub alone: bool,
}

impl Contrast {
    /// The same contrast as one of `kind`.
    pub fn of_kind(self, kind: usize) -> Contrast {
        Contrast { kind, ..self }
    }

    /// The same contrast, the variance of its own known by itself alone.
    pub fn alone(self) -> Contrast {
        Contrast { alone: true, ..self }
    }

    /// From paired differences; `None` below two.
    pub fn paired(stratum: usize, differences: &[f64], share: f64) -> Option<Contrast> {
        let value = summary::variance(differences)?;
        let n = differences.len() as f64;
        let mean = summary::mean(differences)?;
        let exact = differences.iter().all(|difference| (difference - differences[0]).abs() <= EQUAL);
        let own = Variance { value, df: n - 1.0 };
        let figures = 2 * differences.len();
        Some(Contrast { stratum, mean, own, scale: 1.0 / n, share, figures, exact, kind: 0, alone: false })
    }

    /// From two independent samples of logarithms, `left` minus `right`; `None` if either has fewer than two.
    pub fn unpaired(stratum: usize, left: &[f64], right: &[f64]) -> Option<Contrast> {
        let (first, second) = (summary::variance(left)?, summary::variance(right)?);
        let (n, m) = (left.len() as f64, right.len() as f64);
        let df = n + m - 2.0;
        let value = (first * (n - 1.0) + second * (m - 1.0)) / df;
        let equal = |values: &[f64]| values.iter().all(|value| (value - values[0]).abs() <= EQUAL);
        Some(Contrast {
            stratum,
            mean: summary::mean(left)? - summary::mean(right)?,
            own: Variance { value, df },
            scale: 1.0 / n + 1.0 / m,
            share: 1.0,
            figures: left.len() + right.len(),
            exact: equal(left) && equal(right),
            kind: 0,
            alone: false,
        })
    }

    /// The variance to test it with, where `usual` is that of its stratum.
    fn variance(&self, usual: &Variance, quantiles: &mut Quantiles) -> Variance {
        let own = &self.own;
        if own.value > usual.value * quantiles.f(OWN, own.df, usual.df) {
            return Variance { value: own.value, df: if self.alone { own.df.min(usual.df) } else { usual.df } };
        }
        if self.figures < ENOUGH {
            return *usual;
        }
        let most = own.value * quantiles.f(QUIET, usual.df, own.df);
        if most < usual.value { Variance { value: most, df: own.df } } else { *usual }
    }
}

/// Test result of one contrast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tested {
    /// Standard error of the mean difference of logarithms; 0 if exact.
    pub error: f64,
    /// Degrees of freedom of `error`.
    pub df: f64,
    /// Half the width of the confidence interval of the mean difference, uncorrected.
    pub reach: f64,
    /// p-value after Holm's correction for the whole family.
    pub adjusted: f64,
}

impl Tested {
    /// Confidence interval of a mean difference of logarithms at the family's level.
    pub fn around(&self, mean: f64) -> (f64, f64) {
        (mean - self.reach, mean + self.reach)
    }

    /// Confidence interval of a mean difference of logarithms at any level.
    pub fn interval(&self, mean: f64, level: f64) -> (f64, f64) {
        let reach = if self.error == 0.0 { 0.0 } else { t_quantile(1.0 - level, self.df) * self.error };
        (mean - reach, mean + reach)
    }

    /// The difference of logarithms that would be shown four times out of five at `level`.
    pub fn detectable(&self, level: f64) -> f64 {
        if self.error == 0.0 { 0.0 } else { (t_quantile(level, self.df) + normal_quantile(0.8)) * self.error }
    }
}

/// Tests all contrasts as one family at 95 %.
pub(crate) fn test(contrasts: &[Contrast]) -> Vec<Tested> {
    test_at(contrasts, 0.95)
}

/// Tests all contrasts as one family at `level`.
pub(crate) fn test_at(contrasts: &[Contrast], level: f64) -> Vec<Tested> {
    let strata = strata(contrasts);
    let noisiness = noisiness(contrasts);
    let mut quantiles = Quantiles::default();
    let mut raw = Vec::with_capacity(contrasts.len());
    let mut out = Vec::with_capacity(contrasts.len());
    for contrast in contrasts {
        let (error, df, quantile, p) = match strata.get(&contrast.stratum) {
            Some(stratum) if !contrast.exact => {
                let usual = stratum.value * noisiness.get(&contrast.kind).copied().unwrap_or(1.0).max(1.0);
                let Variance { value, df } = contrast.variance(&Variance { value: usual, ..*stratum }, &mut quantiles);
                let error = (value * contrast.scale).sqrt();
                (error, df, quantiles.t(1.0 - level, df), t_tails(contrast.mean / error, df))
            }
            _ => (0.0, f64::INFINITY, 0.0, if contrast.mean.abs() <= EQUAL { 1.0 } else { 0.0 }),
        };
        raw.push(p);
        out.push(Tested { error, df, reach: quantile * error, adjusted: 1.0 });
    }
    for (tested, adjusted) in out.iter_mut().zip(holm::adjust(&raw)) {
        tested.adjusted = adjusted;
    }
    out
}

/// Quantiles that were computed already: one costs more than all else of a contrast, and few kinds occur.
#[derive(Default)]
struct Quantiles {
    t: BTreeMap<(u64, u64), f64>,
    f: BTreeMap<(u64, u64, u64), f64>,
}

impl Quantiles {
    fn t(&mut self, error: f64, df: f64) -> f64 {
        *self.t.entry((error.to_bits(), df.to_bits())).or_insert_with(|| t_quantile(error, df))
    }

    fn f(&mut self, error: f64, over: f64, under: f64) -> f64 {
        let key = (error.to_bits(), over.to_bits(), under.to_bits());
        *self.f.entry(key).or_insert_with(|| f_quantile(error, over, under))
    }
}

/// Variance of each kind over that of its strata: mean over strata, weighted by degrees of freedom.
fn noisiness(contrasts: &[Contrast]) -> BTreeMap<usize, f64> {
    let mut of_strata: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for contrast in contrasts.iter().filter(|contrast| !contrast.exact) {
        let (squares, degrees) = of_strata.entry(contrast.stratum).or_default();
        *squares += contrast.own.value * contrast.own.df;
        *degrees += contrast.own.df;
    }
    let mut kinds: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for contrast in contrasts.iter().filter(|contrast| !contrast.exact) {
        let Some((squares, degrees)) = of_strata.get(&contrast.stratum) else { continue };
        let (sum, weight) = kinds.entry(contrast.kind).or_default();
        *sum += contrast.own.df * contrast.own.value / (squares / degrees);
        *weight += contrast.own.df;
    }
    kinds.into_iter().map(|(kind, (sum, weight))| (kind, sum / weight)).filter(|(_, ratio)| ratio.is_finite()).collect()
}

/// The moderated variance of each stratum with any variation.
fn strata(contrasts: &[Contrast]) -> BTreeMap<usize, Variance> {
    let mut sums: BTreeMap<usize, (f64, f64, f64)> = BTreeMap::new();
    for contrast in contrasts.iter().filter(|contrast| !contrast.exact) {
        let (squares, degrees, shared) = sums.entry(contrast.stratum).or_default();
        *squares += contrast.own.value * contrast.own.df;
        *degrees += contrast.own.df;
        *shared += contrast.own.df * contrast.share;
    }
    let own: Vec<Variance> =
        sums.values().map(|(squares, degrees, shared)| Variance { value: squares / degrees, df: *shared }).collect();
    sums.into_keys().zip(moderate(&own)).collect()
}
