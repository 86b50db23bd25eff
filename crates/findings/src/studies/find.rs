//! Compares a run with a published study: figures, ranks, agreement of the two orders, and the largest changes.
//!
//! This folder does not know where studies are read or how a comparison is shown and worded; fields that JSON has in
//! words are not serialised here.

mod agreement;
mod compare;
mod curves;
mod table;
mod warning;

use mountmark_model::{Better, Metric};
use serde::Serialize;

pub use agreement::{Agreement, Limit, kendall_tau_b};
pub use compare::{RESAMPLES, compare_study};
pub use curves::{Curves, Line};
pub(crate) use table::{Point, Table};
pub use warning::{Warning, unfinished};

/// A run compared with one run of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudyComparison {
    /// The study's name.
    pub study: String,
    /// Its title, authors, place and year in one line.
    pub source: String,
    /// Which of its runs.
    pub study_run: String,
    /// What distinguishes that run.
    pub study_run_about: String,
    /// Ids of the study's other runs.
    pub other_study_runs: Vec<String>,
    /// The run's name.
    pub run: String,
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
    /// All tests of a metric combined.
    #[serde(skip)]
    pub overall: Vec<OverallComparison>,
    /// All figures of both sides by metric, as lines over the study's tests.
    #[serde(skip)]
    pub curves: Vec<Curves>,
    /// The largest changes of rank, largest first.
    pub moves: Vec<RankMove>,
    /// The largest changes of the ratio to the group, largest first.
    pub changes: Vec<RatioChange>,
    /// Tasks with a figure in the study and none in the run.
    #[serde(skip)]
    pub not_measured: Vec<NotMeasured>,
    /// Figures that only one file system has on both sides.
    #[serde(skip)]
    pub single: Vec<Single>,
    /// How the run's suite performs the tests that moved, from the suite.
    pub decisions: Vec<String>,
    /// Where the publication contradicts itself, from the study's file.
    pub inconsistencies: Vec<String>,
}

/// A task with figures in a study and none in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotMeasured {
    /// Task id, or a protocol step.
    pub task: String,
    pub title: String,
    pub metrics: Vec<String>,
}

/// A figure that only one file system has on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Single {
    /// Task id, or a protocol step.
    pub task: String,
    pub fs: String,
    pub metric: &'static Metric,
    pub published: f64,
    pub measured: f64,
}

/// One test with figures on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestComparison {
    /// Task id, or a protocol step.
    pub task: String,
    /// The task's title.
    pub title: String,
    /// Metric id.
    pub metric: String,
    /// Unit of the figures.
    pub unit: String,
    /// Which values are better; `lower` or `higher` in JSON.
    #[serde(serialize_with = "better_word")]
    pub better: Better,
    /// By position in [`StudyComparison::common`].
    pub entries: Vec<ComparedFigure>,
    #[serde(skip)]
    pub agreement: Agreement,
}

/// One file system at one test, on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedFigure {
    /// `None` if there is none for this file system alone.
    pub published: Option<f64>,
    /// The run's mean.
    pub measured: Option<f64>,
    /// Rank among the file systems with both figures, 1 is the best; equal figures share the mean of their ranks.
    pub published_rank: Option<f64>,
    /// The same for the run.
    pub measured_rank: Option<f64>,
    /// Published figure over the geometric mean of those file systems; `None` if one of them is not above 0.
    pub published_ratio: Option<f64>,
    /// The same for the run.
    pub measured_ratio: Option<f64>,
}

/// All tests of one metric combined.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverallComparison {
    /// Metric id.
    pub metric: String,
    /// Number of tests with a tau.
    pub tests: usize,
    /// Mean of the tests' Kendall's tau-b.
    pub mean_tau: Option<f64>,
    /// 95 % interval of the mean tau under resampling of tests.
    pub mean_tau_interval: Option<mountmark_stats::interval::Interval>,
    /// Pairs of file systems in the same order on both sides, over all tests.
    pub same: usize,
    /// Pairs in reversed order.
    pub reversed: usize,
    /// Pairs that are equal on one side or both.
    pub tied: usize,
    /// By position in [`StudyComparison::common`]: geometric mean over tests of the published ratio to the group.
    pub published_score: Vec<Option<f64>>,
    /// The same for the run.
    pub measured_score: Vec<Option<f64>>,
    /// Agreement of the orders of the scores.
    #[serde(skip)]
    pub agreement: Agreement,
}

/// A file system whose rank changed at a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankMove {
    /// Task id, or a protocol step.
    pub task: String,
    /// The task's title.
    pub title: String,
    /// Metric id.
    pub metric: String,
    /// Configuration name.
    pub fs: String,
    /// Published rank.
    pub from: f64,
    /// Rank in the run.
    pub to: f64,
    /// Number of ranked file systems.
    pub of: usize,
    /// Published figure.
    pub published: f64,
    /// The run's figure.
    pub measured: f64,
}

/// A file system whose ratio to the group changed at a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioChange {
    /// Task id, or a protocol step.
    pub task: String,
    /// The task's title.
    pub title: String,
    /// Metric id.
    pub metric: String,
    /// Configuration name.
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
