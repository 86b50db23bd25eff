//! A run beside an earlier one: what differs between the two, and what that did to each figure.
//!
//! Where both runs have the same seed, their repeats are pairs: the same workload before and after. Otherwise they are
//! independent samples. All comparisons are one family, tested as those inside a run (`contrast`).
//!
//! With one repeat in the virtual lab and one seed, figures are exact for that seed: two runs of one plan are equal to the
//! nanosecond, so every difference comes from what differs between the runs. Such a comparison goes by the plain ratio.
//! Whether another seed would show the same, one repeat cannot say.

mod differences;
mod remarks;

use std::collections::BTreeMap;

use mountmark_model::{Better, Metric};
use mountmark_record::RunRecord;
use serde::Serialize;

pub use differences::{Difference, Incomparable, differences, incomparable};
pub use remarks::ChangeRemark;

use crate::contrast::{self, Contrast, Tested};
use crate::figures::{Figures, Series};
use crate::stats::summary::{self, median};
use crate::{Interval, Options, Summary};

/// What has changed from one run to another. What is said of it is made in `report`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changes {
    /// Name of the earlier run.
    pub before: String,
    /// Name of the later run.
    pub after: String,
    /// What differs between the runs apart from figures.
    pub differences: Vec<Difference>,
    /// Confidence of intervals, as it was asked for: 0.95.
    pub level: f64,
    /// The smallest relative difference that matters, as it was asked for: 0.01.
    pub matters: f64,
    /// Whether the figures of one repeat are exact for their seed, and are compared by the plain ratio.
    pub exact: bool,
    /// How the figures are compared, and what limits that.
    #[serde(skip)]
    pub remarks: Vec<ChangeRemark>,
    /// The worst regression first, the best improvement last; what nothing was shown of is between them.
    #[serde(skip)]
    pub changes: Vec<Change>,
}

/// One task by one metric on one configuration, before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Task id, or a protocol step.
    pub task: String,
    /// What it does.
    pub title: String,
    /// Whether it is a protocol step and no part of the suite.
    pub step: bool,
    /// Configuration name; of both, where they differ.
    pub configuration: String,
    /// What was measured.
    #[serde(serialize_with = "crate::findings::metric_id")]
    pub metric: &'static Metric,
    /// Figures before, one a repeat.
    pub before: Option<Summary>,
    /// Figures after, one a repeat.
    pub after: Option<Summary>,
    /// After over before: the median of the ratios of pairs, or the ratio of the medians.
    pub ratio: Option<f64>,
    /// Confidence interval of `ratio`; `None` with one repeat.
    pub interval: Option<Interval>,
    /// By how much it is worse, from `ratio`: 0.05 is 5 % more of what should be little, or 5 % less of what should be
    /// much. Below 0 it is better by as much.
    pub worse: Option<f64>,
    /// What that amounts to.
    pub outcome: ChangeOutcome,
}

/// What a change amounts to. In the order of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeOutcome {
    /// It had a figure and has none any more.
    Lost,
    /// It is shown to be worse, by what matters.
    Regression,
    /// Nothing is shown, or nothing that matters.
    NoDifferenceShown,
    /// There is nothing to judge by: one repeat under wall time or of different seeds, or a figure of 0.
    NotJudged,
    /// Only the later run has a figure.
    New,
    /// It is shown to be better, by what matters.
    Improvement,
}

impl Changes {
    /// Regressions of more than `limit` (0.05 is 5 %), and what has no figure any more: what a gate should stop at.
    pub fn beyond(&self, limit: f64) -> Vec<&Change> {
        let is_beyond = |change: &&Change| match change.outcome {
            ChangeOutcome::Lost => true,
            ChangeOutcome::Regression => change.worse.is_some_and(|worse| worse > limit),
            _ => false,
        };
        self.changes.iter().filter(is_beyond).collect()
    }

    /// Whether there was anything to judge: a figure that only the later run has says nothing of what changed.
    pub fn is_judged(&self) -> bool {
        self.changes.iter().any(|change| !matches!(change.outcome, ChangeOutcome::NotJudged | ChangeOutcome::New))
    }
}

/// How two runs are compared.
struct Way {
    paired: bool,
    exact: bool,
}

