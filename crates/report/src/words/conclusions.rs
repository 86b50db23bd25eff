//! Conclusions in words: what a reader should know first, each with the numbers that carry it.
//!
//! A sentence says "is fastest" only of what a verdict shows. With one repeat there are no verdicts: the first sentence
//! says so, and the others tell in the past tense what was measured.

use mountmark_analyse::{Basis, Category, CategoryFindings, Conclusion, Findings, Gap, Lead, Level, Rank};
use mountmark_model::{Metric, counted};

use super::metric::{self, subject, verb};
use super::missing::named;
use super::number::{and, capital, factor, figure, interval, percent};
use super::verdict::{beside, median};

/// What stands before everything that one repeat says.
const ONE_REPEAT: &str = "This run has one repeat. It tells what was measured, and shows no difference between file \
                          systems: whether another repeat would give the same order, only more repeats can tell.";

/// All of them, the most important first.
pub(crate) fn sentences(findings: &Findings) -> Vec<String> {
    findings.conclusions.iter().map(|conclusion| sentence(findings, conclusion)).collect()
}

fn sentence(findings: &Findings, conclusion: &Conclusion) -> String {
    let name = |configuration: usize| findings.configurations[configuration].as_str();
    match conclusion {
        Conclusion::OneRepeat => ONE_REPEAT.into(),
        Conclusion::Overall { tests } => {
            let overall = &findings.overall;
            let said = Ranking { findings, ranking: &overall.ranking, basis: overall.basis, whole: true }.lead(overall.lead);
            if *tests == 1 { format!("In the one test, {said}.") } else { format!("Over all {tests} tests, {said}.") }
        }
        Conclusion::Tally { tests, wins, tied, none } => {
            let mut parts = places(findings, wins, "is fastest in");
            if *tied > 0 {
                parts.push(format!("several share the first place in {tied}"));
            }
            if *none > 0 {
                parts.push(format!("no difference that matters is shown in {none}"));
            }
            format!("Of {}, {}.", counted(*tests, "test"), and(parts.into_iter()))
        }
        Conclusion::BestFigures { tests, best } => {
            let parts = places(findings, best, "had the best figure in");
            format!("Of {}, {}.", counted(*tests, "test"), and(parts.into_iter()))
        }
        Conclusion::Category(at) => category(findings, &findings.categories[*at]),
        Conclusion::Striking { task, gap } => striking(findings, *task, gap),
        Conclusion::Range { task, best, worst } => range(findings, *task, [*best, *worst]),
        Conclusion::Composite { least, greatest } => {
            let sum = |one: usize| {
                let sum = findings.overall.composite[one].unwrap_or_default();
                format!("{} on {}", figure(&Metric::ELAPSED, sum), name(one))
            };
            format!(
                "The sum of all tests' returned times, the composite of the study of 2006, goes from {} to {}.",
                sum(*least),
                sum(*greatest)
            )
        }
    }
}

/// The ranking of a kind of work, and who is not in it.
pub(crate) fn category(findings: &Findings, found: &CategoryFindings) -> String {
    let names = findings.configurations.iter().enumerate();
    let missing = names.filter(|(at, _)| !found.ranking.iter().any(|rank| rank.configuration == *at));
    let missing: Vec<String> = missing.map(|(_, name)| name.clone()).collect();
    let not_ranked = match missing.is_empty() {
        true => String::new(),
        false => format!(" Not ranked, for want of figures: {}.", and(missing.into_iter())),
    };
    let said = match &found.ranking[..] {
        [] => "no configuration has figures of all tests".to_owned(),
        [only] => format!("only {} has figures of all tests", findings.configurations[only.configuration]),
        ranking => Ranking { findings, ranking, basis: found.basis, whole: false }.lead(found.lead),
    };
    format!("{}: {said}.{not_ranked}", capital(metric::category(&found.category)))
}

/// "ext4 is fastest in 3", "xfs in 2".
fn places(findings: &Findings, counts: &[(usize, usize)], is: &str) -> Vec<String> {
    let text = |(place, (one, count)): (usize, &(usize, usize))| {
        let is = if place == 0 { is } else { "in" };
        format!("{} {is} {count}", findings.configurations[*one])
    };
    counts.iter().enumerate().map(text).collect()
}

fn striking(findings: &Findings, task: usize, gap: &Gap) -> String {
    let task = &findings.tasks[task];
    let Some(found) = task.judged() else { return String::new() };
    let said = |one: usize| {
        let value = figure(found.metric, median(found, one));
        format!("{} {} {value}", findings.configurations[one], verb(found.metric))
    };
    let label = named(&task.id, &task.title);
    format!("{label}: {}; {}, {}.", said(gap.best), said(gap.other), beside(findings, gap))
}

