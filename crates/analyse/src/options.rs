//! What an analysis can be asked for.

/// How findings are made.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Name of the configuration that ratios are against; the first one where there is none or no such.
    pub baseline: Option<String>,
    /// What resampling is drawn from, together with the run's own seed.
    pub seed: u64,
    /// Confidence of intervals; 1 less this is the probability of any false verdict in a run without differences.
    pub level: f64,
    /// The smallest relative difference that matters: what is shown but smaller makes nobody a winner.
    ///
    /// 1 % by default. Where figures repeat to the nanosecond, a difference of a ten-thousandth can be shown, and
    /// nobody should choose a file system by it. Models of processor and disk are not better than that either.
    pub matters: f64,
    /// Resamplings of repeats behind the intervals and the stability of rankings.
    pub resamples: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { baseline: None, seed: 0, level: 0.95, matters: 0.01, resamples: 1000 }
    }
}

impl Options {
    /// Probability of any false verdict: 0.05 at 95 %.
    pub(crate) fn error(&self) -> f64 {
        1.0 - self.level
    }

    /// [`Options::matters`] as a difference of logarithms.
    pub(crate) fn ln_matters(&self) -> f64 {
        libm::log1p(self.matters.max(0.0))
    }
}
