//! Compares a run with an earlier one: what differs in the setup, and the effect on each figure.
//!
//! Where both runs have the same seed, their repeats are pairs: the same workload before and after. Otherwise they are
//! independent samples. All comparisons are one family, tested like those inside a run (`contrast`).
//!
//! With one repeat in the virtual lab, one seed and fixed conditions, figures are exact: two runs of one plan are equal
//! to the nanosecond, so every difference comes from what differs between the runs. Such a comparison uses the plain
//! ratio. One repeat cannot show whether another seed gives the same result.

pub(crate) mod differences;
pub(crate) mod remarks;
mod repeats;
mod zero;

use mountmark_model::conditions::Way;
use mountmark_model::{Better, Metric};
use mountmark_record::RunRecord;
use mountmark_stats::interval::Interval;
use mountmark_stats::summary;
use mountmark_stats::summary::{Summary, median};
use serde::Serialize;

use crate::changes::find::repeats::{BothRuns, Place};
use crate::changes::find::zero::Zero;
use crate::dependence::find::{Dependence, in_groups};
use crate::figures::find::series::{Figures, Series};
use crate::options::Options;
use crate::verdicts;
use crate::verdicts::find::contrast;
use crate::verdicts::find::contrast::{Contrast, Tested};
pub use differences::{Difference, Incomparable, differences, incomparable};
pub use remarks::ChangeRemark;
pub use repeats::Failure;

/// Changes from one run to another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changes {
    pub before: String,
    pub after: String,
    /// Differences between the runs apart from figures.
    pub differences: Vec<Difference>,
    /// Confidence of intervals, as requested: 0.95.
    pub level: f64,
    /// The smallest relative difference that matters, as requested: 0.01.
    pub matters: f64,
    /// Whether figures of one repeat are exact for their seed and compared by the plain ratio.
    pub exact: bool,
    /// How figures are compared, and limits of the comparison.
    #[serde(skip)]
    pub remarks: Vec<ChangeRemark>,
    /// The worst regression first, the best improvement last, changes without a shown difference between them.
    #[serde(skip)]
    pub changes: Vec<Change>,
}

/// One task by one metric on one configuration, before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Task id, or a protocol step.
    pub task: String,
    pub title: String,
    /// Whether it is a protocol step, not part of the suite.
    pub step: bool,
    /// Configuration name; both names where they differ.
    pub configuration: String,
    #[serde(serialize_with = "crate::figures::find::metric_id")]
    pub metric: &'static Metric,
    /// Figures before, one per repeat.
    pub before: Option<Summary>,
    /// Figures after, one per repeat.
    pub after: Option<Summary>,
    /// After over before: the median of the ratios of pairs, or the ratio of the medians.
    pub ratio: Option<f64>,
    /// Confidence interval of `ratio`; `None` with one repeat.
    pub interval: Option<Interval>,
    /// How much worse it is, from `ratio`: 0.05 is 5 % more where lower is better, or 5 % less where higher is better.
    /// Negative where it is better; infinite from 0 in all repeats on, which JSON has as `inf` in quotes.
    #[serde(serialize_with = "or_infinite")]
    pub worse: Option<f64>,
    /// Where it failed in the later run: repeats of which the earlier run has a figure, or, with another seed, more of all
    /// repeats than in the earlier run.
    pub failures: Vec<Failure>,
    /// The groups of the figures before and after, if they fall into groups.
    pub dependences: [Option<Dependence>; 2],
    pub outcome: ChangeOutcome,
}

/// JSON has no number that is infinite, and `null` would be one that is not known.
fn or_infinite<S: serde::Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) if value.is_infinite() => serializer.collect_str(value),
        other => other.serialize(serializer),
    }
}

/// Verdict on a change, in the order of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeOutcome {
    /// Only the earlier run has a figure.
    Lost,
    /// Both have a figure, but in the later run it failed in repeats of which the earlier has one. The rest says nothing of
    /// these.
    LostInSome,
    /// Shown to be worse by at least the smallest difference that matters.
    Regression,
    /// No difference shown, or none that matters.
    NoDifferenceShown,
    /// No basis for a verdict: one repeat under wall time or of different seeds, or a figure of 0 in some repeats.
    NotJudged,
    /// Only the later run has a figure.
    New,
    /// Shown to be better by at least the smallest difference that matters.
    Improvement,
}