fn range(findings: &Findings, task: usize, ends: [usize; 2]) -> String {
    let task = &findings.tasks[task];
    let Some(found) = task.judged() else { return String::new() };
    let [best, worst] = ends.map(|one| figure(found.metric, median(found, one)));
    let is_space = task.category == Category::Capacity;
    let what = capital(if is_space { subject(found.metric, true) } else { &task.id });
    if best == worst {
        let took = if is_space { "is" } else { "took" };
        return format!("{what} {took} {best} on all file systems.");
    }
    let [first, last] = ends.map(|one| &findings.configurations[one]);
    let took = if is_space { "goes" } else { "took" };
    format!("{what} {took} from {best} on {first} to {worst} on {last}.")
}

/// A ranking of two or more. `whole` adds how the average is made, and intervals.
struct Ranking<'a> {
    findings: &'a Findings,
    ranking: &'a [Rank],
    basis: Basis,
    whole: bool,
}

impl Ranking<'_> {
    /// "ext4 took the least durable time, on average 1.07 times the best of each test; then xfs with 1.12, last is jfs
    /// with 1.5".
    fn lead(&self, lead: Option<Lead>) -> String {
        let ([first, second, ..], Some(lead)) = (self.ranking, lead) else { return String::new() };
        if self.basis == Basis::Space {
            return self.space(first, second);
        }
        let matters = percent(self.findings.matters);
        let average = if self.whole { "on average (geometric mean)" } else { "on average" };
        let (least, times) = self.scored_by();
        let last = self.last().map_or(String::new(), |last| {
            format!("; last is {} with {}{}", self.name(last), factor(last.score), self.certain(last))
        });
        let score = |rank: &Rank| format!("{}{}", factor(rank.score), self.certain(rank));
        let (one, other) = (self.name(first), self.name(second));
        match lead {
            Lead::AllLevel => {
                let count = self.ranking.len();
                format!("all {count} file systems are level: {average} they are less than {matters} apart")
            }
            Lead::TwoLevel(level) => {
                let why = match level {
                    Level::Unsteady => {
                        let kept = percent(hundredths(first.stability.unwrap_or_default()));
                        format!("with repeats drawn anew, the first place stays the same in only {kept} of draws")
                    }
                    Level::Close => format!("they are less than {matters} apart"),
                    Level::NotShown => "the repeats do not tell them apart".to_owned(),
                };
                let (first, second) = (score(first), score(second));
                format!("{one} and {other} are level, {average} {first} and {second} {times} ({why}){last}")
            }
            Lead::First { everywhere: true } => {
                let then = format!("{average} {} {times}{}", factor(second.score), self.certain(second));
                format!("{one} {least}, the best of every test; then {other} with {then}{last}")
            }
            Lead::First { everywhere: false } => {
                let by = format!("{average} {} {times}{}", factor(first.score), self.certain(first));
                format!("{one} {least}, {by}; then {other} with {}{last}", score(second))
            }
        }
    }

    fn space(&self, first: &Rank, second: &Rank) -> String {
        let part = |rank: &Rank| format!("{} with {} of that", self.name(rank), factor(first.score / rank.score));
        let last = self.last().map_or(String::new(), |last| format!("; last is {}", part(last)));
        format!("{} left the most usable space; then {}{last}", self.name(first), part(second))
    }

    fn name(&self, rank: &Rank) -> &str {
        &self.findings.configurations[rank.configuration]
    }

    /// The interval of a score.
    fn certain(&self, rank: &Rank) -> String {
        let interval = |found| format!(" ({})", interval(&found, self.findings.level));
        rank.interval.filter(|_| self.whole).map_or(String::new(), interval)
    }

    /// The last of three or more.
    fn last(&self) -> Option<&Rank> {
        self.ranking.last().filter(|_| self.ranking.len() > 2)
    }

    /// What the first did, and what a score is.
    fn scored_by(&self) -> (String, &'static str) {
        let (basis, times) = (metric::basis(self.basis), "times the best of each test");
        match self.basis {
            Basis::Memory => (format!("used the least memory ({basis})"), times),
            rates if rates.has_rates() => (format!("was fastest (by {basis})"), "times as slow as the best of each test"),
            _ => (format!("took the least {basis}"), times),
        }
    }
}

/// A share in whole hundredths.
fn hundredths(share: f64) -> f64 {
    (share * 100.0).floor() / 100.0
}
