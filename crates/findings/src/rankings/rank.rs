//! Places of configurations, in a kind of work and in all.

use mountmark_stats::interval::Interval;
use serde::Serialize;

use crate::figures::basis::{Basis, Category};
use crate::rankings::lead::Lead;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CategoryFindings {
    #[serde(skip)]
    pub category: Category,
    /// The metrics behind the score.
    #[serde(skip)]
    pub basis: Basis,
    /// Best first.
    pub ranking: Vec<Rank>,
    /// Whether the first leads; `None` if fewer than two are ranked.
    #[serde(skip)]
    pub lead: Option<Lead>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rank {
    pub configuration: usize,
    /// Geometric mean of its ratios to the best of each task: 1 is best everywhere, 2 takes twice as long.
    pub score: f64,
    /// 95 % interval of the score under resampling of repeats; `None` with one repeat.
    pub interval: Option<Interval>,
    /// Share of resamplings in which it keeps this place, 0 to 1; `None` with so few repeats that equal ones too would
    /// often keep theirs in all.
    pub stability: Option<f64>,
    /// The same, from two repeats on: a place that changes is no lead, though one that does not may be luck.
    #[serde(skip)]
    pub resampled: Option<f64>,
}

/// All tasks together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overall {
    /// By configuration: the sum of the returned times of all tasks in seconds, as Piszcz plotted it, from medians over
    /// repeats; `None` if a task has no figure.
    pub composite: Vec<Option<f64>>,
    /// By configuration: geometric mean over all tasks of the ratios to the baseline, by the metric that judges each
    /// task; inverse ratios for rates, so that less is better everywhere.
    pub geometric_mean: Vec<Option<f64>>,
    /// The metrics that judge the tasks.
    #[serde(skip)]
    pub basis: Basis,
    /// By the score over all tasks, best first.
    pub ranking: Vec<Rank>,
    /// Whether the first leads; `None` if fewer than two are ranked.
    #[serde(skip)]
    pub lead: Option<Lead>,
}
