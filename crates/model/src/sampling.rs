//! How a run finds out how many repeats it makes: until its figures are known well enough, or its time is up.

use serde::{Deserialize, Serialize};

use crate::Corpus;

/// What the user asked for, all that later repeats are made from, and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// `--precision`: half the width of a figure's interval as part of the figure, 0.02 for 2 %; `None`: no target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// `--budget`: seconds of this machine's time, which is not the lab's; `None`: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Repeats before anything is decided.
    pub least: u32,
    /// Whether each repeat draws an order of tasks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_order: bool,
    /// What corpora of later repeats are made from; `None` if there are none, or all repeats use the user's own files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corpus: Option<Corpus>,
    /// `None` while it goes on, and if it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<SamplingEnd>,
}

/// Why no further repeats were made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SamplingEnd {
    /// The reason.
    pub why: WhyEnded,
    /// Seconds of this machine's time that all measuring took.
    pub used: f64,
}

/// Reasons to make no further repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhyEnded {
    /// Every figure is as precise as was asked for.
    Settled,
    /// Another repeat would not fit into the budget.
    Time,
    /// There are as many repeats as there may be.
    Most,
}

impl Sampling {
    /// Fewest repeats before a decision by intervals: with fewer their widths are chance.
    pub const LEAST: u32 = 5;
    /// Most repeats on a target if no budget ends them.
    pub const MOST: u32 = 30;
    /// Most repeats on a target in any case.
    pub const MOST_IN_BUDGET: u32 = 1000;
}
