//! Places of configurations, in a kind of work and in all.

use mountmark_stats::interval::Interval;
use serde::Serialize;

use crate::figures::find::basis::{Basis, Category};
use crate::options::Options;

/// The ranking over the tasks of one kind of work.
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
    /// Judged tests that the ranking leaves out: their figures have no ratios, or no rank, as what a program prints.
    #[serde(skip)]
    pub unranked: Vec<usize>,
}

/// One place of a ranking.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rank {
    /// Index of the configuration in the run.
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
    /// Judged tests that the ranking leaves out: their figures have no ratios, or no rank, as what a program prints.
    #[serde(skip)]
    pub unranked: Vec<usize>,
}

/// Most that share the first place and are named.
pub const FEW: usize = 3;

/// How the first places of a ranking relate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lead {
    /// All are closer than the smallest difference that matters.
    AllLevel,
    /// The first `count` of them share the first place: two or more.
    Shared { count: usize, level: Level },
    First {
        /// Whether it is the best in every test.
        everywhere: bool,
    },
}

/// Why the first ones count as level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    /// The first place changes too often under resampling of repeats.
    Unsteady,
    /// They are closer than the smallest difference that matters.
    Close,
    /// Their intervals overlap: repeats that agree keep their order in every draw, and still show no difference.
    NotShown,
}

impl Lead {
    /// `None` if fewer than two are ranked.
    pub(crate) fn of(ranking: &[Rank], options: &Options) -> Option<Lead> {
        let [first, second, ..] = ranking else { return None };
        let is_close = |rank: &Rank| rank.score / first.score < 1.0 + options.matters;
        let overlaps = |rank: &Rank| rank.interval.as_ref().is_some_and(|found| found.low <= first.score);
        let shared = |is_with: &dyn Fn(&Rank) -> bool, level| {
            let count = 1 + ranking[1..].iter().take_while(|rank| is_with(rank)).count();
            Lead::Shared { count: count.max(2), level }
        };
        Some(match () {
            () if ranking.last().is_some_and(|last| ranking.len() > 2 && is_close(last)) => Lead::AllLevel,
            () if is_close(second) => shared(&is_close, Level::Close),
            () if first.resampled.is_some_and(|share| share < options.level) => shared(&overlaps, Level::Unsteady),
            () if overlaps(second) => shared(&overlaps, Level::NotShown),
            // Logarithms of equal figures cancel exactly, their sums only up to rounding.
            () => Lead::First { everywhere: first.score < 1.0 + 1e-9 },
        })
    }
}
