//! Whether a difference of two times keeps its sign for all costs.

use mountmark_model::Work;
use serde::Serialize;

use crate::robustness::find::costs::CostRange;

/// Time by class of work, in the order of [`Work::ALL`].
pub(crate) type Times = [f64; Work::ALL.len()];

/// Whether an order holds for every machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Survival {
    /// For all costs in the ranges.
    Holds,
    /// Without the time of the modelled disk's server, which no machine spends, it is the reverse.
    TurnsWithoutServer,
    /// From this cost of one class on, all else as the clock counts it.
    TurnsAt {
        /// The class.
        work: Work,
        /// Its cost, beside what the clock counts.
        cost: f64,
    },
    /// No class alone turns it: several of these costs together do.
    TurnsTogether {
        /// As few as do.
        costs: Vec<ClassCost>,
    },
}

/// One class at one cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClassCost {
    /// The class.
    pub work: Work,
    /// What it costs, beside what the clock counts for it.
    pub cost: f64,
}

/// The smallest change of one class's cost, of those that turn an order.
pub(crate) fn turns_at(costs: impl Iterator<Item = ClassCost>) -> Option<Survival> {
    let nearest = costs.min_by(|one, other| libm::log(one.cost).abs().total_cmp(&libm::log(other.cost).abs()));
    nearest.map(|ClassCost { work, cost }| Survival::TurnsAt { work, cost })
}

/// `longer`: how much longer the slower one takes, by class.
pub(crate) fn survival(longer: &Times, costs: &[CostRange]) -> Survival {
    let of = |work: Work| longer[work as usize];
    let whole: f64 = Work::ALL.into_iter().filter(|work| *work != Work::Server).map(of).sum();
    if whole <= 0.0 {
        return Survival::TurnsWithoutServer;
    }
    // What each class can take off at most, and its cost there.
    let mut taken: Vec<(f64, ClassCost)> = costs
        .iter()
        .map(|range| {
            let at = |cost: f64| ((1.0 - cost) * of(range.work), ClassCost { work: range.work, cost });
            let (low, high) = (at(range.lowest), at(range.highest));
            if low.0 >= high.0 { low } else { high }
        })
        .collect();
    taken.sort_by(|one, other| other.0.total_cmp(&one.0));
    if taken.iter().map(|(most, _)| most).sum::<f64>() < whole {
        return Survival::Holds;
    }
    let alone = taken.iter().filter(|(most, _)| *most >= whole);
    let alone = alone.map(|(_, end)| ClassCost { work: end.work, cost: 1.0 - whole / of(end.work) });
    if let Some(turns) = turns_at(alone) {
        return turns;
    }
    let mut left = whole;
    let mut together = Vec::new();
    for (most, end) in taken {
        if left <= 0.0 {
            break;
        }
        left -= most;
        together.push(end);
    }
    Survival::TurnsTogether { costs: together }
}
