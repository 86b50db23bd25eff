//! The result of a verdict.

use mountmark_stats::interval::Interval;
use serde::Serialize;

/// Which configurations are better at a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    pub outcome: VerdictOutcome,
    /// Configurations that cannot be distinguished, best group first. Neighbouring groups may overlap.
    pub groups: Vec<Vec<usize>>,
    /// The compared configurations, best median first.
    pub order: Vec<usize>,
    /// Configurations with figures that share too few repeats with the others to be compared.
    pub apart: Vec<usize>,
    /// From the winner to the next by medians; `None` without a winner.
    pub gap: Option<Gap>,
    /// Configurations shown to be worse than each of those in first place.
    pub below: Vec<usize>,
    /// Whether a difference is shown that is too small to matter.
    pub has_small: bool,
}

impl Verdict {
    /// With nothing but its outcome.
    pub fn of(outcome: VerdictOutcome) -> Verdict {
        let (groups, order, apart, below) = Default::default();
        Verdict { outcome, groups, order, apart, gap: None, below, has_small: false }
    }

    /// Those in first place, if a difference is shown.
    pub fn first(&self) -> &[usize] {
        match &self.outcome {
            VerdictOutcome::Winner { configuration } => std::slice::from_ref(configuration),
            VerdictOutcome::Tied { configurations } => configurations,
            VerdictOutcome::NoDifferenceShown { .. } | VerdictOutcome::NotJudged { .. } => &[],
        }
    }
}

/// The distance of one configuration from a better one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gap {
    pub best: usize,
    pub other: usize,
    /// Median of the within-block ratios of the other to the better one.
    pub ratio: f64,
    /// Confidence interval of `ratio`; `None` with one repeat.
    pub interval: Option<Interval>,
    /// Where a figure of the two depends on conditions: the ratio under those that favour one and the other most.
    pub between: Option<Interval>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum VerdictOutcome {
    /// One configuration is better than every other.
    Winner { configuration: usize },
    /// Several cannot be distinguished, and at least one other is worse than all of them.
    Tied {
        /// Best median first.
        configurations: Vec<usize>,
    },
    /// No difference was shown.
    NoDifferenceShown {
        /// The relative difference that would be shown four times out of five: 0.05 is 5 %.
        detectable: Option<f64>,
    },
    /// There is no basis for a verdict.
    NotJudged { reason: NotJudged },
}

/// Why there is no basis for a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum NotJudged {
    /// The run has one configuration.
    #[serde(rename = "one configuration")]
    OneConfiguration,
    /// One configuration has figures: the others failed, or were not measured.
    #[serde(rename = "no other has a figure")]
    NoOther,
    /// The run has one repeat.
    #[serde(rename = "one repeat")]
    OneRepeat,
    /// Figures are 0, or the configurations have none in the same repeats.
    #[serde(rename = "no ratios within repeats")]
    NoRatios,
}
