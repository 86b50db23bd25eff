//! Counts what comparisons and intervals of small runs say against what many repeats show.

use std::collections::BTreeMap;

use mountmark_findings::changes::{ChangeOutcome, changes};
use mountmark_findings::{Findings, MetricFindings, Options, findings};
use mountmark_model::Metric;
use mountmark_record::RunRecord;
use mountmark_stats::interval::Interval;
use mountmark_stats::summary::median;

/// Repeats of the runs whose intervals and verdicts are counted.
pub const GROUPS: [u32; 2] = [5, 10];

/// What comparisons of equal runs said.
#[derive(Default)]
pub struct False {
    /// Pairs of runs: each comparison is one family.
    pub families: usize,
    /// Families with any change that is shown.
    pub wrong: usize,
    /// Families with a regression.
    pub regressions: usize,
    /// Figures that were judged, in all families together.
    pub figures: usize,
    /// Figures whose change is shown.
    pub shown: usize,
}

/// How often something held.
#[derive(Clone, Copy, Default)]
pub struct Share {
    pub held: usize,
    pub of: usize,
}

impl Share {
    fn count(&mut self, holds: bool) {
        self.of += 1;
        self.held += usize::from(holds);
    }

    pub fn percent(self) -> f64 {
        100.0 * self.held as f64 / self.of.max(1) as f64
    }
}

/// The run with the repeats of one group alone, as if they had been the whole run: cells do not depend on the number of
/// repeats.
fn group(run: &RunRecord, at: u32, size: u32) -> RunRecord {
    let range = at * size..(at + 1) * size;
    let mut part = run.clone();
    part.plan.repeats = size;
    part.plan.cells.retain(|cell| range.contains(&cell.repeat));
    part.cells.retain(|cell| range.contains(&cell.repeat));
    part
}

fn groups(run: &RunRecord, size: u32) -> Vec<RunRecord> {
    (0..run.plan.repeats / size).map(|at| group(run, at, size)).collect()
}

/// Compares each group of `size` repeats of `run` with the same group of `other`, which differs in nothing that matters.
pub fn compare(run: &RunRecord, other: &RunRecord, size: u32) -> False {
    let mut found = False::default();
    for (before, after) in groups(run, size).iter().zip(&groups(other, size)) {
        let changes = changes(before, after, None, &Options::default()).changes;
        let of = |outcome: ChangeOutcome| changes.iter().filter(|change| change.outcome == outcome).count();
        let (worse, better) = (of(ChangeOutcome::Regression), of(ChangeOutcome::Improvement));
        found.families += 1;
        found.wrong += usize::from(worse + better > 0);
        found.regressions += usize::from(worse > 0);
        found.shown += worse + better;
        found.figures += worse + better + of(ChangeOutcome::NoDifferenceShown);
    }
    found
}

/// The median of a task's durable times, in seconds, whether the plan names the task or not.
pub fn durable(run: &RunRecord, configuration: &str, task: &str) -> Option<f64> {
    let cells = run.cells.iter().filter(|cell| cell.configuration == configuration);
    let samples = cells.flat_map(|cell| &cell.samples);
    let of_task = samples.filter(|sample| sample.task == task && sample.metric == Metric::DURABLE.id);
    median(&of_task.map(|sample| sample.value).collect::<Vec<f64>>())
}

/// In how many figures of tasks the slowdown was found, over all groups.
#[derive(Default)]
pub struct Slowdowns {
    pub found: Share,
    /// Of figures that the run marks as depending on conditions.
    pub dependent: Share,
    /// Configuration and task of the others that were found least often, with that share, the worst first.
    pub worst: Vec<Worst>,
}

