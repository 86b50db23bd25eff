//! The sentence of a ranking: who leads, by how much, who is next and who is last.

use mountmark_document::number::{and_more, interval, percent, ratio, share};

use crate::figures::find::basis::{Basis, Category};
use crate::figures::say as metric;
use crate::found::Findings;
use crate::overview::say::kind::kind;
use crate::rankings::find::rank::{FEW, Lead, Level, Rank};
use crate::safety;

/// A ranking of two or more, `of` a category or of all tests: this adds how the average is computed, and intervals.
pub(super) struct Ranking<'a> {
    pub findings: &'a Findings,
    pub ranking: &'a [Rank],
    pub basis: Basis,
    pub of: Option<&'a Category>,
    /// Whether all judged tests are ranked.
    pub all: bool,
}

impl Ranking<'_> {
    /// "ext4 took the least durable time, on average 1.07 times the best of each test; next is xfs with 1.12; last is jfs
    /// with 1.5".
    pub fn lead(&self, lead: Option<Lead>) -> String {
        let ([first, second, ..], Some(lead)) = (self.ranking, lead) else { return String::new() };
        if self.basis == Basis::Space {
            return self.space(first, second);
        }
        let matters = percent(self.findings.matters);
        let average = if self.of.is_none() { "on average (geometric mean)" } else { "on average" };
        let (least, times) = self.scored_by();
        let last = self.last().map_or(String::new(), |last| {
            format!("; last is {} with {}{}", self.name(last), ratio(last.score), self.certain(last))
        });
        let score = |rank: &Rank| format!("{}{}", ratio(rank.score), self.certain(rank));
        let (one, other) = (self.name(first), self.name(second));
        match lead {
            Lead::AllLevel => {
                let count = self.ranking.len();
                let things = kind(self.findings)[1];
                let ranked = if count < self.findings.configurations.len() { " ranked" } else { "" };
                format!("all {count}{ranked} {things} are level: {average} they are less than {matters} apart")
            }
            Lead::Shared { count, level } => {
                let why = match level {
                    Level::Unsteady => {
                        let kept = share(first.resampled.unwrap_or_default());
                        format!("the first place stays the same in only {kept} of resamplings of the repeats")
                    }
                    Level::Close => format!("they are less than {matters} apart"),
                    Level::NotShown => "the repeats show no difference to the first".to_owned(),
                };
                let related = match level {
                    Level::Close => "are level",
                    Level::Unsteady | Level::NotShown => "come first, in no order that is shown",
                };
                let names = and_more(self.ranking.iter().map(|rank| self.name(rank)), count, FEW);
                let between = if count > 2 { "to" } else { "and" };
                let scores = format!("{} {between} {}", score(first), score(&self.ranking[count - 1]));
                let last = if count < self.ranking.len() { last } else { String::new() };
                format!("{names} {related}: {average} {scores} {times} ({why}){last}")
            }
            Lead::First { everywhere: true } => {
                let then = format!("{average} {} {times}{}", ratio(second.score), self.certain(second));
                let every = if self.all { "every test" } else { "each of them" };
                format!("{one} {least} and was the best in {every}; next is {other}, {then}{last}")
            }
            Lead::First { everywhere: false } => {
                let by = format!("{average} {} {times}{}", ratio(first.score), self.certain(first));
                format!("{one} {least}, {by}; next is {other} with {}{last}", score(second))
            }
        }
    }

    fn space(&self, first: &Rank, second: &Rank) -> String {
        let part = |rank: &Rank| format!("{} with {} of that", self.name(rank), ratio(first.score / rank.score));
        let last = self.last().map_or(String::new(), |last| format!("; last is {}", part(last)));
        format!("{} left the most usable space; next is {}{last}", self.name(first), part(second))
    }

    fn name(&self, rank: &Rank) -> String {
        safety::say::named(self.findings, rank.configuration, |task| self.of.is_some_and(|of| task.category == *of))
    }

    fn certain(&self, rank: &Rank) -> String {
        let interval = |found| format!(" ({})", interval(found, self.findings.level));
        rank.interval.filter(|_| self.of.is_none()).map_or(String::new(), interval)
    }

    /// The last place, if there are three or more.
    fn last(&self) -> Option<&Rank> {
        self.ranking.last().filter(|_| self.ranking.len() > 2)
    }

    /// The result of the first place, and the meaning of a score.
    fn scored_by(&self) -> (String, &'static str) {
        let (basis, times) = (metric::basis(self.basis), "times the best of each test");
        match self.basis {
            Basis::Memory => (format!("used the least memory ({basis})"), times),
            Basis::Processor => (format!("used the least {basis}"), times),
            rates if rates.has_rates() => {
                (format!("was fastest (by {basis})"), "times as slow as the best of each test")
            }
            _ => (format!("took the least {basis}"), times),
        }
    }
}
