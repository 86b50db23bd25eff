//! Options of an analysis.

use mountmark_model::{MachineAgreement, Metric};

use crate::figures::find::roles::{self, Role};
use crate::robustness::find::costs::CostsAsked;

#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Name of the configuration that ratios refer to; the first one if unset or unknown.
    pub baseline: Option<String>,
    /// Seed for resampling, combined with the run's own seed.
    pub seed: u64,
    /// Confidence of intervals; 1 minus this is the probability of any false verdict in a run without differences.
    pub level: f64,
    /// The smallest relative difference that matters. Smaller ones, even if significant, decide no winner.
    ///
    /// 1 % by default. Where figures repeat to the nanosecond, a difference of a ten-thousandth can be shown, but is no
    /// reason to choose a file system. Models of processor and disk are not better than that either.
    pub matters: f64,
    /// Metrics to compute findings for, besides those by which tasks are judged; all if `None`. Rankings by another
    /// metric are then absent.
    pub metrics: Option<Vec<&'static Metric>>,
    /// Number of resamplings of repeats behind the intervals and the stability of rankings.
    pub resamples: usize,
    /// What real machines say about the virtual lab; `None` if nobody has looked.
    pub accords: Option<Vec<MachineAgreement>>,
    /// For which machines orders are asked whether they hold; `None`: nobody asks.
    pub asked: Option<CostsAsked>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            baseline: None,
            seed: 0,
            level: 0.95,
            matters: 0.01,
            metrics: None,
            resamples: 1000,
            accords: None,
            asked: None,
        }
    }
}

impl Options {
    /// Of a gate: a change that is beyond its limit matters.
    pub fn of_gate(limit: f64) -> Options {
        let usual = Options::default();
        Options { matters: usual.matters.min(limit), ..usual }
    }

    /// Probability of any false verdict: 0.05 at 95 %.
    pub(crate) fn error(&self) -> f64 {
        1.0 - self.level
    }

    pub(crate) fn wants(&self, metric: &Metric) -> bool {
        let is_same = |known: &Metric| known.id == metric.id;
        self.metrics
            .as_ref()
            .is_none_or(|wanted| roles::has(metric.id, Role::Judged) || wanted.iter().any(|one| is_same(one)))
    }

    /// [`Options::matters`] as a difference of logarithms.
    pub(crate) fn ln_matters(&self) -> f64 {
        libm::log1p(self.matters.max(0.0))
    }
}