impl Changes {
    /// Regressions beyond `limit` (0.05 is 5 %) and figures that are lost, in all repeats or in some: those that fail a gate.
    pub fn beyond(&self, limit: f64) -> Vec<&Change> {
        let is_beyond = |change: &&Change| match change.outcome {
            ChangeOutcome::Lost | ChangeOutcome::LostInSome => true,
            ChangeOutcome::Regression => change.worse.is_some_and(|worse| worse > limit),
            _ => false,
        };
        self.changes.iter().filter(is_beyond).collect()
    }

    /// Whether it was judged; a figure that only the later run has is no evidence of a change.
    pub fn is_judged(&self) -> bool {
        self.changes.iter().any(|change| !matches!(change.outcome, ChangeOutcome::NotJudged | ChangeOutcome::New))
    }
}

pub(crate) struct Comparison {
    paired: bool,
    /// Whether no clock has noise.
    noiseless: bool,
    exact: bool,
}

/// Compares the judged metrics of `after` with those of `before`, or `metric` alone.
pub fn changes(before: &RunRecord, after: &RunRecord, metric: Option<&'static Metric>, options: &Options) -> Changes {
    let (old, new) = (Figures::new(before, options), Figures::new(after, options));
    let way = way(before, after, &old, &new);
    let mut rows = Vec::new();
    let mut contrasts = Vec::new();
    let both = BothRuns::new((before, &old), (after, &new));
    for (name, one, other) in matched(&old, &new, after) {
        collect(&both, (&name, one, other), metric, &way, &mut rows, &mut contrasts);
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
        before: before.name(),
        after: after.name(),
        differences: differences(before, after),
        level: options.level,
        matters: options.matters,
        exact: way.exact,
        remarks: remarks::remarks(after, (&old, &new), &way, &changes),
        changes,
    }
}

fn way(before: &RunRecord, after: &RunRecord, old: &Figures, new: &Figures) -> Comparison {
    let paired = before.plan.seed == after.plan.seed;
    let noiseless = [before, after].iter().all(|run| run.plan.lab.capabilities().exact_clock);
    // Under varied conditions a change that does not matter can move a single repeat into another phase.
    let fixed = [before, after].iter().all(|run| run.plan.conditions() == Way::Fixed);
    let is_one = old.repeats() == 1 || new.repeats() == 1;
    Comparison { paired, noiseless, exact: paired && noiseless && fixed && is_one }
}

/// Pairs configurations by name; where no name matches and each run has one configuration, pairs those two. A
/// configuration that the later run planned and could not measure has no partner: all its figures are lost.
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

/// A change before judgement.
struct Row {
    change: Change,
    /// Mean difference of logarithms, if part of the family.
    mean: Option<f64>,
    /// Whether the exact ratio of one repeat decides.
    single: bool,
    /// Whether it was 0 in all repeats and is in none, or the other way round: a change without a ratio.
    zero: Option<Zero>,
}

fn collect(
    both: &BothRuns,
    (name, one, other): (&str, usize, Option<usize>),
    metric: Option<&'static Metric>,
    way: &Comparison,
    rows: &mut Vec<Row>,
    contrasts: &mut Vec<Contrast>,
) {
    for (at, task) in both.old.tasks.iter().enumerate() {
        // A step without any figure is missing from the tasks: its figure is lost.
        let later = both.new.tasks.iter().find(|later| later.id == task.id);
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
            let place = Place { task: &task.id, before, after, one, other };
            let pairs = both.pairs(&place);
            let logs: Vec<f64> = (pairs.iter().filter(|(before, after)| *before > 0.0 && *after > 0.0))
                .map(|(before, after)| libm::log(*after) - libm::log(*before))
                .collect();
            if way.paired && !logs.is_empty() {
                // Summaries cover the same repeats as the ratio.
                (earlier, then) = pairs.into_iter().unzip();
            }
            let stratum = at * Metric::ALL.len() + Metric::ALL.iter().position(|m| m.id == metric.id).unwrap_or(0);
            let sides = Sides { earlier: &earlier, then: &then, logs: &logs };
            let (contrast, ratio) = (sides.contrast(way, stratum), sides.ratio(way));
            // The metric with the rate's unit at this task.
            let metric = after.or(before).map_or(metric, |series| series.metric);
            rows.push(Row {
                zero: (way.exact || earlier.len().min(then.len()) > 1).then(|| Zero::of(&earlier, &then)).flatten(),
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
                    failures: both.failures(&place, way.paired),
                    dependences: [&earlier, &then].map(|values| in_groups(values)),
                    outcome: ChangeOutcome::NotJudged,
                },
            });
            contrasts.extend(contrast.map(|contrast| contrast.of_kind(one)));
        }
    }
}

