//! Sentences for verdicts: the metric of the verdict, and its numbers.

pub(crate) mod rule;

use mountmark_document::number::{and, capital, interval, percent, range, ratio};
use mountmark_model::Better;

use crate::dependence::say::depends;
use crate::figures::find::{MetricFindings, TaskFindings};
use crate::figures::say::quantity::quantity;
use crate::figures::say::{is_best, is_worse, subject};
use crate::found::Findings;
use crate::verdicts::find::verdict::{Gap, NotJudged, Verdict, VerdictOutcome};
use crate::{robustness, safety};

/// The verdict on a task by a metric; empty if not judged.
pub(crate) fn sentence(findings: &Findings, found: &MetricFindings) -> String {
    let Some(verdict) = &found.verdict else { return String::new() };
    let of = Of { findings, found, verdict };
    let subject = capital(subject(found.metric));
    let said = match &verdict.outcome {
        VerdictOutcome::NotJudged { reason } => return of.not_judged(&subject, *reason) + &of.dependent(),
        VerdictOutcome::Winner { configuration } => of.winner(*configuration),
        VerdictOutcome::Tied { configurations } => of.tied(configurations),
        VerdictOutcome::NoDifferenceShown { detectable } => of.no_difference(*detectable),
    };
    if said.is_empty() {
        return said;
    }
    format!("{subject}: {said}{}{}", of.apart(), of.dependent())
}

/// The verdict on a task; under wall time that by processor time too, where it shows a difference.
pub(crate) fn sentences(findings: &Findings, task: &TaskFindings, judged: &MetricFindings) -> String {
    let all = std::iter::once(judged).chain(task.told_by_processor());
    let said = all.map(|found| sentence(findings, found)).filter(|said| !said.is_empty()).collect::<Vec<_>>().join(" ");
    let said = said + &robustness::say::verdict(findings, task);
    let first = judged.verdict.as_ref().map_or(&[][..], |verdict| verdict.first());
    let loses = |one: &&usize| task.syncs() && findings.safety[**one].loses_synced();
    let losing: Vec<&str> = first.iter().filter(loses).map(|one| findings.headings[*one].as_str()).collect();
    if losing.is_empty() { said } else { format!("{said} {}.", safety::say::lose(&losing)) }
}

struct Of<'a> {
    findings: &'a Findings,
    found: &'a MetricFindings,
    verdict: &'a Verdict,
}

