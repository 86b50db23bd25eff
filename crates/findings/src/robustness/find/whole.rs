//! Whether one configuration is faster than another over all tasks of a work, whatever classes of work cost.

use mountmark_model::Work;
use mountmark_record::RunRecord;

use crate::figures::find::series::{Figures, Series};
use crate::options::Options;
use crate::robustness::find::corner::{ClassCost, Survival, Times, turns_at};
use crate::robustness::find::costs::{CostRange, CostsAsked};
use crate::robustness::find::search::{Pair, lead, turning};
use crate::robustness::find::{Worked, faster_by};

/// Halvings of a range of costs until the cost that turns an order is found.
const HALVINGS: usize = 30;

/// Whether `faster` is faster than `slower` by the geometric mean over the tasks, for all costs in the ranges. `None` if the run
/// has no profile of both, or another order. The mean of several tasks can be worst between the corners of the ranges: it is
/// searched inside, until it is proved that it holds or found where it turns.
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
    let nearest = alone.map(|end| {
        let (mut holds, mut turns) = (1.0, end.cost);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(holds, turns);
            if at(&[ClassCost { cost: middle, ..end }]) > 0.0 { holds = middle } else { turns = middle }
        }
        ClassCost { cost: turns, ..end }
    });
    if let Some(turns) = turns_at(nearest) {
        return turns;
    }
    // Between the ends of one class, with both of them holding.
    if let Some(costs) = ranges.iter().find_map(|range| turning(pairs, &counted, std::slice::from_ref(range))) {
        return Survival::TurnsTogether { costs };
    }
    let Some(worst) = turning(pairs, &counted, ranges) else { return Survival::Holds };
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

    /// The kernel's core, and copies.
    fn pair(fast: [f64; 2], slow: [f64; 2]) -> Pair {
        let of = |[core, copies]: [f64; 2]| times(&[(Work::Kernel, core), (Work::Copies, copies)]);
        Pair::Times(of(fast), of(slow))
    }

    #[test]
    fn a_mean_of_tasks_that_turns_between_the_ends_does_not_hold() {
        // It leads by 0.6 % where copies cost 0.25, by 1.3 % at 1, and is 3.8 % behind at 0.5.
        let pairs = [pair([0.416, 0.0055], [0.129, 0.3554]), pair([0.0146, 0.4152], [0.1778, 0.2062])];
        let Survival::TurnsTogether { costs } = asked(&pairs) else { panic!("it turns inside") };
        assert!(
            costs[..] == [ClassCost { work: Work::Copies, ..costs[0] }] && costs[0].cost > 0.25 && costs[0].cost < 1.0
        );
        let mut counted = [1.0; Work::ALL.len()];
        counted[Work::Copies as usize] = costs[0].cost;
        assert!(lead(&pairs, &counted) <= 0.0);
        // A hand's breadth more in a third task, and it holds at all costs, as going through them shows.
        let more = || pairs_with(0.08);
        assert_eq!(asked(&more()), Survival::Holds);
        let least = (0..=1000).map(|step| {
            let mut counted = [1.0; Work::ALL.len()];
            counted[Work::Copies as usize] = 0.25 + 0.75 * f64::from(step) / 1000.0;
            lead(&more(), &counted)
        });
        let least = least.fold(f64::INFINITY, f64::min);
        assert!(least > 0.0 && least < 0.02, "{least}");
        assert_ne!(asked(&pairs_with(0.05)), Survival::Holds);
    }

    fn pairs_with(ratio: f64) -> [Pair; 3] {
        [pair([0.416, 0.0055], [0.129, 0.3554]), pair([0.0146, 0.4152], [0.1778, 0.2062]), Pair::Ratio(ratio)]
    }

    #[test]
    fn a_mean_of_tasks_holds_only_if_no_costs_inside_turn_it() {
        let classes = [Work::Modules, Work::Programs, Work::Copies];
        let ranges = classes.map(|work| range(work, 0.3, 2.0));
        let mut random = mountmark_stats::random::Random::new(7);
        let (mut holding, mut turning) = (0, 0);
        for _ in 0..60 {
            let mut own =
                || times(&[Work::Kernel, classes[0], classes[1], classes[2]].map(|work| (work, random.unit())));
            let pairs: Vec<Pair> = (0..4).map(|_| Pair::Times(own(), own())).chain([Pair::Ratio(0.5)]).collect();
            let mut counted = [1.0; Work::ALL.len()];
            counted[Work::Server as usize] = 0.0;
            if lead(&pairs, &counted) <= 0.0 {
                continue;
            }
            let point = |step: u32| {
                let mut costs = counted;
                for (at, work) in classes.iter().enumerate() {
                    costs[*work as usize] = 0.3 + 1.7 * f64::from(step / 20_u32.pow(at as u32) % 20) / 19.0;
                }
                lead(&pairs, &costs)
            };
            let holds = (0..8000).all(|step| point(step) > 0.0);
            assert_eq!(survival(&pairs, counted, &ranges) == Survival::Holds, holds);
            if holds { holding += 1 } else { turning += 1 }
        }
        assert!(holding > 5 && turning > 5, "{holding} hold, {turning} turn");
    }
}