/// Compares the judged metrics of `after` with those of `before`, or `metric` alone.
pub fn changes(before: &RunRecord, after: &RunRecord, metric: Option<&'static Metric>, options: &Options) -> Changes {
    let (old, new) = (Figures::new(before), Figures::new(after));
    let way = way(before, after, &old, &new);
    let mut rows = Vec::new();
    let mut contrasts = Vec::new();
    for (name, one, other) in matched(&old, &new, after) {
        collect(&old, &new, (&name, one, other), metric, &way, &mut rows, &mut contrasts);
    }
    let mut tested = contrast::test_at(&contrasts, options.level).into_iter();
    let mut changes: Vec<Change> = rows
        .into_iter()
        .map(|row| {
            let found = if row.mean.is_some() { tested.next() } else { None };
            row.judge(found, options)
        })
        .collect();
    sort(&mut changes);
    Changes {
        before: before.id.to_string(),
        after: after.id.to_string(),
        differences: differences(before, after),
        level: options.level,
        matters: options.matters,
        exact: way.exact,
        remarks: remarks::remarks((before, after), (&old, &new), &way),
        changes,
    }
}

fn way(before: &RunRecord, after: &RunRecord, old: &Figures, new: &Figures) -> Way {
    let paired = before.plan.seed == after.plan.seed;
    let is_virtual = [before, after].iter().all(|run| run.plan.lab.nature().exact_clock);
    Way { paired, exact: paired && is_virtual && (old.repeats.len() == 1 || new.repeats.len() == 1) }
}

/// Configurations of the same name; where there is none and each run has one, these two. One that the later run was to
/// measure and could not is there without a partner: all its figures are lost.
fn matched(old: &Figures, new: &Figures, after: &RunRecord) -> Vec<(String, usize, Option<usize>)> {
    let of_new = |name: &String| new.configurations.iter().position(|known| known == name);
    let was_skipped = |name: &String| after.plan.skipped.iter().any(|(skipped, _)| skipped == name);
    let same = old.configurations.iter().enumerate();
    let out: Vec<(String, usize, Option<usize>)> = same
        .map(|(at, name)| (name.clone(), at, of_new(name)))
        .filter(|(name, _, other)| other.is_some() || was_skipped(name))
        .collect();
    match (out.is_empty(), old.configurations.as_slice(), new.configurations.as_slice()) {
        (true, [one], [other]) => vec![(format!("{one} -> {other}"), 0, Some(0))],
        _ => out,
    }
}

/// A change before it is judged.
struct Row {
    change: Change,
    /// Mean difference of logarithms, where it is in the family.
    mean: Option<f64>,
    /// Whether the exact ratio of one repeat decides.
    single: bool,
}

fn collect(
    old: &Figures,
    new: &Figures,
    (name, one, other): (&str, usize, Option<usize>),
    metric: Option<&'static Metric>,
    way: &Way,
    rows: &mut Vec<Row>,
    contrasts: &mut Vec<Contrast>,
) {
    for (at, task) in old.tasks.iter().enumerate() {
        // A step without any figure is not among the tasks: its figure is lost.
        let later = new.tasks.iter().find(|later| later.id == task.id);
        if later.is_none() && !task.step {
            continue;
        }
        let judged: Vec<&Metric> = metric.map_or_else(|| task.judged().iter().collect(), |metric| vec![metric]);
        for metric in judged.into_iter().filter_map(|metric| Metric::find(metric.id)) {
            let (before, after) = (task.series(metric), later.and_then(|later| later.series(metric)));
            let values = |series: Option<&Series>, c: usize| series.map(|s| s.figures(c)).unwrap_or_default();
            let (mut earlier, mut then) = (values(before, one), other.map_or_else(Vec::new, |c| values(after, c)));
            if earlier.is_empty() && then.is_empty() {
                continue;
            }
            let pairs = pairs(old, new, before, after, one, other);
            let logs: Vec<f64> = (pairs.iter().filter(|(before, after)| *before > 0.0 && *after > 0.0))
                .map(|(before, after)| libm::log(*after) - libm::log(*before))
                .collect();
            if way.paired && !logs.is_empty() {
                // What is said of before and after is of the repeats that the ratio is of.
                (earlier, then) = pairs.into_iter().unzip();
            }
            let stratum = at * Metric::ALL.len() + Metric::ALL.iter().position(|m| m.id == metric.id).unwrap_or(0);
            let contrast = if way.paired {
                Contrast::paired(stratum, &logs, 1.0)
            } else {
                let ln =
                    |values: &[f64]| values.iter().filter(|v| **v > 0.0).map(|v| libm::log(*v)).collect::<Vec<_>>();
                Contrast::unpaired(stratum, &ln(&then), &ln(&earlier))
            };
            let ratio = if way.paired {
                median(&logs.iter().map(|log| libm::exp(*log)).collect::<Vec<_>>())
            } else {
                median(&then).zip(median(&earlier)).map(|(then, earlier)| then / earlier)
            };
            // With the unit that a rate has at this task.
            let metric = after.or(before).map_or(metric, |series| series.metric);
            rows.push(Row {
                mean: contrast.as_ref().map(|contrast| contrast.mean),
                single: contrast.is_none() && way.exact && logs.len() == 1,
                change: Change {
                    task: task.id.clone(),
                    title: task.title.clone(),
                    step: task.step,
                    configuration: name.into(),
                    metric,
                    before: summary::summary(&earlier),
                    after: summary::summary(&then),
                    ratio: ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0),
                    interval: None,
                    worse: None,
                    outcome: ChangeOutcome::NotJudged,
                },
            });
            contrasts.extend(contrast.map(|contrast| contrast.of_kind(one)));
        }
    }
}