impl Of<'_> {
    fn name(&self, configuration: usize) -> &str {
        &self.findings.headings[configuration]
    }

    fn value(&self, configuration: usize) -> String {
        quantity(self.found.metric, median(self.found, configuration))
    }

    fn with_value(&self, configuration: usize) -> String {
        format!("{} ({})", self.name(configuration), self.value(configuration))
    }

    fn not_judged(&self, subject: &str, reason: NotJudged) -> String {
        let all: Vec<String> =
            self.verdict.order.iter().map(|one| format!("{} {}", self.name(*one), self.value(*one))).collect();
        let has_zero = self.found.estimates.iter().flatten().any(|estimate| estimate.summary.min <= 0.0);
        let (text, all) = (not_judged(reason, has_zero), (all.len(), all.join(", ")));
        match (reason, all) {
            (_, (0, _)) => "No configuration has a figure.".into(),
            (_, (1, one)) => format!("{subject}: {one}; there is nothing to compare it with: {text}."),
            (NotJudged::OneRepeat, (_, all)) => {
                format!("{subject} in this one repeat: {all}. One repeat cannot show a difference.")
            }
            (_, (_, all)) => format!("{subject}: {all} (not judged: {text})."),
        }
    }

    fn winner(&self, winner: usize) -> String {
        let Some(next) = self.verdict.order.iter().find(|other| **other != winner) else { return String::new() };
        let by = self.verdict.gap.map_or(String::new(), |gap| format!(": {}", beside(self.findings, &gap)));
        let best = is_best(self.found.metric);
        // Another one is better under some conditions.
        let turns =
            self.verdict.gap.and_then(|gap| gap.between).is_some_and(|found| found.low < 1.0 && found.high > 1.0);
        let on_average = if turns { " on average" } else { "" };
        let (first, second) = (self.value(winner), self.value(*next));
        format!(
            "{} {best}{on_average} with {first}; the next is {} with {second}{by}.",
            self.name(winner),
            self.name(*next)
        )
    }

    fn tied(&self, leaders: &[usize]) -> String {
        let rest: Vec<usize> = self.verdict.order.iter().copied().filter(|other| !leaders.contains(other)).collect();
        let are_below = rest.iter().all(|other| self.verdict.below.contains(other));
        let next = rest.first().map(|next| self.with_value(*next)).unwrap_or_default();
        let worse = is_worse(self.found.metric);
        let others = match (are_below, rest.len()) {
            (true, 1) => format!("{next} is {worse}"),
            (true, _) => format!("all others are {worse}, and the next is {next}"),
            // A tied configuration with large variation may have a worse median than one that is shown to be worse.
            (false, 1) => format!("{next} is {worse} than at least one of them"),
            (false, _) => format!("every other is {worse} than at least one of them, and the next is {next}"),
        };
        format!("{}; {others}.", self.leaders(leaders))
    }

    /// Those in first place. Where repeats spread, what is not told apart may be far apart.
    fn leaders(&self, leaders: &[usize]) -> String {
        let worse = is_worse(self.found.metric);
        let times = |one: usize| median(self.found, one) / median(self.found, leaders[0]);
        let is_far = |one: &usize| times(*one).max(1.0 / times(*one)) >= 1.0 + self.findings.matters;
        let (far, near): (Vec<usize>, Vec<usize>) = leaders.iter().partition(|one| is_far(one));
        if far.is_empty() {
            let first = and(leaders.iter().map(|leader| self.with_value(*leader)));
            let none = if self.verdict.has_small { "no difference that matters" } else { "no difference" };
            return format!("{first} share the first place: {none} between them is shown");
        }
        let first = and(near.iter().map(|one| self.with_value(*one)));
        let other = |one: &usize| {
            let of = if times(*one) >= 1.0 { "times" } else { "of" };
            format!("{} ({}, {} {of} that)", self.name(*one), self.value(*one), ratio(times(*one)))
        };
        let others = and(far.iter().map(other));
        let (has, are) = (if near.len() == 1 { "has" } else { "have" }, if far.len() == 1 { "is" } else { "are" });
        format!("{first} {has} the best median; that {others} {are} {worse} is not shown")
    }

    fn no_difference(&self, detectable: Option<f64>) -> String {
        let [best, .., worst] = self.verdict.order[..] else { return String::new() };
        let (low, high) = match self.found.metric.better {
            Better::Lower => (best, worst),
            Better::Higher => (worst, best),
        };
        let medians = format!("medians {} to {}", self.value(low), self.value(high));
        let (matters, has_small) = (self.findings.matters, self.verdict.has_small);
        let smaller = percent(matters);
        match detectable.filter(|found| *found > matters).map(would_be_detected) {
            // Another pair may be far apart without being shown: the detectable difference is stated then.
            Some(found) if has_small => {
                format!("no difference that matters is shown ({medians}); {found}.")
            }
            None if has_small => {
                format!("no difference that matters is shown: all that are shown are below {smaller} ({medians}).")
            }
            Some(found) => format!("no difference is shown ({medians}); {found}."),
            None => format!("no difference of {smaller} or more is shown ({medians})."),
        }
    }

    /// What depends on conditions, as further sentences.
    fn dependent(&self) -> String {
        let depends = |(one, found)| format!(" {} {}.", self.name(one), depends(self.found.metric, found));
        self.found.dependences().map(depends).collect()
    }

    /// Configurations with figures that could not be judged with the others.
    fn apart(&self) -> String {
        if self.verdict.apart.is_empty() {
            return String::new();
        }
        let all = and(self.verdict.apart.iter().map(|one| self.with_value(*one)));
        format!(" Not judged, because too few of its repeats are shared with the others: {all}.")
    }
}

/// What a run could have shown: a share of the smaller figure, from twice on a ratio, and from ten times on that it could
/// show nothing.
fn would_be_detected(difference: f64) -> String {
    let size = match 1.0 + difference {
        times if times >= 10.0 => {
            return "the repeats spread so far that even one of 10 times could be missed".to_owned();
        }
        times if times >= 2.0 => format!("{} times", ratio(times)),
        _ => percent(difference),
    };
    format!("one of {size} would be detected in four cases of five")
}

pub(crate) fn median(found: &MetricFindings, configuration: usize) -> f64 {
    let estimate = found.estimates.get(configuration).and_then(Option::as_ref);
    estimate.map_or(0.0, |estimate| estimate.summary.median)
}

fn not_judged(reason: NotJudged, has_zero: bool) -> &'static str {
    match reason {
        NotJudged::OneConfiguration => "the run has one configuration",
        NotJudged::NoOther => "no other has a figure",
        NotJudged::OneRepeat => "the run has one repeat",
        NotJudged::NoRatios if has_zero => "a figure of 0 has no ratio",
        NotJudged::NoRatios => "no two have figures in two of the same repeats",
    }
}

/// "1.18 times that (95 %: 1.15 to 1.21)", after the figure of the better one; "1.1 to 2.6 times that, depending on
/// conditions" where one ratio would be no answer.
pub(crate) fn beside(findings: &Findings, gap: &Gap) -> String {
    if let Some(between) = gap.between {
        let times = if between.high < 1.0 { "of" } else { "times" };
        return format!("{} {times} that, depending on conditions", range(between));
    }
    let certain = gap.interval.map_or(String::new(), |found| format!(" ({})", interval(found, findings.level)));
    let text = ratio(gap.ratio);
    if gap.ratio >= 1.0 { format!("{text} times that{certain}") } else { format!("{text} of that{certain}") }
}