/// The figures of a task before and after.
struct Sides<'a> {
    earlier: &'a [f64],
    then: &'a [f64],
    /// Differences of logarithms of the repeats that both have.
    logs: &'a [f64],
}

impl Sides<'_> {
    fn contrast(&self, way: &Comparison, stratum: usize) -> Option<Contrast> {
        if way.paired {
            return Contrast::paired(stratum, self.logs, 1.0);
        }
        let ln = |values: &[f64]| values.iter().filter(|v| **v > 0.0).map(|v| libm::log(*v)).collect::<Vec<_>>();
        Contrast::unpaired(stratum, &ln(self.then), &ln(self.earlier))
    }

    fn ratio(&self, way: &Comparison) -> Option<f64> {
        if way.paired {
            return median(&self.logs.iter().map(|log| libm::exp(*log)).collect::<Vec<_>>());
        }
        median(self.then).zip(median(self.earlier)).map(|(then, earlier)| then / earlier)
    }
}

impl Row {
    fn judge(mut self, tested: Option<Tested>, options: &Options) -> Change {
        let change = &mut self.change;
        change.worse = change.ratio.map(|ratio| match change.metric.better {
            Better::Lower => ratio - 1.0,
            Better::Higher => 1.0 - ratio,
        });
        change.worse = change.worse.or(self.zero.map(|zero| zero.worse(change.metric.better)));
        if let (Some(ratio), Some(mean), Some(tested)) = (change.ratio, self.mean, &tested) {
            change.interval = verdicts::find::estimate::ratio_interval(ratio, mean, tested);
        }
        let direction = self.mean.unwrap_or_default() * change.ratio.map(libm::log).unwrap_or_default();
        let is_shown = self.single
            || self.zero.is_some()
            || tested.is_some_and(|t| t.adjusted <= options.error() && direction > 0.0);
        let matters =
            self.zero.is_some() || change.ratio.is_some_and(|ratio| libm::log(ratio).abs() >= options.ln_matters());
        change.outcome = match (&change.before, &change.after, change.worse) {
            (Some(_), None, _) => ChangeOutcome::Lost,
            (None, Some(_), _) => ChangeOutcome::New,
            _ if !change.failures.is_empty() => ChangeOutcome::LostInSome,
            (_, _, Some(worse)) if is_shown && matters && worse > 0.0 => ChangeOutcome::Regression,
            (_, _, Some(worse)) if is_shown && matters && worse < 0.0 => ChangeOutcome::Improvement,
            _ if self.single || tested.is_some() => ChangeOutcome::NoDifferenceShown,
            _ => ChangeOutcome::NotJudged,
        };
        self.change
    }
}

/// Sorts regressions by size, then unshown changes in task order, then improvements, the largest last.
fn sort(changes: &mut [Change]) {
    changes.sort_by(|a, b| {
        // A rate of a tenth is as bad as ten times the time.
        let size = |change: &Change| {
            let Some(log) = change.ratio.map(libm::log) else {
                return change.worse.unwrap_or_default() * f64::INFINITY;
            };
            if change.metric.better == Better::Lower { log } else { -log }
        };
        let by_size = match a.outcome {
            ChangeOutcome::Regression | ChangeOutcome::Improvement => size(b).total_cmp(&size(a)),
            _ => std::cmp::Ordering::Equal,
        };
        a.outcome.cmp(&b.outcome).then(by_size)
    });
}
