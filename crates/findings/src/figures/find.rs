//! Figures of tasks: plain data for tables, reports and exports.
//!
//! Configurations are indices into [`crate::found::Findings::configurations`], so that no name is looked up twice. Fields that
//! JSON has in words are not serialised here.

pub(crate) mod basis;
pub(crate) mod cut;
pub(crate) mod gather;
pub(crate) mod rate;
pub(crate) mod roles;
pub(crate) mod series;
pub(crate) mod sharing;
pub(crate) mod sums;

use mountmark_model::{Better, Metric};
use mountmark_stats::interval::Interval;
use mountmark_stats::summary::Summary;
use serde::Serialize;

use crate::dependence::find::Dependence;
use crate::figures::find::basis::Category;
use crate::verdicts::find::verdict::{Verdict, VerdictOutcome};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskFindings {
    /// Task id, or the name of a protocol step.
    pub id: String,
    /// Equal to `id` for steps.
    pub title: String,
    #[serde(skip)]
    pub category: Category,
    /// Whether it is a protocol step, not part of the suite.
    pub step: bool,
    /// Whether the machine comes up again in it.
    #[serde(skip)]
    pub restarts: bool,
    /// The metric by which it is judged: its rate, else what its syncs or operations take, else its durable time, else its returned time; for usable space the
    /// share of the device. `None` for the final check and for programs whose parts are judged.
    #[serde(serialize_with = "optional_metric_id")]
    pub judged_by: Option<&'static Metric>,
    /// Whether it has a figure of any metric, also of one that findings were not wanted for.
    #[serde(skip)]
    pub is_measured: bool,
    /// The metrics with figures that are wanted, in the order of [`Metric::ALL`].
    #[serde(skip)]
    pub metrics: Vec<MetricFindings>,
}

impl TaskFindings {
    pub fn figures(&self, metric: &Metric) -> Option<&MetricFindings> {
        self.metrics.iter().find(|found| found.metric.id == metric.id)
    }

    /// Whether it waits for syncs, and was told how long.
    pub fn syncs(&self) -> bool {
        !self.step && self.figures(&Metric::SYNC_LATENCY_MEAN).is_some()
    }

    /// Its processor time, where that is judged beside what [`TaskFindings::judged`] has and a difference is shown.
    pub fn told_by_processor(&self) -> Option<&MetricFindings> {
        let found = self.figures(&Metric::PROCESSOR)?;
        let outcome = &found.verdict.as_ref()?.outcome;
        matches!(outcome, VerdictOutcome::Winner { .. } | VerdictOutcome::Tied { .. }).then_some(found)
    }

    /// Its figures of the metric by which it is judged.
    pub fn judged(&self) -> Option<&MetricFindings> {
        self.figures(self.judged_by?)
    }

    /// The metric by which it is judged, or the time taken if it is not judged.
    pub fn shown(&self) -> Option<&MetricFindings> {
        self.judged().or_else(|| self.figures(&Metric::DURABLE)).or_else(|| self.figures(&Metric::ELAPSED))
    }

