//! A verdict as it is handed out.

use serde::Serialize;

use crate::Interval;

/// Who is better at a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// How it ended.
    pub outcome: VerdictOutcome,
    /// Configurations that cannot be told apart, best group first. A configuration may be in two neighbouring groups.
    pub groups: Vec<Vec<usize>>,
    /// Who is compared, best median first.
    pub order: Vec<usize>,
    /// Who has figures, and shares too few repeats with the others to be compared.
    pub apart: Vec<usize>,
    /// From the winner to the next by medians; `None` where none wins.
    pub gap: Option<Gap>,
    /// Who is shown to be worse than each of those in the first place.
    pub below: Vec<usize>,
    /// Whether a difference is shown that is too small to matter.
    pub has_small: bool,
}

impl Verdict {
    /// Without anything but its outcome.
    pub fn of(outcome: VerdictOutcome) -> Verdict {
        let (groups, order, apart, below) = Default::default();
        Verdict { outcome, groups, order, apart, gap: None, below, has_small: false }
    }
}

/// How far one configuration is from a better one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gap {
    /// The better one.
    pub best: usize,
    /// The other.
    pub other: usize,
    /// Median of the within-block ratios of the other to the better one.
    pub ratio: f64,
    /// Confidence interval of `ratio`; `None` with one repeat.
    pub interval: Option<Interval>,
}

/// How a verdict ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum VerdictOutcome {
    /// One configuration is better than every other.
    Winner {
        /// Which.
        configuration: usize,
    },
    /// Several cannot be told apart, and at least one other is worse than all of them.
    Tied {
        /// Which, best median first.
        configurations: Vec<usize>,
    },
    /// No difference was shown.
    NoDifferenceShown {
        /// The relative difference that would have been seen four times out of five: 0.05 is 5 %.
        detectable: Option<f64>,
    },
    /// There is nothing to judge by.
    NotJudged {
        /// Why.
        reason: NotJudged,
    },
}

/// Why there is nothing to judge by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum NotJudged {
    /// The run has one configuration.
    #[serde(rename = "one configuration")]
    OneConfiguration,
    /// One configuration has figures, and all others failed.
    #[serde(rename = "all others failed")]
    OthersFailed,
    /// The run has one repeat.
    #[serde(rename = "one repeat")]
    OneRepeat,
    /// Figures of 0, or none in the same repeats.
    #[serde(rename = "no ratios within repeats")]
    NoRatios,
}
