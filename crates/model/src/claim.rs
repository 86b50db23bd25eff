//! Claims of studies, in a form that figures can decide.

use serde::{Deserialize, Serialize};

use crate::{Better, Metric, Order};

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
    /// Its parts: the claim holds if all of them do.
    #[serde(default)]
    pub clauses: Vec<Clause>,
}

/// One part of a claim: a test of the figures of tasks in one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawClause", into = "RawClause")]
pub struct Clause {
    /// Task ids or protocol steps; `all` for every task of the suite.
    pub tasks: Vec<String>,
    /// The suite of the tasks, if not the study's.
    pub suite: Option<String>,
    pub metric: String,
    pub better: Better,
    /// How several tasks are combined.
    pub over: Over,
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
    /// Like `Each`, but one must pass.
    Some,
    Total,
    Mean,
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
    /// Each of the left group over the mean of the right group.
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
        /// All that the study measured if empty.
        on: Vec<String>,
    },
}

/// A closed range; at least one limit is set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
}

/// Maximum difference of figures called equal, unless a clause sets another.
const WITHIN: f64 = 0.05;

/// A clause in TOML. Exactly one of `order`, `tasks_order`, `metrics_order`, `first`, `last`, `value`, `ratio` and
/// `spread` selects the test.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawClause {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suite: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metric: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    better: Option<String>,
    over: Over,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<Order>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks_order: Option<Order>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics_order: Option<Order>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<bool>,
    #[serde(skip_serializing_if = "is_false")]
    value: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<Order>,
    #[serde(skip_serializing_if = "is_false")]
    spread: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    on: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_least: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    smallest: Option<f64>,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl RawClause {
    fn limits(&self) -> Result<Limits, String> {
        let limits = Limits { at_least: self.at_least, at_most: self.at_most };
        let values: Vec<f64> = [limits.at_least, limits.at_most].into_iter().flatten().collect();
        match values[..] {
            [] => Err("value, ratio and spread need at_least or at_most".into()),
            [low, high] if low > high => Err(format!("at_least {low} is above at_most {high}")),
            _ if values.iter().all(|value| value.is_finite()) => Ok(limits),
            _ => Err("limits are finite numbers".into()),
        }
    }

    fn on(&self) -> Result<Vec<String>, String> {
        if self.on.is_empty() {
            Err("`on` must name the file systems that this is about".into())
        } else {
            Ok(self.on.clone())
        }
    }

    fn test(&self) -> Result<Test, String> {
        let within = self.within.unwrap_or(WITHIN);
        if !(within.is_finite() && (0.0..=1.0).contains(&within)) {
            return Err(format!("within is a share from 0 to 1, such as 0.05 for 5 %, not {within}"));
        }
        let mut tests = Vec::new();
        if let Some(order) = self.order.clone() {
            tests.push(Test::FileSystems { order, within });
        }
        if let Some(order) = self.tasks_order.clone() {
            tests.push(Test::Tasks { order, within, on: self.on()? });
        }
        if let Some(order) = self.metrics_order.clone() {
            tests.push(Test::Metrics { order, within, on: self.on()? });
        }
        if let Some(places) = self.first {
            tests.push(Test::First { places, on: self.on()? });
        }
        if let Some(is) = self.last {
            tests.push(Test::Last { is, on: self.on()? });
        }
        if self.value {
            tests.push(Test::Value { limits: self.limits()?, on: self.on.clone() });
        }
        if let Some(order) = self.ratio.clone() {
            if order.groups().len() != 2 {
                return Err("a ratio has two groups: `left > right`".into());
            }
            tests.push(Test::Ratio { order, limits: self.limits()? });
        }
        if self.spread {
            tests.push(Test::Spread { limits: self.limits()?, on: self.on.clone() });
        }
        let kinds = "order, tasks_order, metrics_order, first, last, value, ratio or spread";
        match tests.len() {
            1 => Ok(tests.remove(0)),
            0 => Err(format!("a clause needs one of {kinds}")),
            _ => Err(format!("a clause has one of {kinds}, not several: make them clauses of their own")),
        }
    }
}

impl TryFrom<RawClause> for Clause {
    type Error = String;

    fn try_from(raw: RawClause) -> Result<Clause, String> {
        let test = raw.test()?;
        if raw.tasks.is_empty() && !matches!(test, Test::Tasks { .. }) {
            return Err("a clause needs `tasks`: task ids, protocol steps, or \"all\"".into());
        }
        let metric = raw.metric.clone().unwrap_or_else(|| Metric::ELAPSED.id.to_owned());
        let said = match raw.better.as_deref() {
            None => None,
            Some("lower") => Some(Better::Lower),
            Some("higher") => Some(Better::Higher),
            Some(other) => return Err(format!("better is \"lower\" or \"higher\", not {other:?}")),
        };
        let better = match (Metric::find(&metric).map(|known| known.better), said) {
            (Some(known), Some(said)) if known != said => {
                return Err(format!("better contradicts the metric {metric}: leave it out"));
            }
            (Some(better), _) | (None, Some(better)) => better,
            (None, None) => return Err(format!("{metric} is no metric of ours: say better = \"lower\" or \"higher\"")),
        };
        if raw.smallest.is_some_and(|smallest| !(smallest.is_finite() && (0.0..1.0).contains(&smallest))) {
            return Err("smallest is a share from 0 to 1, such as 0.01 for 1 %".into());
        }
        Ok(Clause { tasks: raw.tasks, suite: raw.suite, metric, better, over: raw.over, test, smallest: raw.smallest })
    }
}

impl From<Clause> for RawClause {
    fn from(clause: Clause) -> RawClause {
        let better = match clause.better {
            Better::Lower => "lower",
            Better::Higher => "higher",
        };
        let mut raw = RawClause {
            tasks: clause.tasks,
            suite: clause.suite,
            metric: Some(clause.metric),
            better: Some(better.into()),
            over: clause.over,
            smallest: clause.smallest,
            ..RawClause::default()
        };
        let mut limit = |limits: Limits| {
            raw.at_least = limits.at_least;
            raw.at_most = limits.at_most;
        };
        match clause.test {
            Test::FileSystems { order, within } => {
                (raw.order, raw.within) = (Some(order), Some(within));
            }
            Test::Tasks { order, within, on } => {
                (raw.tasks_order, raw.within, raw.on) = (Some(order), Some(within), on);
            }
            Test::Metrics { order, within, on } => {
                (raw.metrics_order, raw.within, raw.on) = (Some(order), Some(within), on);
            }
            Test::First { places, on } => (raw.first, raw.on) = (Some(places), on),
            Test::Last { is, on } => (raw.last, raw.on) = (Some(is), on),
            Test::Value { limits, on } => {
                limit(limits);
                (raw.value, raw.on) = (true, on);
            }
            Test::Ratio { order, limits } => {
                limit(limits);
                raw.ratio = Some(order);
            }
            Test::Spread { limits, on } => {
                limit(limits);
                (raw.spread, raw.on) = (true, on);
            }
        }
        raw
    }
}
