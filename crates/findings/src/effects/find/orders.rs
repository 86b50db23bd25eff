//! Which orders are others where a factor has another level: ext4 before xfs on a fresh file system, and behind it on an aged one.
//!
//! Two configurations that have the same levels of all factors are a pair. Their ratio of speeds is tested at each
//! combination of levels, all of a run as one family, and compared with that at the factor's first level.

use serde::Serialize;

use super::{Design, Gain, judged_together, ratios};
use crate::figures::find::series::Figures;
use crate::options::Options;

/// What became of the orders of a factor's first level at another level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelOrders {
    /// Index of [`super::Effects::factors`].
    pub factor: usize,
    /// Index of its level.
    pub level: usize,
    /// Orders that are shown at the first level, and at this one too.
    pub hold: usize,
    /// Orders that are shown at the first level, and not at this one.
    pub open: usize,
    /// Orders that are shown at the first level, and of which a figure is missing at this one.
    pub missing: usize,
    /// Orders that are shown to be the other way round, the largest first.
    pub turned: Vec<TurnedOrder>,
}

/// An order that is another at another level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TurnedOrder {
    /// The task.
    pub task: String,
    /// The configuration that is faster at the first level, as it is called there.
    pub one: String,
    /// The one that is slower there.
    pub other: String,
    /// Speed of the one over that of the other at the first level.
    pub first: Gain,
    /// The same at this level.
    pub here: Gain,
}

/// Two configurations with the same levels of all factors, in a task.
struct Pair<'a> {
    task: &'a str,
    /// Position of the task.
    stratum: usize,
    /// Their positions.
    both: [usize; 2],
    blocks: Vec<f64>,
}

/// Of all factors that were given, level by level; without levels for which no order of the first level is shown.
pub(super) fn orders(design: &Design, figures: &Figures, options: &Options) -> Vec<LevelOrders> {
    let given: Vec<usize> = design.given().collect();
    if given.is_empty() {
        return Vec::new();
    }
    let mut pairs: Vec<Pair> = Vec::new();
    for (stratum, task) in figures.tasks.iter().filter(|task| !task.step).enumerate() {
        let Some(series) = task.main() else { continue };
        for both in beside(design, &given) {
            pairs.push(Pair { task: &task.id, stratum, both, blocks: ratios(series, both) });
        }
    }
    let family: Vec<(usize, &[f64])> = pairs.iter().map(|pair| (pair.stratum, pair.blocks.as_slice())).collect();
    let gains = judged_together(&family, options);
    let mut out = Vec::new();
    for factor in given {
        for level in 1..design.factors[factor].levels.len() {
            let mut found = LevelOrders { factor, level, hold: 0, open: 0, missing: 0, turned: Vec::new() };
            for (first, before) in pairs.iter().zip(&gains) {
                let is_there = first.both.iter().all(|at| design.has_level(*at, factor, 0));
                let Some(before) = before.filter(|gain| gain.shown && is_there) else { continue };
                let here =
                    design.at_level(first.both, (factor, level)).and_then(|both| found_at(&pairs, first.task, both));
                let names = first.both.map(|at| figures.configurations[at].clone());
                match here.and_then(|(at, is_turned)| Some((gains[at]?, is_turned))) {
                    Some((here, false)) => found.add(first.task, names, before, here),
                    Some((here, true)) => found.add(first.task, names, before, here.inverse()),
                    None => found.missing += 1,
                }
            }
            let size = |one: &TurnedOrder| libm::log(one.first.ratio).min(-libm::log(one.here.ratio));
            found.turned.sort_by(|one, other| size(other).total_cmp(&size(one)));
            if found.hold + found.open + found.missing + found.turned.len() > 0 {
                out.push(found);
            }
        }
    }
    out
}

impl LevelOrders {
    fn add(&mut self, task: &str, [one, other]: [String; 2], first: Gain, here: Gain) {
        match (here.shown, (first.ratio > 1.0) == (here.ratio > 1.0)) {
            (false, _) => self.open += 1,
            (true, true) => self.hold += 1,
            (true, false) => {
                let is_faster = first.ratio > 1.0;
                let (one, other) = if is_faster { (one, other) } else { (other, one) };
                let [first, here] = if is_faster { [first, here] } else { [first.inverse(), here.inverse()] };
                self.turned.push(TurnedOrder { task: task.to_owned(), one, other, first, here });
            }
        }
    }
}

/// Pairs of configurations that have the same levels of the factors.
fn beside(design: &Design, given: &[usize]) -> Vec<[usize; 2]> {
    let is_alike = |one: usize, other: usize| {
        let (one, other) = (design.levels[one].as_ref()?, design.levels[other].as_ref()?);
        given.iter().all(|factor| one[*factor] == other[*factor]).then_some(())
    };
    let all = 0..design.levels.len();
    let pairs = all.clone().flat_map(|one| (one + 1..design.levels.len()).map(move |other| [one, other]));
    pairs.filter(|[one, other]| is_alike(*one, *other).is_some()).collect()
}

/// The position of the pair of these two in a task, and whether it has them the other way round.
fn found_at(pairs: &[Pair], task: &str, [one, other]: [usize; 2]) -> Option<(usize, bool)> {
    let at = |both: [usize; 2]| pairs.iter().position(|pair| pair.task == task && pair.both == both);
    at([one, other]).map(|at| (at, false)).or_else(|| at([other, one]).map(|at| (at, true)))
}

impl Design {
    fn has_level(&self, one: usize, factor: usize, level: usize) -> bool {
        self.levels[one].as_ref().is_some_and(|own| own[factor] == level)
    }

    /// The same pair at another level of the factor, if both are there.
    fn at_level(&self, both: [usize; 2], (factor, level): (usize, usize)) -> Option<[usize; 2]> {
        let other = |at: usize| {
            let mut own = self.levels[at].clone()?;
            own[factor] = level;
            self.levels.iter().position(|known| known.as_ref() == Some(&own))
        };
        Some([other(both[0])?, other(both[1])?])
    }
}
