//! Claims as TOML has them: the only description of their words.
//!
//! ```toml
//! [[claim]]
//! id = "P06"
//! text = "ext2 and ext3 win by far at removing files; XFS is the slowest no longer."
//! note = "By far is read as at least twice."       # how words were read
//! clauses = [
//!     { tasks = ["003"], order = "{ext2,ext3} > others" },
//!     { tasks = ["003"], ratio = "others > {ext2,ext3}", at_least = 2 },
//!     { run = "1", tasks = ["003"], last = true, on = ["xfs"] },
//! ]
//! ```
//!
//! A claim without clauses says why: `undecidable = "A sentence."`; or what decides it without a measurement:
//! `answered = { holds = false, why = "A sentence." }`; or what it says of power cuts, by the study's cases:
//! `power_cuts = { cases = ["C1"], on = ["ext3"], only = ["new"] }`, or `seen`, or `rarer` with `than`, instead of `only`.
//!
//! `needs = { scale = 0.75, disk_size = "400 GB" }` is what a run must have at least to judge a claim; a study's own is what
//! its claims need if they do not say.
//!
//! A clause says which figures it is about, and one thing of them: an order, a ratio, a difference, a place, a value or a
//! spread.

use serde::{Deserialize, Serialize};

use super::{Among, Clause, Limits, Over, Test};
use crate::{Better, Metric, Order};

/// Maximum difference of figures called equal, unless a clause sets another.
const WITHIN: f64 = 0.05;

/// A part of a claim: which figures, and what is said of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Written {
    /// Ids of the suite's tasks, protocol steps, `all`, or a name of the study's `[groups]`. Of a run that varies a
    /// parameter they are those at each of its points.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<String>,
    /// The suite of the tasks, if not the study's.
    #[serde(skip_serializing_if = "Option::is_none")]
    suite: Option<String>,
    /// Which of the study's runs, if not its first.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// Metric id; `elapsed` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    metric: Option<String>,
    /// Which values are better, of a metric that Mountmark does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    better: Option<String>,
    /// How the tasks are combined.
    over: Over,
    /// An order of file systems, best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<Order>,
    /// An order of tasks, for each file system in `on`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks_order: Option<Order>,
    /// An order of metrics, for each file system in `on`.
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics_order: Option<Order>,
    /// An order of each point of a varied parameter and the next larger one, for each file system in `on`:
    /// `"smaller > larger"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    points_order: Option<Order>,
    /// With `points_order`: what measures it where a run has no points: `"disk-size=512MiB..4GiB:2"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    vary: Option<String>,
    /// An order of the study's runs, for each file system in `on`.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs_order: Option<Order>,
    /// Each of `on` is among the best of this number.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<usize>,
    /// Each of `on` is, or is not, the worst.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<bool>,
    /// The figure itself lies from `at_least` to `at_most`, for `on` or for all.
    #[serde(skip_serializing_if = "is_false")]
    value: bool,
    /// As `ratio`, with a difference in the metric's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<Order>,
    /// Each of the left over the mean of the right lies from `at_least` to `at_most`: `"left > right"`. With `any{...}` on
    /// the right, over one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<Order>,
    /// The largest figure over the smallest lies from `at_least` to `at_most`, of `on` or of all.
    #[serde(skip_serializing_if = "is_false")]
    spread: bool,
    /// With `spread`: which of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    among: Option<Among>,
    /// The file systems that it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    on: Vec<String>,
    /// The largest difference of equal figures: 0.05 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<f64>,
    /// The smallest value that passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_least: Option<f64>,
    /// The largest value that passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    /// The smallest relative difference that counts; 0.0001 is 0.01 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    smallest: Option<f64>,
}

/// The names in an order of points.
pub const POINTS: [&str; 2] = ["smaller", "larger"];