/// Figures of the repeats that both have, by number: before and after.
fn pairs(
    old: &Figures,
    new: &Figures,
    before: Option<&Series>,
    after: Option<&Series>,
    one: usize,
    other: Option<usize>,
) -> Vec<(f64, f64)> {
    let (Some(before), Some(after), Some(other)) = (before, after, other) else { return Vec::new() };
    let earlier: BTreeMap<u32, f64> =
        old.repeats.iter().zip(&before.blocks[one]).filter_map(|(repeat, value)| Some((*repeat, (*value)?))).collect();
    let later = new.repeats.iter().zip(&after.blocks[other]);
    later.filter_map(|(repeat, value)| Some((*earlier.get(repeat)?, (*value)?))).collect()
}

impl Row {
    fn judge(mut self, tested: Option<Tested>, options: &Options) -> Change {
        let change = &mut self.change;
        change.worse = change.ratio.map(|ratio| match change.metric.better {
            Better::Lower => ratio - 1.0,
            Better::Higher => 1.0 - ratio,
        });
        if let (Some(ratio), Some(mean), Some(tested)) = (change.ratio, self.mean, &tested) {
            change.interval = crate::estimate::ratio_interval(ratio, mean, tested);
        }
        let direction = self.mean.unwrap_or_default() * change.ratio.map(libm::log).unwrap_or_default();
        let is_shown = self.single || tested.is_some_and(|t| t.adjusted <= options.error() && direction > 0.0);
        let matters = change.ratio.is_some_and(|ratio| libm::log(ratio).abs() >= options.ln_matters());
        change.outcome = match (&change.before, &change.after, change.worse) {
            (Some(_), None, _) => ChangeOutcome::Lost,
            (None, Some(_), _) => ChangeOutcome::New,
            (_, _, Some(worse)) if is_shown && matters && worse > 0.0 => ChangeOutcome::Regression,
            (_, _, Some(_)) if is_shown && matters => ChangeOutcome::Improvement,
            _ if self.single || tested.is_some() => ChangeOutcome::NoDifferenceShown,
            _ => ChangeOutcome::NotJudged,
        };
        self.change
    }
}

/// Regressions by size, then what is not shown in the order of tasks, then improvements, the largest last.
fn sort(changes: &mut [Change]) {
    changes.sort_by(|a, b| {
        // A rate of a tenth is as bad as ten times the time.
        let size = |change: &Change| {
            let log = change.ratio.map(libm::log).unwrap_or_default();
            if change.metric.better == Better::Lower { log } else { -log }
        };
        let by_size = match a.outcome {
            ChangeOutcome::Regression | ChangeOutcome::Improvement => size(b).total_cmp(&size(a)),
            _ => std::cmp::Ordering::Equal,
        };
        a.outcome.cmp(&b.outcome).then(by_size)
    });
}
