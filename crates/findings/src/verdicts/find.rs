//! Verdicts: for each task the configurations in groups that cannot be distinguished.
//!
//! All pairs of configurations of all judged series of a run are one family: the probability of any false difference in
//! a run without differences is at most 1 - level. Under wall time those of processor times are another family. A
//! difference counts as shown when its p-value passes Holm's correction for the family, mean and median of the ratios
//! agree in direction, and the median ratio is at least the smallest difference that matters.

pub(crate) mod contrast;
pub(crate) mod estimate;
mod groups;
pub(crate) mod judged;
pub(crate) mod verdict;

use mountmark_model::{Better, Metric};
use mountmark_stats::interval::Interval;
use mountmark_stats::{holm, summary};

use crate::dependence::find::{Dependence, dependences};
use crate::figures::find::series::{Figures, Series, Task};
use crate::options::Options;
use crate::verdicts::find::contrast::{Contrast, Tested};
use crate::verdicts::find::estimate::{ratio, ratio_interval};
use crate::verdicts::find::judged::{Judged, Pair};
pub use crate::verdicts::find::verdict::{Gap, NotJudged, Verdict, VerdictOutcome};
use groups::Superiority;

/// All judged series of a run, tested together.
pub(crate) struct Family {
    pub judged: Vec<Judged>,
    /// The level that a further difference would have to reach.
    next_level: f64,
}

impl Family {
    pub fn new(figures: &Figures, options: &Options) -> Family {
        Family::of(figures, &Task::judged, options)
    }

    /// What [`Figures::judged_too`] names, as a family of its own: it costs the other nothing.
    pub fn beside(figures: &Figures, options: &Options) -> Family {
        Family::of(figures, &|task| figures.judged_too(task), options)
    }

    fn of(figures: &Figures, metrics: &dyn Fn(&Task) -> &'static [Metric], options: &Options) -> Family {
        let mut judged = Vec::new();
        let mut contrasts = Vec::new();
        let mut dependences = dependences(figures, metrics);
        for (task, of_task) in figures.tasks.iter().enumerate() {
            for series in metrics(of_task).iter().filter_map(|metric| of_task.series(metric)) {
                let stratum = judged.len();
                let pairs = pairs(series, stratum, &mut contrasts);
                let metric = series.metric.id;
                let dependences = dependences.remove(&(task, metric)).unwrap_or_default();
                judged.push(Judged { task, metric, pairs, dependences });
            }
        }
        let tested = contrast::test_at(&contrasts, options.level);
        let adjusted: Vec<f64> = tested.iter().map(|tested| tested.adjusted).collect();
        let mut tested = tested.into_iter();
        for pair in judged.iter_mut().flat_map(|judged| &mut judged.pairs) {
            pair.tested = tested.next().unwrap_or(pair.tested);
        }
        Family { judged, next_level: holm::next_level(&adjusted, options.error()) }
    }

    pub fn find(&self, task: usize, metric: &str) -> Option<&Judged> {
        self.judged.iter().find(|judged| judged.task == task && judged.metric == metric)
    }
}

impl Judged {
    /// Mean of ln(left / right), and its test.
    pub fn contrast(&self, left: usize, right: usize) -> Option<(f64, Tested)> {
        self.pairs.iter().find_map(|pair| match (pair.left, pair.right) {
            key if key == (left, right) => Some((pair.mean, pair.tested)),
            key if key == (right, left) => Some((-pair.mean, pair.tested)),
            _ => None,
        })
    }

    pub fn dependence(&self, configuration: usize) -> Option<&Dependence> {
        self.dependences.get(configuration)?.as_ref()
    }

    /// [`Gap::between`].
    fn between(&self, series: &Series, best: usize, other: usize) -> Option<Interval> {
        let found = [best, other].map(|one| self.dependence(one));
        found.iter().flatten().next()?;
        let ends = |one: usize, found: Option<&Dependence>| match found {
            Some(found) => Some(found.ends()),
            None => series.median(one).map(|median| (median, median)),
        };
        let ((least, most), (low, high)) = (ends(best, found[0])?, ends(other, found[1])?);
        Some(Interval { low: low / most, high: high / least }).filter(|between| between.high.is_finite())
    }
}

fn pairs(series: &Series, stratum: usize, contrasts: &mut Vec<Contrast>) -> Vec<Pair> {
    let measured: Vec<usize> = (0..series.blocks.len()).filter(|c| !series.figures(*c).is_empty()).collect();
    let share = 2.0 / measured.len().max(2) as f64;
    let mut out = Vec::new();
    for (at, left) in measured.iter().enumerate() {
        for right in &measured[at + 1..] {
            let ratios = series.log_ratios(*left, *right);
            let Some(contrast) = Contrast::paired(stratum, &ratios, share) else { continue };
            let median = summary::median(&ratios).unwrap_or(0.0);
            let tested = Tested { error: 0.0, df: 0.0, reach: 0.0, adjusted: 1.0 };
            out.push(Pair { left: *left, right: *right, mean: contrast.mean, median, tested });
            contrasts.push(contrast.of_kind(left * series.blocks.len() + right));
        }
    }
    out
}

