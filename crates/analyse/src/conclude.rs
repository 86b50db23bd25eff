//! Conclusions in plain sentences: what a reader would be told first, each with the numbers that carry it.
//!
//! A sentence says "is fastest" only of what a verdict shows. With one repeat there are no verdicts: the first sentence
//! says so, and the others tell in the past tense what was measured.

use mountmark_model::{Better, Metric, counted};

use crate::figures::{CAPACITY, Figures, STEPS};
use crate::verdict::{Family, beside, best_first};
use crate::words::{and, capital, factor, figure, interval, percent, verb};
use crate::{CategoryFindings, Options, Overall, Rank, TaskFindings, VerdictOutcome};

/// Tests whose largest difference is told.
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
    // Steps and usable space are told below, with their figures.
    let told = evidence.categories.iter().filter(|c| ![STEPS, CAPACITY].contains(&c.name.as_str()));
    out.extend(told.filter(|c| c.ranking.len() > 1).map(|c| c.sentence.clone()));
    out.extend(striking(evidence));
    out.extend(steps(evidence));
    out.extend(composite(evidence));
    if !out.is_empty() && !evidence.has_repeats() {
        out.insert(0, ONE_REPEAT.into());
    }
    out
}

/// What stands before everything that one repeat says.
const ONE_REPEAT: &str = "This run has one repeat. It tells what was measured, and shows no difference between file \
                          systems: whether another repeat would give the same order, only more repeats can tell.";

impl Evidence<'_> {
    fn name(&self, configuration: usize) -> &str {
        &self.figures.configurations[configuration]
    }

    fn has_repeats(&self) -> bool {
        self.figures.repeats.len() > 1
    }
}

fn overall(evidence: &Evidence<'_>) -> Option<String> {
    let ranking = &evidence.overall.ranking;
    if ranking.len() < 2 {
        return None;
    }
    let judged = |task: &&crate::figures::Task| !task.step && task.main().is_some();
    let tests = evidence.figures.tasks.iter().filter(judged).count();
    let told = lead(evidence.figures, ranking, &evidence.overall.basis, true, evidence.options);
    Some(if tests == 1 { format!("In the one test, {told}.") } else { format!("Over all {tests} tests, {told}.") })
}

/// "ext4 took the least durable time, on average 1.07 times the best of each test; then xfs with 1.12, last is jfs with
/// 1.5". A first place is only said where it is steady. `whole` adds how the average is made, and intervals.
pub(crate) fn lead(figures: &Figures, ranking: &[Rank], basis: &str, whole: bool, options: &Options) -> String {
    let [first, second, ..] = ranking else { return String::new() };
    let name = |rank: &Rank| figures.configurations[rank.configuration].clone();
    let certain = |rank: &Rank| match &rank.interval {
        Some(found) if whole => format!(" ({})", interval(found, options.level)),
        _ => String::new(),
    };
    let score = |rank: &Rank| format!("{}{}", factor(rank.score), certain(rank));
    if basis == crate::analysis::SPACE {
        let part = |rank: &Rank| format!("{} with {} of that", name(rank), factor(first.score / rank.score));
        let last = last_of(ranking).map_or(String::new(), |last| format!("; last is {}", part(last)));
        return format!("{} left the most usable space; then {}{last}", name(first), part(second));
    }
    let average = if whole { "on average (geometric mean)" } else { "on average" };
    let (least, times) = scored_by(basis);
    let last = last_of(ranking);
    let is_close = |rank: &Rank| rank.score / first.score < 1.0 + options.matters;
    let unsteady = first.stability.is_some_and(|stability| stability < options.level);
    // Two repeats that agree keep their order in every draw, and still show no difference.
    let reaches = second.interval.as_ref().is_some_and(|found| found.low <= first.score);
    if last.is_some_and(is_close) {
        let (count, matters) = (ranking.len(), percent(options.matters));
        return format!("all {count} file systems are level: {average} they are less than {matters} apart");
    }
    let last = last.map_or(String::new(), |last| format!("; last is {} with {}", name(last), score(last)));
    if is_close(second) || unsteady || reaches {
        let why = match first.stability {
            Some(stability) if unsteady => {
                let kept = percent(hundredths(stability));
                format!("with repeats drawn anew, the first place stays the same in only {kept} of draws")
            }
            _ if is_close(second) => format!("they are less than {} apart", percent(options.matters)),
            _ => "the repeats do not tell them apart".to_owned(),
        };
        let (one, other) = (score(first), score(second));
        return format!(
            "{} and {} are level, {average} {one} and {other} {times} ({why}){last}",
            name(first),
            name(second)
        );
    }
    // The logarithms of equal figures cancel exactly, their sums to the last digits.
    let is_best_everywhere = first.score < 1.0 + 1e-9;
    let by = match is_best_everywhere {
        true => "the best of every test".to_owned(),
        false => format!("{average} {} {times}{}", factor(first.score), certain(first)),
    };
    let then = match is_best_everywhere {
        true => format!("{average} {} {times}{}", factor(second.score), certain(second)),
        false => score(second),
    };
    format!("{} {least}, {by}; then {} with {then}{last}", name(first), name(second))
}