/// `whole` are the findings of all repeats of `run`.
pub fn slowdowns(run: &RunRecord, slowed: &RunRecord, whole: &Findings, size: u32) -> Slowdowns {
    let mut out = Slowdowns::default();
    let mut each: BTreeMap<(String, String), Share> = BTreeMap::new();
    let depends: Vec<(&str, &str)> =
        whole.dependent().map(|(task, one, _)| (whole.configurations[one].as_str(), task.id.as_str())).collect();
    for (before, after) in groups(run, size).iter().zip(&groups(slowed, size)) {
        for change in changes(before, after, None, &Options::default()).changes.iter().filter(|change| !change.step) {
            let is_found = change.outcome == ChangeOutcome::Regression;
            if depends.contains(&(change.configuration.as_str(), change.task.as_str())) {
                out.dependent.count(is_found);
                continue;
            }
            out.found.count(is_found);
            each.entry((change.configuration.clone(), change.task.clone())).or_default().count(is_found);
        }
    }
    out.worst = worst(each);
    out
}

/// Configuration, task, and how often something held of them.
pub type Worst = (String, String, Share);

fn worst(each: BTreeMap<(String, String), Share>) -> Vec<Worst> {
    let mut out: Vec<Worst> = each.into_iter().map(|((name, task), share)| (name, task, share)).collect();
    out.sort_by(|one, other| one.2.percent().total_cmp(&other.2.percent()));
    out
}

/// How often intervals of groups contain what all repeats show.
#[derive(Default)]
pub struct Coverage {
    /// Intervals of medians: the median of all repeats.
    pub medians: Share,
    /// Intervals of ratios to the first configuration: the geometric mean of the ratios of all repeats.
    pub ratios: Share,
    /// Intervals of both kinds that are not in them, since all repeats mark a figure as depending on conditions.
    pub dependent: Share,
    /// Configuration and task of the figures whose intervals held least often, with that share, the worst first.
    pub worst: Vec<Worst>,
}

pub fn coverage(run: &RunRecord, size: u32) -> Coverage {
    // Rankings are not looked at.
    let options = Options { resamples: 0, ..Options::default() };
    let whole = findings(run, &options);
    let mut out = Coverage::default();
    let mut each: BTreeMap<(String, String), Share> = BTreeMap::new();
    for group in groups(run, size) {
        let part = findings(&group, &options);
        for (task, figures, all) in judged(&part, &whole) {
            for (at, name) in part.configurations.iter().enumerate() {
                let (Some(one), Some(long)) = (&figures.estimates[at], &all.estimates[at]) else { continue };
                let depends = |one: usize| all.dependences().any(|(dependent, _)| dependent == one);
                let holds = |interval: &Interval, value: f64| interval.low <= value && value <= interval.high;
                if let Some(interval) = &one.median_interval {
                    let medians = if depends(at) { &mut out.dependent } else { &mut out.medians };
                    medians.count(holds(interval, long.summary.median));
                }
                if let (Some(interval), Some(mean), true) =
                    (&one.ratio_interval, mean_ratio(all, at, whole.baseline), at != whole.baseline)
                {
                    let holds = holds(interval, mean);
                    if depends(at) || depends(whole.baseline) {
                        out.dependent.count(holds);
                        continue;
                    }
                    out.ratios.count(holds);
                    each.entry((name.clone(), task.to_owned())).or_default().count(holds);
                }
            }
        }
    }
    out.worst = worst(each);
    out
}

/// The judged figures of a part of a run beside those of the whole.
fn judged<'a>(
    part: &'a Findings,
    whole: &'a Findings,
) -> impl Iterator<Item = (&'a str, &'a MetricFindings, &'a MetricFindings)> {
    part.tasks.iter().filter(|task| !task.step).filter_map(|task| {
        let figures = task.judged()?;
        let all = whole.tasks.iter().find(|found| found.id == task.id)?.figures(figures.metric)?;
        Some((task.id.as_str(), figures, all))
    })
}

/// Geometric mean of the ratios to the baseline within repeats.
fn mean_ratio(figures: &MetricFindings, configuration: usize, baseline: usize) -> Option<f64> {
    let points = |at: usize| -> Option<BTreeMap<u32, f64>> {
        Some(figures.estimates[at].as_ref()?.points.iter().map(|point| (point.repeat, point.value)).collect())
    };
    let (own, base) = (points(configuration)?, points(baseline)?);
    let logs: Vec<f64> = own.iter().filter_map(|(repeat, value)| Some((value / base.get(repeat)?).ln())).collect();
    Some((logs.iter().sum::<f64>() / logs.len() as f64).exp())
}
