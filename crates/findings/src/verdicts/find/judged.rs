//! A judged series with its pairs of configurations.

use crate::dependence::find::Dependence;
use crate::verdicts::find::contrast::Tested;

/// Two configurations by one judged series.
pub(crate) struct Pair {
    pub left: usize,
    pub right: usize,
    /// Mean of ln(left / right) within blocks.
    pub mean: f64,
    /// Median of ln(left / right) within blocks.
    pub median: f64,
    pub tested: Tested,
}

/// A judged series with its pairs.
pub(crate) struct Judged {
    pub task: usize,
    pub metric: &'static str,
    pub pairs: Vec<Pair>,
    /// By configuration.
    pub dependences: Vec<Option<Dependence>>,
}