/// The last of three or more.
fn last_of(ranking: &[Rank]) -> Option<&Rank> {
    ranking.last().filter(|_| ranking.len() > 2)
}

/// What the first of a ranking did, and what a score is.
fn scored_by(basis: &str) -> (String, &'static str) {
    let time = "times the best of each test";
    match basis {
        crate::analysis::MEMORY => (format!("used the least memory ({basis})"), time),
        basis if basis.contains("rate") => {
            (format!("was fastest (by {basis})"), "times as slow as the best of each test")
        }
        basis => (format!("took the least {basis}"), time),
    }
}

/// A share in whole hundredths.
fn hundredths(share: f64) -> f64 {
    (share * 100.0).floor() / 100.0
}

/// Who won how many tests.
fn tally(evidence: &Evidence<'_>) -> Option<String> {
    let verdicts: Vec<&VerdictOutcome> = evidence
        .tasks
        .iter()
        .filter(|task| !task.step)
        .filter_map(|task| Some(&task.judged()?.verdict.as_ref()?.outcome))
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
    let mut parts = places(evidence, &wins, "is fastest in");
    if tied > 0 {
        parts.push(format!("several share the first place in {tied}"));
    }
    if none > 0 {
        parts.push(format!("no difference that matters is shown in {none}"));
    }
    Some(format!("Of {}, {}.", counted(judged, "test"), and(parts.into_iter())))
}

/// "ext4 is fastest in 3", "xfs in 2": those with any, most first.
fn places(evidence: &Evidence<'_>, counts: &[usize], is: &str) -> Vec<String> {
    let mut order: Vec<usize> = (0..counts.len()).filter(|at| counts[*at] > 0).collect();
    order.sort_by(|a, b| counts[*b].cmp(&counts[*a]));
    let text = |(place, at): (usize, &usize)| {
        let is = if place == 0 { is } else { "in" };
        format!("{} {is} {}", evidence.name(*at), counts[*at])
    };
    order.iter().enumerate().map(text).collect()
}

/// Who was best in how many tests, where nothing is shown.
fn best_in(evidence: &Evidence<'_>) -> Option<String> {
    let mut best = vec![0; evidence.figures.configurations.len()];
    let mut tests = 0;
    for task in evidence.figures.tasks.iter().filter(|task| !task.step) {
        let Some(series) = task.main() else { continue };
        if let [first, _, ..] = best_first(series).as_slice() {
            tests += 1;
            best[*first] += 1;
        }
    }
    let parts = places(evidence, &best, "had the best figure in");
    (tests > 0).then(|| format!("Of {}, {}.", counted(tests, "test"), and(parts.into_iter())))
}

/// The tests with the largest differences from best to worst.
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
        let Some(by) = beside(series, judged, *worst, *best, evidence.options) else { continue };
        let times = match series.metric.better {
            Better::Lower => value(*worst) / value(*best),
            Better::Higher => value(*best) / value(*worst),
        };
        if !times.is_finite() || times < 1.0 + evidence.options.matters {
            continue;
        }
        let label = crate::missing::label(task);
        let told = |one: usize| {
            format!("{} {} {}", evidence.name(one), verb(series.metric), figure(series.metric, value(one)))
        };
        found.push((times, format!("{label}: {}; {}, {by}.", told(*best), told(*worst))));
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
        let is_space = task.category == CAPACITY;
        let what = if is_space { crate::words::subject(series.metric, true) } else { task.id.as_str() };
        let took = if is_space { "goes" } else { "took" };
        if value(best) == value(worst) {
            let took = if is_space { "is" } else { took };
            out.push(format!("{} {took} {} on all file systems.", capital(what), value(best)));
            continue;
        }
        let ends = [best, worst].map(|one| format!("{} on {}", value(one), evidence.name(*one)));
        out.push(format!("{} {took} from {} to {}.", capital(what), ends[0], ends[1]));
    }
    out
}

/// The old studies' own figure, which says something of commands alone.
fn composite(evidence: &Evidence<'_>) -> Option<String> {
    let mut tests = evidence.figures.tasks.iter().filter(|task| !task.step);
    if tests.any(|task| task.in_parts || task.main().is_some_and(|main| main.metric.id == Metric::RATE.id)) {
        return None;
    }
    let mut sums: Vec<(f64, usize)> =
        evidence.overall.composite.iter().enumerate().filter_map(|(at, sum)| sum.map(|sum| (sum, at))).collect();
    sums.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ([first, .., last], true) = (sums.as_slice(), sums.len() > 1) else { return None };
    let text = |(sum, at): &(f64, usize)| format!("{} on {}", figure(&Metric::ELAPSED, *sum), evidence.name(*at));
    Some(format!(
        "The sum of all tests' returned times, the composite of the study of 2006, goes from {} to {}.",
        text(first),
        text(last)
    ))
}
