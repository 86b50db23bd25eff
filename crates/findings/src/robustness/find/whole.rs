//! Whether one configuration is faster than another over all tasks of a work, whatever classes of work cost.

use mountmark_model::Work;
use mountmark_record::RunRecord;

use crate::figures::find::series::{Figures, Series};
use crate::options::Options;
use crate::robustness::find::corner::{ClassCost, Survival, Times, turns_at};
use crate::robustness::find::costs::{CostRange, CostsAsked};
use crate::robustness::find::{Worked, faster_by};

/// Halvings of a range of costs until the cost that turns an order is found.
const HALVINGS: usize = 30;

/// A task of both configurations.
enum Pair {
    /// What the faster and the slower one take, by class.
    Times(Times, Times),
    /// The logarithm of the speed of the faster over that of the slower, where it is no time.
    Ratio(f64),
}

/// Whether `faster` is faster than `slower` by the geometric mean over the tasks, for all costs in the ranges. `None` if the run
/// has no profile of both, or another order. What is asked are the corners of the ranges, which are worst for one task; between
/// them the mean of several tasks could turn too.
pub fn over_all_tasks(run: &RunRecord, asked: &CostsAsked, faster: &str, slower: &str) -> Option<Survival> {
    let figures = Figures::new(run, &Options { resamples: 0, ..Options::default() });
    let at = |name: &str| figures.configurations.iter().position(|known| known == name);
    let (fast, slow) = (at(faster)?, at(slower)?);
    let work = Worked::of(run, &figures, asked);
    let tasks = figures.tasks.iter().filter(|task| !task.step).filter_map(|task| Some((&task.id, task.main()?)));
    let pair = |(id, series): (&String, &Series)| match work.cost(id, series, fast).zip(work.cost(id, series, slow)) {
        Some((fast, slow)) => Some(Pair::Times(fast, slow)),
        None => faster_by(series, fast, slow).map(|ratio| Pair::Ratio(libm::log(ratio))),
    };
    let pairs: Vec<Pair> = tasks.map(pair).collect::<Option<_>>()?;
    if !pairs.iter().any(|pair| matches!(pair, Pair::Times(..))) {
        return None;
    }
    let mut counted = [1.0; Work::ALL.len()];
    (lead(&pairs, &counted) > 0.0).then_some(())?;
    counted[Work::Server as usize] = 0.0;
    Some(survival(&pairs, counted, &asked.costs))
}

/// The mean logarithm of the speed of the faster over that of the slower at these costs by class.
fn lead(pairs: &[Pair], costs: &Times) -> f64 {
    let whole = |times: &Times| times.iter().zip(costs).map(|(time, cost)| time * cost).sum::<f64>();
    let of = |pair: &Pair| match pair {
        Pair::Times(fast, slow) => libm::log(whole(slow) / whole(fast)),
        Pair::Ratio(ratio) => *ratio,
    };
    pairs.iter().map(of).sum::<f64>() / pairs.len() as f64
}

fn survival(pairs: &[Pair], counted: Times, ranges: &[CostRange]) -> Survival {
    if lead(pairs, &counted) <= 0.0 {
        return Survival::TurnsWithoutServer;
    }
    let at = |ends: &[ClassCost]| {
        let mut costs = counted;
        ends.iter().for_each(|end| costs[end.work as usize] = end.cost);
        lead(pairs, &costs)
    };
    let ends = |range: &CostRange| [range.lowest, range.highest].map(|cost| ClassCost { work: range.work, cost });
    let alone = ranges.iter().flat_map(ends).filter(|end| at(&[*end]) <= 0.0);
    let turning = alone.map(|end| {
        let (mut holds, mut turns) = (1.0, end.cost);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(holds, turns);
            if at(&[ClassCost { cost: middle, ..end }]) > 0.0 { holds = middle } else { turns = middle }
        }
        ClassCost { cost: turns, ..end }
    });
    if let Some(turns) = turns_at(turning) {
        return turns;
    }
    let corners = (0..1_usize << ranges.len()).map(|corner| -> Vec<ClassCost> {
        ranges.iter().enumerate().map(|(at, range)| ends(range)[corner >> at & 1]).collect()
    });
    let Some(worst) = corners.min_by(|one, other| at(one).total_cmp(&at(other))).filter(|worst| at(worst) <= 0.0)
    else {
        return Survival::Holds;
    };
    // As few of them as turn it, those that take most first.
    let mut left: Vec<ClassCost> = worst;
    left.sort_by(|one, other| at(&[*one]).total_cmp(&at(&[*other])));
    let fewest = (1..=left.len()).find(|few| at(&left[..*few]) <= 0.0).unwrap_or(left.len());
    left.truncate(fewest);
    Survival::TurnsTogether { costs: left }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(all: &[(Work, f64)]) -> Times {
        let mut times = [0.0; Work::ALL.len()];
        all.iter().for_each(|(work, time)| times[*work as usize] = *time);
        times
    }

    fn range(work: Work, lowest: f64, highest: f64) -> CostRange {
        CostRange { work, lowest, highest, machines: Vec::new(), source: String::new() }
    }

    fn asked(pairs: &[Pair]) -> Survival {
        let mut counted = [1.0; Work::ALL.len()];
        counted[Work::Server as usize] = 0.0;
        let ranges = [range(Work::Copies, 0.25, 1.0), range(Work::Modules, 0.6, 1.6), range(Work::Programs, 0.6, 1.6)];
        survival(pairs, counted, &ranges)
    }

    #[test]
    fn an_order_over_several_tasks_holds_or_turns_where_it_is_worst() {
        let plain = || Pair::Times(times(&[(Work::Kernel, 1.0)]), times(&[(Work::Kernel, 2.0)]));
        assert_eq!(asked(&[plain()]), Survival::Holds);
        // Twice as fast in one task, and 1.5 times slower in the other, by its own code.
        let own = Pair::Times(times(&[(Work::Kernel, 1.0), (Work::Modules, 0.5)]), times(&[(Work::Kernel, 1.0)]));
        assert_eq!(asked(&[plain(), own]), Survival::Holds, "1 + 1.6 * 0.5 is less than 2");
        // It leads by 1.2, and would lose at 1 + m = 2.4.
        let most = Pair::Times(times(&[(Work::Kernel, 1.0), (Work::Modules, 1.0)]), times(&[(Work::Kernel, 1.2)]));
        let Survival::TurnsAt { work, cost } = asked(&[plain(), most]) else { panic!("it turns") };
        assert!(work == Work::Modules && (cost - 1.4).abs() < 1e-6, "{cost}");
        let server = Pair::Times(times(&[(Work::Kernel, 1.0)]), times(&[(Work::Kernel, 0.9), (Work::Server, 1.0)]));
        assert_eq!(asked(&[server]), Survival::TurnsWithoutServer);
        // Copies alone take 0.75 of the lead of 1, and programs 0.6.
        let both = Pair::Times(
            times(&[(Work::Kernel, 1.0), (Work::Programs, 1.0)]),
            times(&[(Work::Kernel, 2.0), (Work::Copies, 1.0)]),
        );
        let Survival::TurnsTogether { costs } = asked(&[both]) else { panic!("they turn it together") };
        assert_eq!(costs.iter().map(|one| one.work).collect::<Vec<_>>(), [Work::Copies, Work::Programs]);
        // What is no time stands as it is.
        assert_eq!(asked(&[Pair::Ratio(0.5), plain()]), Survival::Holds);
    }
}
