//! Claims of studies, in a form that figures can decide. How they are written is documented in `written.rs`.

mod written;

use serde::{Deserialize, Serialize};

use crate::{Better, Bytes, CaseClaim, Order, Scale};
pub use written::POINTS;
use written::Written;

/// A statement of a study about file systems.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Short and unique: `P07`.
    pub id: String,
    /// The claim as a sentence.
    pub text: String,
    /// How its words were interpreted, and where the study's own figures do not support it.
    #[serde(default)]
    pub note: Option<String>,
    /// Why no figures can decide it, as a sentence; it then has no clauses.
    #[serde(default)]
    pub undecidable: Option<String>,
    /// What decides it without a measurement; it then has no clauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Answered>,
    /// What a run needs at least to judge it; what is left out is the study's.
    #[serde(default, skip_serializing_if = "Needs::is_nothing")]
    pub needs: Needs,
    /// What it says of power cuts, which a campaign shows and no run; it then has no clauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_cuts: Option<CaseClaim>,
    /// Its parts: the claim holds if all of them do.
    #[serde(default)]
    pub clauses: Vec<Clause>,
}

/// An answer that a program's own setting gives: nothing varies that could be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    /// Whether the claim holds.
    pub holds: bool,
    /// The setting, and where it can be read, in sentences.
    pub why: String,
}

/// The least that a run must have to judge a claim: on less, other things decide its figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Needs {
    /// Part of the suite's own counts and sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// Size of the file system under test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_size: Option<Bytes>,
}

impl Needs {
    pub fn is_nothing(&self) -> bool {
        *self == Needs::default()
    }

    /// These, and what they leave out from `others`.
    pub fn or(self, others: Needs) -> Needs {
        Needs { scale: self.scale.or(others.scale), disk_size: self.disk_size.or(others.disk_size) }
    }
}

/// One part of a claim: a test of the figures of tasks in one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Clause {
    /// Task ids or protocol steps; `all` for every task of the suite, or a name of the study's groups.
    pub tasks: Vec<String>,
    /// The suite of the tasks, if not the study's.
    pub suite: Option<String>,
    /// The study's run that it is about, if not the first.
    pub run: Option<String>,
    /// Metric id.
    pub metric: String,
    /// Which values are better.
    pub better: Better,
    /// How several tasks are combined.
    pub over: Over,
    /// What is compared.
    pub test: Test,
    /// The smallest relative difference that counts, if not the default: 0.0001 is 0.01 %.
    pub smallest: Option<f64>,
}

/// How the figures of several tasks are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// Each task is a separate test, and all must pass.
    #[default]
    Each,
    /// Like `Each`, but more than half must pass.
    Most,
    /// Like `Each`, but nine in ten must pass.
    NearlyAll,
    /// Like `Each`, but three must pass.
    Several,
    /// Like `Each`, but one must pass.
    Some,
    /// Their sum.
    Total,
    /// Their mean.
    Mean,
    /// The first of two tasks over the second.
    Quotient,
    /// The largest over the smallest.
    Spread,
    /// The geometric mean of their ratios to the best figure of each task: independent of units and sizes.
    Score,
}

/// The tested condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// File systems in an order, best first.
    FileSystems {
        order: Order,
        /// Maximum difference of equal figures: 0.05 is 5 %.
        within: f64,
    },
    /// Tasks of one file system in an order.
    Tasks {
        /// `tasks` is not used.
        order: Order,
        /// Maximum difference of equal figures.
        within: f64,
        on: Vec<String>,
    },
    /// Metrics of one file system at one task in an order.
    Metrics {
        /// `metric` decides which values are better.
        order: Order,
        /// Maximum difference of equal figures.
        within: f64,
        on: Vec<String>,
    },
    /// Points of a varied parameter in an order, for one file system: each point and the next larger one.
    Points {
        /// Of `smaller` and `larger`.
        order: Order,
        /// Maximum difference of equal figures.
        within: f64,
        /// As `--vary` takes it, for a run that would judge it; a run with any points of this parameter does.
        vary: String,
        on: Vec<String>,
    },
    /// Runs of the study in an order, for one file system.
    StudyRuns {
        order: Order,
        /// Maximum difference of equal figures.
        within: f64,
        on: Vec<String>,
    },
    /// File systems in the first places among those that the study measured.
    First { places: usize, on: Vec<String> },
    /// File systems that are, or are not, the worst of those that the study measured.
    Last {
        /// Whether it must be the worst.
        is: bool,
        on: Vec<String>,
    },
    Value {
        /// In the metric's unit.
        limits: Limits,
        /// All that the study measured if empty.
        on: Vec<String>,
    },
    /// Each of the left group less the mean of the right group.
    Difference {
        /// Two groups, written `left > right`.
        order: Order,
        /// In the metric's unit.
        limits: Limits,
    },
    /// Each of the left group over the mean of the right group; over one of them, where that is an `any` group.
    Ratio {
        /// Two groups, written `left > right`.
        order: Order,
        /// Limits of the quotient.
        limits: Limits,
    },
    /// The largest value over the smallest.
    Spread {
        /// Limits of the quotient.
        limits: Limits,
        among: Among,
        /// All that the study measured if empty.
        on: Vec<String>,
    },
}

/// The file systems of a spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Among {
    /// All of them.
    #[default]
    All,
    /// More than half of them: those nearest to each other.
    Most,
}

impl Over {
    /// Whether each task is a test of its own.
    pub fn is_by_task(self) -> bool {
        matches!(self, Over::Each | Over::Most | Over::NearlyAll | Over::Several | Over::Some)
    }

    /// Whether its figures have no unit.
    pub fn is_ratio(self) -> bool {
        matches!(self, Over::Quotient | Over::Spread | Over::Score)
    }
}

impl Test {
    /// The parameter that must be varied: what stands before the `=`.
    pub fn varies(&self) -> Option<(&str, &str)> {
        match self {
            Test::Points { vary, .. } => Some((vary.split('=').next().unwrap_or_default(), vary)),
            _ => None,
        }
    }
}

impl Clause {
    /// The file systems that it names.
    pub fn names(&self) -> Vec<&str> {
        match &self.test {
            Test::FileSystems { order, .. } | Test::Difference { order, .. } | Test::Ratio { order, .. } => {
                order.names().collect()
            }
            Test::Tasks { on, .. }
            | Test::Metrics { on, .. }
            | Test::Points { on, .. }
            | Test::StudyRuns { on, .. }
            | Test::First { on, .. }
            | Test::Last { on, .. }
            | Test::Value { on, .. }
            | Test::Spread { on, .. } => on.iter().map(String::as_str).collect(),
        }
    }

    /// The runs of the study whose figures it needs; `None` is the first.
    pub fn runs(&self) -> Vec<Option<&str>> {
        match &self.test {
            Test::StudyRuns { order, .. } => order.names().map(Some).collect(),
            _ => vec![self.run.as_deref()],
        }
    }
}

/// A closed range; at least one limit is set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// The smallest value that passes.
    pub at_least: Option<f64>,
    /// The largest value that passes.
    pub at_most: Option<f64>,
}
