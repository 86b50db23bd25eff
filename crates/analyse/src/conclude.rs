//! Conclusions in plain sentences: what a reader would be told first, each with the numbers that carry it.
//!
//! A sentence says "fastest" only of what a verdict shows; where there are no verdicts (one repeat), every sentence that
//! compares begins with "In this one repeat".

use mountmark_model::{Better, Lab, Metric};
use mountmark_record::RunRecord;

use crate::figures::{CAPACITY, Figures, STEPS};
use crate::verdict::{Family, advantage, best_first};
use crate::words::{and, capital, counted, factor, figure, interval, percent};
use crate::{CategoryFindings, MetricFindings, Options, Overall, Rank, TaskFindings, VerdictOutcome};

/// Tasks whose largest difference is told.
const STRIKING: usize = 4;

/// What sentences are made of.
pub(crate) struct Evidence<'a> {
    pub figures: &'a Figures,
    pub family: &'a Family,
    pub tasks: &'a [TaskFindings],
    pub categories: &'a [CategoryFindings],
    pub overall: &'a Overall,
    pub options: &'a Options,
}

/// All conclusions, the most telling first.
pub(crate) fn conclusions(evidence: &Evidence<'_>) -> Vec<String> {
    if evidence.figures.configurations.len() < 2 {
        return Vec::new();
    }
    let mut out = Vec::new();
    out.extend(overall(evidence));
    out.extend(tally(evidence));
    out.extend(evidence.categories.iter().filter(|c| c.ranking.len() > 1).map(|c| c.sentence.clone()));
    out.extend(striking(evidence));
    out.extend(steps(evidence));
    out.extend(composite(evidence));
    out
}

impl Evidence<'_> {
    fn name(&self, configuration: usize) -> &str {
        &self.figures.configurations[configuration]
    }

    fn has_repeats(&self) -> bool {
        self.figures.repeats.len() > 1
    }

    /// What a sentence without verdicts begins with.
    fn begin(&self, text: &str) -> String {
        if self.has_repeats() { capital(text) } else { format!("In this one repeat {text}") }
    }
}

fn overall(evidence: &Evidence<'_>) -> Option<String> {
    let ranking = &evidence.overall.ranking;
    let [first, second, ..] = ranking.as_slice() else { return None };
    let tasks = evidence.tasks.iter().filter(|task| !task.step).count();
    Some(evidence.begin(&format!(
        "over all {} {}.",
        counted(tasks, "task"),
        lead(evidence.figures, first, second, "durable time", evidence.options)
    )))
}

/// "ext4 leads: 1.07 times the least durable time of each task in the geometric mean (...), before xfs with 1.12 (...)".
/// A lead is only said where the first place is steady.
pub(crate) fn lead(figures: &Figures, first: &Rank, second: &Rank, basis: &str, options: &Options) -> String {
    let name = |rank: &Rank| figures.configurations[rank.configuration].clone();
    let score = |rank: &Rank| match &rank.interval {
        Some(found) => format!("{} ({})", factor(rank.score), interval(found, options.level)),
        None => factor(rank.score),
    };
    let close = second.score / first.score < 1.0 + options.matters;
    let unsteady = first.stability.is_some_and(|stability| stability < options.level);
    let what = format!("geometric mean of {basis} over the best of each");
    if close || unsteady {
        let why = match first.stability {
            Some(stability) if unsteady => {
                format!("; the first place is kept in {} of resamplings only", percent(round(stability)))
            }
            _ => format!("; the difference is less than {}", percent(options.matters)),
        };
        format!("{} and {} are level: {} and {} ({what}){why}", name(first), name(second), score(first), score(second))
    } else {
        format!("{} leads with {}, before {} with {} ({what})", name(first), score(first), name(second), score(second))
    }
}

/// A share in whole hundredths.
fn round(share: f64) -> f64 {
    (share * 100.0).floor() / 100.0
}

/// Who won how many tasks.
fn tally(evidence: &Evidence<'_>) -> Option<String> {
    let verdicts: Vec<&VerdictOutcome> = evidence
        .tasks
        .iter()
        .filter(|task| !task.step)
        .filter_map(|task| Some(&main(task)?.verdict.as_ref()?.outcome))
        .collect();
    let judged = verdicts.iter().filter(|outcome| !matches!(outcome, VerdictOutcome::NotJudged { .. })).count();
    if judged == 0 {
        return best_in(evidence);
    }
    let mut wins = vec![0; evidence.figures.configurations.len()];
    let (mut tied, mut none) = (0, 0);
    for outcome in verdicts {
        match outcome {
            VerdictOutcome::Winner { configuration } => wins[*configuration] += 1,
            VerdictOutcome::Tied { .. } => tied += 1,
            VerdictOutcome::NoDifferenceShown { .. } => none += 1,
            VerdictOutcome::NotJudged { .. } => {}
        }
    }
    let mut order: Vec<usize> = (0..wins.len()).filter(|at| wins[*at] > 0).collect();
    order.sort_by(|a, b| wins[*b].cmp(&wins[*a]));
    let mut parts: Vec<String> =
        order.iter().map(|at| format!("{} is shown to be fastest in {}", evidence.name(*at), wins[*at])).collect();
    if tied > 0 {
        parts.push(format!("the best are tied in {tied}"));
    }
    if none > 0 {
        parts.push(format!("no difference that matters is shown in {none}"));
    }
    Some(format!("Of {}, {}.", counted(judged, "task"), and(parts.into_iter())))
}