    pub fn median(&self, metric: &Metric, configuration: usize) -> Option<f64> {
        self.figures(metric)?.median(configuration)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricFindings {
    #[serde(serialize_with = "metric_id")]
    pub metric: &'static Metric,
    /// By configuration; `None` if there is no figure.
    pub estimates: Vec<Option<Estimate>>,
    /// Present if this metric is judged. Processor time is, where others may disturb the time.
    #[serde(skip)]
    pub verdict: Option<Verdict>,
    /// Configurations to mark as the best: by the verdict if one was reached, otherwise those whose median prints as
    /// the best. Never one whose figure depends on conditions and that no verdict has as the winner, nor, in a task that
    /// syncs, one that lost synced files in this run. Empty if all print the same, or no difference was shown.
    pub best: Vec<usize>,
}

impl MetricFindings {
    /// The median over repeats: the one statistic that tables, charts and exports show of a figure.
    pub fn median(&self, configuration: usize) -> Option<f64> {
        Some(self.estimates.get(configuration)?.as_ref()?.summary.median)
    }

    /// How its figures depend on conditions, with their configurations.
    pub fn dependences(&self) -> impl Iterator<Item = (usize, &Dependence)> {
        let all = self.estimates.iter().enumerate();
        all.filter_map(|(one, estimate)| Some((one, estimate.as_ref()?.dependence.as_ref()?)))
    }

    pub(crate) fn medians(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.estimates.len()).filter_map(|one| self.median(one))
    }

    /// Factor by which a configuration's median is worse than the best; `None` if the best is 0.
    pub fn times_best(&self, configuration: usize) -> Option<f64> {
        let own = self.median(configuration)?;
        let best = self.best_median()?;
        let times = match self.metric.better {
            Better::Lower => own / best,
            Better::Higher => best / own,
        };
        times.is_finite().then_some(times)
    }

    fn best_median(&self) -> Option<f64> {
        best(self.metric, self.medians())
    }

    /// The largest coefficient of variation of a configuration; `None` without repeats.
    pub fn spread(&self) -> Option<f64> {
        self.estimates.iter().flatten().filter_map(|estimate| estimate.summary.cv).reduce(f64::max)
    }
}

fn best(metric: &Metric, values: impl Iterator<Item = f64>) -> Option<f64> {
    values.reduce(|one, other| match metric.better {
        Better::Lower => one.min(other),
        Better::Higher => one.max(other),
    })
}

/// Configurations whose value prints as the best, since a reader cannot distinguish them. Empty if all do.
pub(crate) fn best_as_printed(metric: &Metric, values: &[Option<f64>]) -> Vec<usize> {
    let Some(best) = best(metric, values.iter().flatten().copied()) else { return Vec::new() };
    let text = metric.format(best);
    let is_same = |value: &Option<f64>| value.is_some_and(|value| metric.format(value) == text);
    let same: Vec<usize> = (0..values.len()).filter(|one| is_same(&values[*one])).collect();
    if same.len() == values.iter().flatten().count() { Vec::new() } else { same }
}

/// Sums of medians over several tasks, by configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Total {
    /// Number of tasks with figures.
    pub tasks: usize,
    /// `None` if a task has no figure: the sum of the others would look good.
    pub sums: Vec<Option<f64>>,
    /// Ratio to the baseline's sum.
    pub ratios: Vec<Option<f64>>,
    /// Configurations whose sum prints as the best; empty if all print the same.
    pub best: Vec<usize>,
}

/// By configuration, the sum of the medians of several tasks; `None` where one lacks a figure.
pub(crate) fn sums(tasks: &[&MetricFindings], configurations: usize) -> Vec<Option<f64>> {
    let sum = |one| tasks.iter().map(|found| found.median(one)).sum::<Option<f64>>().filter(|_| !tasks.is_empty());
    (0..configurations).map(sum).collect()
}

/// One task by one metric on one configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Of one figure per repeat, the mean of its iterations.
    pub summary: Summary,
    /// 95 % confidence interval of the median; `None` with too few repeats or if the metric is not judged.
    pub median_interval: Option<Interval>,
    /// Median of the within-block ratios to the baseline; `None` if the baseline has no figure or is 0.
    pub ratio: Option<f64>,
    /// 95 % confidence interval of `ratio`.
    pub ratio_interval: Option<Interval>,
    /// How it depends on conditions, if it does; `None` if the metric is not judged.
    pub dependence: Option<Dependence>,
    /// Every sample, doubtful ones included.
    pub points: Vec<Point>,
}

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Block number.
    pub repeat: u32,
    /// Iteration within its cell.
    pub iteration: u32,
    /// In the metric's unit.
    pub value: f64,
    /// Whether it is among [`Findings::doubts`].
    pub doubtful: bool,
}

fn optional_metric_id<S: serde::Serializer>(metric: &Option<&'static Metric>, to: S) -> Result<S::Ok, S::Error> {
    metric.map(|metric| metric.id).serialize(to)
}

pub(crate) fn metric_id<S: serde::Serializer>(metric: &&'static Metric, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(metric.id)
}