/// The verdict on one judged series.
pub(crate) fn verdict(figures: &Figures, family: &Family, judged: &Judged, options: &Options) -> Option<Verdict> {
    let series = figures.tasks[judged.task].series.iter().find(|series| series.metric.id == judged.metric)?;
    let order = best_first(series);
    let not_judged = |reason: NotJudged, order: Vec<usize>| {
        Some(Verdict { order, ..Verdict::of(VerdictOutcome::NotJudged { reason }) })
    };
    if order.len() < 2 {
        let is_alone = figures.configurations.len() < 2;
        return not_judged(if is_alone { NotJudged::OneConfiguration } else { NotJudged::NoOther }, order);
    }
    let has_zero = order.iter().any(|one| series.figures(*one).contains(&0.0));
    if judged.pairs.is_empty() || has_zero {
        let has_repeats = order.iter().any(|configuration| series.figures(*configuration).len() > 1);
        // A 0 has no ratio, and without it another would be the best.
        return not_judged(if has_repeats { NotJudged::NoRatios } else { NotJudged::OneRepeat }, order);
    }
    let (order, apart) = comparable(judged, &order);
    let relation = Superiority::new(series, judged, options);
    let leaders = relation.leaders(&order);
    let below = |other: &usize| leaders.iter().all(|one| relation.is_better(*one, *other));
    let below = order.iter().copied().filter(below).collect();
    let groups = relation.groups(&order);
    let mut to_next = None;
    let outcome = if leaders.len() == order.len() {
        // All pairs of a series have the same degrees of freedom, except exact ones.
        let widest = judged.pairs.iter().max_by(|a, b| a.tested.error.total_cmp(&b.tested.error));
        let detectable = widest.map(|pair| libm::expm1(pair.tested.detectable(family.next_level)));
        let detectable = detectable.map(|found| found.max(options.matters));
        VerdictOutcome::NoDifferenceShown { detectable: detectable.filter(|found| found.is_finite()) }
    } else if let [winner] = leaders[..] {
        let next = order.iter().find(|other| **other != winner);
        to_next = next.and_then(|next| gap(series, judged, winner, *next));
        VerdictOutcome::Winner { configuration: winner }
    } else {
        VerdictOutcome::Tied { configurations: leaders }
    };
    Some(Verdict { outcome, groups, order, apart, gap: to_next, below, has_small: relation.has_small })
}

/// Pairs of configurations of which one is shown to be better than the other: that one first.
pub(crate) fn told_apart(series: &Series, judged: &Judged, options: &Options) -> Vec<(usize, usize)> {
    let relation = Superiority::new(series, judged, options);
    let all = 0..series.blocks.len();
    let pairs = all.clone().flat_map(|one| all.clone().map(move |other| (one, other)));
    pairs.filter(|(one, other)| relation.is_better(*one, *other)).collect()
}

/// The distance of `other` from `best`.
pub(crate) fn gap(series: &Series, judged: &Judged, best: usize, other: usize) -> Option<Gap> {
    let ratio = ratio(series, other, best)?;
    let contrast = judged.contrast(other, best);
    let interval = contrast.and_then(|(mean, tested)| ratio_interval(ratio, mean, &tested));
    Some(Gap { best, other, ratio, interval, between: judged.between(series, best, other) })
}

/// Splits `order` into configurations that all have a pair with each other, and the rest. Nothing can be shown for
/// those that share fewer than two repeats, so they must not count among the best. Those with most pairs are added
/// first.
fn comparable(judged: &Judged, order: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let has_pair = |one: usize, other: usize| judged.contrast(one, other).is_some();
    let pairs = |one: usize| order.iter().filter(|other| has_pair(one, **other)).count();
    let mut by_pairs = order.to_vec();
    by_pairs.sort_by_key(|one| std::cmp::Reverse(pairs(*one)));
    let mut set: Vec<usize> = Vec::new();
    for one in by_pairs {
        if set.iter().all(|other| has_pair(one, *other)) {
            set.push(one);
        }
    }
    order.iter().copied().partition(|one| set.contains(one))
}

/// Configurations with figures, the best median first; equal ones in the user's order.
pub(crate) fn best_first(series: &Series) -> Vec<usize> {
    let mut out: Vec<(f64, usize)> =
        (0..series.blocks.len()).filter_map(|c| series.median(c).map(|median| (median, c))).collect();
    out.sort_by(|a, b| match series.metric.better {
        Better::Lower => a.0.total_cmp(&b.0),
        Better::Higher => b.0.total_cmp(&a.0),
    });
    out.into_iter().map(|(_, configuration)| configuration).collect()
}