/// Who was best in how many tasks, where nothing is shown.
fn best_in(evidence: &Evidence<'_>) -> Option<String> {
    let mut least = vec![0; evidence.figures.configurations.len()];
    let mut tasks = 0;
    for task in evidence.figures.tasks.iter().filter(|task| !task.step) {
        let Some(series) = task.main() else { continue };
        let order = best_first(series);
        if let [first, _, ..] = order.as_slice() {
            tasks += 1;
            least[*first] += 1;
        }
    }
    let mut order: Vec<usize> = (0..least.len()).filter(|at| least[*at] > 0).collect();
    order.sort_by(|a, b| least[*b].cmp(&least[*a]));
    let parts = order.iter().map(|at| format!("{} in {}", evidence.name(*at), least[*at]));
    (tasks > 0)
        .then(|| format!("In this one repeat, of {}, the best figure has {}.", counted(tasks, "task"), and(parts)))
}

/// The tasks with the largest differences from best to worst.
fn striking(evidence: &Evidence<'_>) -> Vec<String> {
    let mut found: Vec<(f64, String)> = Vec::new();
    for (at, task) in evidence.figures.tasks.iter().enumerate().filter(|(_, task)| !task.step) {
        let Some(series) = task.main() else { continue };
        let order = best_first(series);
        let [best, .., worst] = order.as_slice() else { continue };
        let Some(judged) = evidence.family.find(at, series.metric.id) else { continue };
        let is_shown = judged.contrast(*best, *worst).is_some_and(|(_, t)| t.adjusted <= evidence.options.error());
        if evidence.has_repeats() && !is_shown {
            continue;
        }
        let value = |configuration: usize| series.median(configuration).unwrap_or_default();
        let Some(by) = advantage(series, judged, *best, *worst, evidence.options) else { continue };
        let ratio = value(*worst) / value(*best);
        if !ratio.is_finite() || ratio < 1.0 + evidence.options.matters {
            continue;
        }
        found.push((
            ratio,
            evidence.begin(&format!(
                "{}: {} needs {}, {by} {} with {}.",
                crate::missing::label(task),
                evidence.name(*best),
                figure(series.metric, value(*best)),
                evidence.name(*worst),
                figure(series.metric, value(*worst))
            )),
        ));
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().take(STRIKING).map(|(_, sentence)| sentence).collect()
}

/// Making, mounting, unmounting, usable space: from best to worst.
fn steps(evidence: &Evidence<'_>) -> Vec<String> {
    let mut out = Vec::new();
    for task in evidence.figures.tasks.iter().filter(|task| [STEPS, CAPACITY].contains(&task.category.as_str())) {
        let Some(series) = task.main() else { continue };
        let order = best_first(series);
        let [best, .., worst] = order.as_slice() else { continue };
        let value = |c: &usize| series.median(*c).map(|value| figure(series.metric, value)).unwrap_or_default();
        let what = match (task.category.as_str(), series.metric.better) {
            (CAPACITY, Better::Higher) => "usable space".to_owned(),
            _ => task.id.clone(),
        };
        out.push(evidence.begin(&format!(
            "{what}: from {} on {} to {} on {}.",
            value(best),
            evidence.name(*best),
            value(worst),
            evidence.name(*worst)
        )));
    }
    out
}

/// The old studies' own figure.
fn composite(evidence: &Evidence<'_>) -> Option<String> {
    let mut sums: Vec<(f64, usize)> =
        evidence.overall.composite.iter().enumerate().filter_map(|(at, sum)| sum.map(|sum| (sum, at))).collect();
    sums.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ([first, .., last], true) = (sums.as_slice(), sums.len() > 1) else { return None };
    let text = |(sum, at): &(f64, usize)| format!("{} {}", evidence.name(*at), figure(&Metric::ELAPSED, *sum));
    Some(evidence.begin(&format!(
        "the composite time (the sum of all tasks' mean returned times, as the study of 2006 drew it) goes from {} to {}.",
        text(first),
        text(last)
    )))
}

/// The metric that a task is judged by first.
pub(crate) fn main(task: &TaskFindings) -> Option<&MetricFindings> {
    [Metric::RATE.id, Metric::DURABLE.id, Metric::ELAPSED.id, Metric::CAPACITY_DEVICE.id, Metric::CAPACITY.id]
        .iter()
        .find_map(|id| task.metrics.iter().find(|metric| metric.metric.id == *id && metric.verdict.is_some()))
}

/// What limits the findings.
pub(crate) fn remarks(run: &RunRecord, figures: &Figures, options: &Options, baseline_unknown: bool) -> Vec<String> {
    let mut out = Vec::new();
    let repeats = figures.repeats.len();
    if baseline_unknown {
        let asked = options.baseline.as_deref().unwrap_or_default();
        out.push(format!("There is no configuration {asked:?} in this run: ratios are against the first one."));
    }
    match (run.plan.lab, repeats) {
        (_, 0) => out.push("No cell has ended: there is nothing to judge.".into()),
        (Lab::Virtual, 1) => out.push(
            "One repeat: no intervals, no verdicts. The figures are exact for their seed: the same plan gives the same \
             figures to the nanosecond. What other seeds would give, only more repeats can say (--repeat 5)."
                .into(),
        ),
        (_, 1) => out.push("One repeat: no intervals, no verdicts. Repeat it to tell differences from noise (--repeat 5).".into()),
        (Lab::Virtual, _) => out.push(
            "Repeats differ by their seed alone, since the lab's clock has no noise: intervals say how much the workload \
             varies, not how well a figure was measured."
                .into(),
        ),
        (..) => {}
    }
    if (2..crate::stats::interval::FEWEST).contains(&repeats) {
        out.push(format!("{repeats} repeats: a median has an interval from {} on.", crate::stats::interval::FEWEST));
    }
    if repeats > 1 {
        out.push(format!(
            "Differences are shown at {} for all comparisons of the run together, and count from {} on.",
            percent(options.level),
            percent(options.matters)
        ));
    }
    out
}
