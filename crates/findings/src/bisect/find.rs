//! The first bad one of a row of kernels: whom to try next, what a figure says, and what was found.

use std::collections::BTreeSet;

use mountmark_model::{Better, Metric};
use serde::Serialize;

/// A row whose first is good and whose last is bad, from 0 on, searched by halves.
#[derive(Clone, Debug)]
pub struct Search {
    good: usize,
    bad: usize,
    skipped: BTreeSet<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Good,
    Bad,
    /// It could not be tried.
    Skipped,
}

impl Verdict {
    /// As `git bisect` calls it, but for `skipped`.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Good => "good",
            Verdict::Bad => "bad",
            Verdict::Skipped => "skipped",
        }
    }
}

impl Search {
    /// `count`: both ends included.
    pub fn new(count: usize) -> Search {
        Search { good: 0, bad: count.saturating_sub(1), skipped: BTreeSet::new() }
    }

    /// Those between the last good and the first bad one that may still be tried.
    fn open(&self) -> impl Iterator<Item = usize> {
        (self.good + 1..self.bad).filter(|at| !self.skipped.contains(at))
    }

    pub fn left(&self) -> usize {
        self.open().count()
    }

    /// Tries that are needed at most, unless some are skipped.
    pub fn steps(&self) -> u32 {
        (self.left() + 1).next_power_of_two().ilog2()
    }

    /// The middle of those that are left, so that a skipped one's neighbour is next; `None` at the end.
    pub fn middle(&self) -> Option<usize> {
        self.open().nth(self.left() / 2)
    }

    pub fn tell(&mut self, at: usize, verdict: Verdict) {
        match verdict {
            Verdict::Good => self.good = at,
            Verdict::Bad => self.bad = at,
            Verdict::Skipped => drop(self.skipped.insert(at)),
        }
    }

    /// The last good and the first bad one that are known.
    pub fn pair(&self) -> [usize; 2] {
        [self.good, self.bad]
    }
}

/// How many times as bad a figure is as an earlier one; both are positive.
pub fn worse(metric: &Metric, before: f64, after: f64) -> f64 {
    match metric.better {
        Better::Lower => after / before,
        Better::Higher => before / after,
    }
}

/// The verdict on a figure between those of the good end and the bad end: it is as the nearer one, by ratio.
pub fn verdict([good, bad]: [f64; 2], figure: f64) -> Verdict {
    match (figure / good).ln().abs() < (figure / bad).ln().abs() {
        true => Verdict::Good,
        false => Verdict::Bad,
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Bisection {
    pub configuration: String,
    pub task: String,
    pub metric: &'static Metric,
    /// In the order of time, the good end and the bad end first.
    pub tried: Vec<Tried>,
    /// The last good and the first bad one, in `tried`.
    pub pair: [usize; 2],
    /// Names of those between the pair, which could not be tried.
    pub hidden: Vec<String>,
}

/// A kernel or commit that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// Debian's kernel, or the commit and its title.
    pub name: String,
    /// `None` if it was skipped.
    pub figure: Option<f64>,
    /// Its run in the store.
    pub run: Option<String>,
    pub verdict: Verdict,
    /// Why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Bisection {
    fn figure(&self, at: usize) -> f64 {
        self.tried.get(at).and_then(|tried| tried.figure).unwrap_or(f64::NAN)
    }

    /// The figures of the two between which the step is.
    pub fn figures(&self) -> [f64; 2] {
        self.pair.map(|at| self.figure(at))
    }

    /// The step's part of what the ends are apart, of logarithms: 0.9 is 90 %.
    pub fn part(&self) -> f64 {
        let [before, after] = self.figures();
        (after / before).ln() / (self.figure(1) / self.figure(0)).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a row; returns the pair, and the tries.
    fn search(count: usize, first_bad: usize, skips: impl Fn(usize) -> bool) -> ([usize; 2], Vec<usize>) {
        let mut search = Search::new(count);
        let mut tried = Vec::new();
        while let Some(at) = search.middle() {
            assert!(0 < at && at < count - 1 && !tried.contains(&at), "{at} of {count} after {tried:?}");
            tried.push(at);
            let verdict = match (skips(at), at < first_bad) {
                (true, _) => Verdict::Skipped,
                (false, true) => Verdict::Good,
                (false, false) => Verdict::Bad,
            };
            search.tell(at, verdict);
        }
        (search.pair(), tried)
    }

    #[test]
    fn every_culprit_is_found_in_as_few_tries_as_halves_need() {
        for count in 2..70 {
            for first_bad in 1..count {
                let (pair, tried) = search(count, first_bad, |_| false);
                assert_eq!(pair, [first_bad - 1, first_bad]);
                // count - 1 places where the step can be.
                let most = (count as f64 - 1.0).log2().ceil() as usize;
                assert_eq!(Search::new(count).steps() as usize, most);
                assert!(tried.len() <= most, "{first_bad} of {count}: {tried:?}");
            }
        }
    }

    #[test]
    fn what_is_skipped_costs_one_try_and_leaves_a_range_where_it_hides_the_step() {
        for count in 3..10 {
            for (first_bad, mask) in (1..count).flat_map(|at| (0..1_usize << (count - 2)).map(move |mask| (at, mask))) {
                let skips = |at: usize| (1..count - 1).contains(&at) && mask >> (at - 1) & 1 == 1;
                let (pair, tried) = search(count, first_bad, skips);
                let good = (0..first_bad).rev().find(|at| !skips(*at)).unwrap();
                let bad = (first_bad..count).find(|at| !skips(*at)).unwrap();
                assert_eq!(pair, [good, bad], "{count} {first_bad} {mask:b}");
                let skipped = tried.iter().filter(|at| skips(**at)).count();
                assert!(tried.len() - skipped <= Search::new(count).steps() as usize, "{count} {mask:b} {tried:?}");
            }
        }
    }

    #[test]
    fn a_figure_is_as_the_nearer_end() {
        // By ratio the middle of 1 and 4 is 2.
        for (ends, figure, says) in [
            ([1.0, 4.0], 1.9, Verdict::Good),
            ([1.0, 4.0], 2.1, Verdict::Bad),
            ([1.0, 4.0], 9.0, Verdict::Bad),
            ([1.0, 4.0], 0.5, Verdict::Good),
            ([4.0, 1.0], 2.1, Verdict::Good),
            ([4.0, 1.0], 1.9, Verdict::Bad),
        ] {
            assert_eq!(verdict(ends, figure), says, "{ends:?} {figure}");
        }
        assert_eq!(worse(&Metric::DURABLE, 1.0, 1.5), 1.5);
        assert_eq!(worse(&Metric::RATE, 3.0, 2.0), 1.5);
    }
}