/// `order`, if it has two groups.
fn two_groups(order: &Order, kind: &str) -> Result<Order, String> {
    match order.groups().len() {
        2 => Ok(order.clone()),
        _ => Err(format!("a {kind} has two groups: `left > right`")),
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Written {
    fn limits(&self) -> Result<Limits, String> {
        let limits = Limits { at_least: self.at_least, at_most: self.at_most };
        let values: Vec<f64> = [limits.at_least, limits.at_most].into_iter().flatten().collect();
        match values[..] {
            [] => Err("value, difference, ratio and spread need at_least or at_most".into()),
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

    /// The parameter and points of an order of points.
    fn varied(&self, order: &Order) -> Result<String, String> {
        if order.names().any(|name| !POINTS.contains(&name)) {
            return Err(format!("points_order is of `{}` and `{}`", POINTS[0], POINTS[1]));
        }
        let vary = self.vary.as_ref().filter(|vary| vary.split_once('=').is_some_and(|(name, _)| !name.is_empty()));
        vary.cloned().ok_or_else(|| "points_order needs `vary`, such as \"disk-size=512MiB..4GiB:2\"".into())
    }

    /// Refuses words that this test does not use, where they would change what a reader takes it for.
    fn fits(&self, test: &Test) -> Result<(), String> {
        if self.among.is_some() && !self.spread {
            return Err("`among` belongs to spread".into());
        }
        if self.vary.is_some() && self.points_order.is_none() {
            return Err("`vary` belongs to points_order".into());
        }
        if self.run.is_some() && matches!(test, Test::StudyRuns { .. }) {
            return Err("runs_order names the runs: leave `run` out".into());
        }
        if self.run.is_some() && self.suite.is_some() {
            return Err("`run` is a run of this study, and `suite` of another: leave one out".into());
        }
        let is_all = self.tasks.iter().any(|task| task == "all");
        let within_task = matches!(test, Test::Tasks { .. } | Test::Metrics { .. } | Test::Points { .. });
        if self.over == Over::Quotient && (self.tasks.len() != 2 || is_all || within_task) {
            return Err("over = \"quotient\" takes two tasks: the first is divided by the second".into());
        }
        Ok(())
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
        if let Some(order) = self.points_order.clone() {
            tests.push(Test::Points { vary: self.varied(&order)?, order, within, on: self.on()? });
        }
        if let Some(order) = self.runs_order.clone() {
            tests.push(Test::StudyRuns { order, within, on: self.on()? });
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
        if let Some(order) = self.difference.as_ref() {
            tests.push(Test::Difference { order: two_groups(order, "difference")?, limits: self.limits()? });
        }
        if let Some(order) = self.ratio.as_ref() {
            tests.push(Test::Ratio { order: two_groups(order, "ratio")?, limits: self.limits()? });
        }
        if self.spread {
            let among = self.among.unwrap_or_default();
            tests.push(Test::Spread { limits: self.limits()?, among, on: self.on.clone() });
        }
        let kinds = "order, tasks_order, metrics_order, points_order, runs_order, first, last, value, difference, ratio or spread";
        match tests.len() {
            1 => Ok(tests.remove(0)),
            0 => Err(format!("a clause needs one of {kinds}")),
            _ => Err(format!("a clause has one of {kinds}, not several: make them clauses of their own")),
        }
    }
}

impl TryFrom<Written> for Clause {
    type Error = String;

    fn try_from(raw: Written) -> Result<Clause, String> {
        let test = raw.test()?;
        if raw.tasks.is_empty() && !matches!(test, Test::Tasks { .. }) {
            return Err("a clause needs `tasks`: task ids, protocol steps, or \"all\"".into());
        }
        raw.fits(&test)?;
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
        let Written { tasks, suite, run, over, smallest, .. } = raw;
        Ok(Clause { tasks, suite, run, metric, better, over, test, smallest })
    }
}

impl From<Clause> for Written {
    fn from(clause: Clause) -> Written {
        let better = match clause.better {
            Better::Lower => "lower",
            Better::Higher => "higher",
        };
        let mut raw = Written {
            tasks: clause.tasks,
            suite: clause.suite,
            run: clause.run,
            metric: Some(clause.metric),
            better: Some(better.into()),
            over: clause.over,
            smallest: clause.smallest,
            ..Written::default()
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
            Test::Points { order, within, vary, on } => {
                (raw.points_order, raw.within, raw.vary, raw.on) = (Some(order), Some(within), Some(vary), on);
            }
            Test::StudyRuns { order, within, on } => {
                (raw.runs_order, raw.within, raw.on) = (Some(order), Some(within), on);
            }
            Test::First { places, on } => (raw.first, raw.on) = (Some(places), on),
            Test::Last { is, on } => (raw.last, raw.on) = (Some(is), on),
            Test::Value { limits, on } => {
                limit(limits);
                (raw.value, raw.on) = (true, on);
            }
            Test::Difference { order, limits } => {
                limit(limits);
                raw.difference = Some(order);
            }
            Test::Ratio { order, limits } => {
                limit(limits);
                raw.ratio = Some(order);
            }
            Test::Spread { limits, among, on } => {
                limit(limits);
                (raw.spread, raw.among, raw.on) = (true, Some(among), on);
            }
        }
        raw
    }
}
