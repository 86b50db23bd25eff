//! Whether a mean of several tasks keeps its sign inside a range of costs, and not only at its corners.
//!
//! The speed of one configuration over that of another in one task is a ratio of two functions that are linear in each
//! cost: its sign against 1 is worst at a corner. A mean of the logarithms of several such ratios can be least between
//! the corners. It is bounded from below box by box: the logarithm of the slower's time is concave, and that of the
//! faster's time lies below its tangent. So their difference lies above a concave function, which is least at a corner
//! of the box. Boxes of which that does not decide are halved; the bound comes near with the square of their size.

use mountmark_model::Work;

use crate::robustness::find::corner::{ClassCost, Times};
use crate::robustness::find::costs::CostRange;

/// Boxes that are looked at. What is still open then is within a hair of a tie.
const BOXES: usize = 4000;

/// A task of both configurations.
pub(super) enum Pair {
    /// What the faster and the slower one take, by class.
    Times(Times, Times),
    /// The logarithm of the speed of the faster over that of the slower, where it is no time.
    Ratio(f64),
}

/// A part of the ranges: the ends in each class.
type Part = Vec<[f64; 2]>;

/// Costs at which the lead is none, the worst of those that were tried; `None` if it is proved that there are none. A tie
/// that cannot be decided counts as none.
pub(super) fn turning(pairs: &[Pair], counted: &Times, ranges: &[CostRange]) -> Option<Vec<ClassCost>> {
    let search = Search { pairs, counted, classes: ranges.iter().map(|range| range.work).collect() };
    let mut open: Vec<Part> = vec![ranges.iter().map(|range| [range.lowest, range.highest]).collect()];
    let mut worst: Option<(f64, Vec<f64>)> = None;
    for _ in 0..BOXES {
        let part = open.pop()?;
        let middle: Vec<f64> = part.iter().map(|[low, high]| f64::midpoint(*low, *high)).collect();
        let corners: Vec<Vec<f64>> = corners(&part).collect();
        for point in corners.iter().chain([&middle]) {
            let lead = search.lead(point);
            if worst.as_ref().is_none_or(|(least, _)| lead < *least) {
                worst = Some((lead, point.clone()));
            }
        }
        if worst.as_ref().is_some_and(|(least, _)| *least <= 0.0) {
            break;
        }
        if search.bound(&middle, &corners) <= 0.0 {
            open.extend(search.halves(part, &middle));
        }
    }
    let cost = |(work, cost): (&Work, f64)| ClassCost { work: *work, cost };
    worst.map(|(_, point)| search.classes.iter().zip(point).map(cost).collect())
}

/// All corners of a part of the ranges.
fn corners(part: &Part) -> impl Iterator<Item = Vec<f64>> + '_ {
    (0..1_usize << part.len()).map(|corner| part.iter().enumerate().map(|(at, ends)| ends[corner >> at & 1]).collect())
}

struct Search<'a> {
    pairs: &'a [Pair],
    /// Costs of the classes that have no range.
    counted: &'a Times,
    /// Those that have one.
    classes: Vec<Work>,
}

impl Search<'_> {
    fn costs(&self, point: &[f64]) -> Times {
        let mut costs = *self.counted;
        self.classes.iter().zip(point).for_each(|(work, cost)| costs[*work as usize] = *cost);
        costs
    }

    fn lead(&self, point: &[f64]) -> f64 {
        lead(self.pairs, &self.costs(point))
    }

    /// What the lead is nowhere below, in the box of these corners.
    fn bound(&self, middle: &[f64], corners: &[Vec<f64>]) -> f64 {
        let center = self.costs(middle);
        let bound = |corner: &Vec<f64>| {
            let costs = self.costs(corner);
            let of = |pair: &Pair| match pair {
                Pair::Times(fast, slow) => {
                    let base = time(fast, &center);
                    libm::log(time(slow, &costs)) - libm::log(base) - (time(fast, &costs) - base) / base
                }
                Pair::Ratio(ratio) => *ratio,
            };
            self.pairs.iter().map(of).sum::<f64>()
        };
        corners.iter().map(bound).fold(f64::INFINITY, f64::min)
    }

    /// Both halves, cut where the tangents of the faster's times are furthest from them.
    fn halves(&self, part: Part, middle: &[f64]) -> [Part; 2] {
        let center = self.costs(middle);
        let bend = |at: usize| {
            let width = part[at][1] - part[at][0];
            let of = |pair: &Pair| match pair {
                Pair::Times(fast, _) => fast[self.classes[at] as usize] * width / time(fast, &center),
                Pair::Ratio(_) => 0.0,
            };
            self.pairs.iter().map(|pair| of(pair) * of(pair)).sum::<f64>()
        };
        let widest = (0..part.len()).max_by(|one, other| bend(*one).total_cmp(&bend(*other))).unwrap_or(0);
        let [mut lower, mut upper] = [part.clone(), part];
        (lower[widest][1], upper[widest][0]) = (middle[widest], middle[widest]);
        [lower, upper]
    }
}

/// The mean logarithm of the speed of the faster over that of the slower at these costs by class.
pub(super) fn lead(pairs: &[Pair], costs: &Times) -> f64 {
    let of = |pair: &Pair| match pair {
        Pair::Times(fast, slow) => libm::log(time(slow, costs) / time(fast, costs)),
        Pair::Ratio(ratio) => *ratio,
    };
    pairs.iter().map(of).sum::<f64>() / pairs.len() as f64
}

/// What a task takes at these costs.
fn time(times: &Times, costs: &Times) -> f64 {
    times.iter().zip(costs).map(|(time, cost)| time * cost).sum()
}
