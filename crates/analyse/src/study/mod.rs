//! A run beside a published study: figures, ranks, how far the two orders agree, and what moved.
//!
//! This folder does not know where studies are read or how a comparison is shown and worded; fields that JSON has in
//! words are not serialised here.

mod agreement;
mod compare;
mod table;
mod warning;

use mountmark_model::{Better, Metric};
use serde::Serialize;

pub use agreement::{Agreement, Limit, kendall_tau_b};
pub use compare::{RESAMPLES, compare_study};
pub(crate) use table::{Table, is_step};
pub use warning::{Warning, unfinished};

/// A run beside one run of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudyComparison {
    /// Name of the study.
    pub study: String,
    /// Its title, authors, place and year in one line.
    pub source: String,
    /// Which of the study's runs.
    pub study_run: String,
    /// What sets that run apart.
    pub study_run_about: String,
    /// The study's other runs: their ids.
    pub other_study_runs: Vec<String>,
    /// Name of the run of this program.
    pub run: String,
    /// What keeps the two from being compared in seconds.
    #[serde(skip)]
    pub warnings: Vec<Warning>,
    /// Configurations on both sides, in the study's order.
    pub common: Vec<String>,
    /// Configurations that only the study has.
    pub only_published: Vec<String>,
    /// Configurations that only the run has.
    pub only_measured: Vec<String>,
    /// Each task and metric with figures on both sides, in the order of the run's metrics and tasks.
    #[serde(skip)]
    pub tests: Vec<TestComparison>,
    /// All tests of a metric together.
    #[serde(skip)]
    pub overall: Vec<OverallComparison>,
    /// The largest changes of rank, largest first.
    pub moves: Vec<RankMove>,
    /// The largest changes of the ratio to the group, largest first.
    pub changes: Vec<RatioChange>,
    /// What the study printed a figure of and the run has none of.
    #[serde(skip)]
    pub not_measured: Vec<NotMeasured>,
    /// Figures that one file system alone has on both sides.
    #[serde(skip)]
    pub single: Vec<Single>,
    /// How the run's suite does the tests that moved, as the suite says it.
    pub decisions: Vec<String>,
    /// Where the publication contradicts itself, as the study's file says it.
    pub inconsistencies: Vec<String>,
}

/// A task of which a study printed figures that a run has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotMeasured {
    /// Task id, or a protocol step.
    pub task: String,
    /// What it does.
    pub title: String,
    /// Metric ids.
    pub metrics: Vec<String>,
}

/// A figure that one file system alone has on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Single {
    /// Task id, or a protocol step.
    pub task: String,
    /// Which file system.
    pub fs: String,
    /// What was measured.
    pub metric: &'static Metric,
    /// The published figure.
    pub published: f64,
    /// The run's.
    pub measured: f64,
}

/// One task by one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestComparison {
    /// Task id, or a protocol step.
    pub task: String,
    /// What it does.
    pub title: String,
    /// Metric id.
    pub metric: String,
    /// Unit of the figures.
    pub unit: String,
    /// `lower` or `higher`: which values are the better ones.
    #[serde(serialize_with = "better_word")]
    pub better: Better,
    /// By position in [`StudyComparison::common`].
    pub entries: Vec<ComparedFigure>,
    /// How far the two orders agree.
    #[serde(skip)]
    pub agreement: Agreement,
}

/// One file system at one test, on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedFigure {
    /// The published figure; `None` where there is none for this file system alone.
    pub published: Option<f64>,
    /// The run's mean.
    pub measured: Option<f64>,
    /// Rank among the file systems that have both figures, 1 the best; equals share the mean of their ranks.
    pub published_rank: Option<f64>,
    /// The same for the run.
    pub measured_rank: Option<f64>,
    /// Published figure over the geometric mean of those file systems; `None` where one of them is not above 0.
    pub published_ratio: Option<f64>,
    /// The same for the run.
    pub measured_ratio: Option<f64>,
}

/// All tests of one metric together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverallComparison {
    /// Metric id.
    pub metric: String,
    /// How many tests have a tau.
    pub tests: usize,
    /// The mean of their taus.
    pub mean_tau: Option<f64>,
    /// 95 % interval of the mean tau under resampling of tests.
    pub mean_tau_interval: Option<crate::Interval>,
    /// Pairs of file systems that stand in the same order on both sides, over all tests.
    pub same: usize,
    /// Pairs that stand the other way round.
    pub reversed: usize,
    /// Pairs that are equal on one side or both.
    pub tied: usize,
    /// By position in [`StudyComparison::common`]: geometric mean over tests of the published ratio to the group.
    pub published_score: Vec<Option<f64>>,
    /// The same for the run.
    pub measured_score: Vec<Option<f64>>,
    /// How far the orders of the scores agree.
    #[serde(skip)]
    pub agreement: Agreement,
}

/// A file system that changed its rank at a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankMove {
    /// Task id.
    pub task: String,
    /// What it does.
    pub title: String,
    /// Metric id.
    pub metric: String,
    /// Which configuration.
    pub fs: String,
    /// Published rank.
    pub from: f64,
    /// Rank in the run.
    pub to: f64,
    /// How many were ranked.
    pub of: usize,
    /// The published figure.
    pub published: f64,
    /// The run's.
    pub measured: f64,
}

/// A file system whose figure changed against the others at a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioChange {
    /// Task id.
    pub task: String,
    /// What it does.
    pub title: String,
    /// Metric id.
    pub metric: String,
    /// Which configuration.
    pub fs: String,
    /// Published ratio to the group.
    pub from: f64,
    /// Ratio in the run.
    pub to: f64,
    /// `to` over `from`.
    pub factor: f64,
}

fn better_word<S: serde::Serializer>(better: &Better, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match better {
        Better::Lower => "lower",
        Better::Higher => "higher",
    })
}
