//! Which orders of two file systems hold for every machine of a range of costs.
//!
//! The clock counts each instruction alike. A real machine pays less for some classes of work and more for others, and a
//! task's time is linear in these costs. So an order holds for all costs in the ranges if it holds at the corner that is
//! worst for it, which is found class by class.

pub(crate) mod corner;
pub(crate) mod costs;
mod search;
pub(crate) mod whole;

use mountmark_model::{Better, Metric, Work, WorkTimes};
use mountmark_record::{CellWork, RunRecord, TaskWork};
use serde::Serialize;

use crate::figures::find::series::{Figures, Series};
use crate::options::Options;
use crate::verdicts::find::{Family, told_apart};
use corner::{Survival, Times};
use costs::{CostRange, CostsAsked};

/// Whether the orders of a run hold for every machine in a range of costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Robustness {
    /// Costs of classes of work beside that of the kernel's core, from the lowest to the highest: 0.5 is half of what the
    /// clock counts.
    pub costs: Vec<CostRange>,
    /// What is known of the run's work.
    pub known: Known,
    /// Tasks and steps with an order.
    pub tasks: Vec<TaskOrders>,
    /// The smallest and the largest share of a task's time that the modelled disk's server takes: no machine's work, and left
    /// out here.
    pub server: Option<(f64, f64)>,
}

/// What is known of a run's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// It ran without the profiler.
    Nothing,
    /// Its profiles are of a program that did not tell copies from other work.
    Older,
    /// Its profiles tell classes of work.
    Classes,
}

/// The orders of file systems in one task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskOrders {
    /// Its id, or the name of a step.
    pub task: String,
    /// Whether it is a protocol step, not part of the suite.
    pub step: bool,
    /// Pairs of which one is better: shown to be with several repeats; with one, by at least what matters.
    pub pairs: Vec<PairOrder>,
    /// Further pairs with an order that could not be asked: one has no profile, or its repeats with one have another order.
    pub unasked: usize,
}

/// Two configurations, and whether their order holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairOrder {
    /// Index of the better one.
    pub better: usize,
    /// Index of the other.
    pub worse: usize,
    /// Whether the order holds in the whole range of costs, or what turns it.
    pub survival: Survival,
}

/// How many orders hold and turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OrderCounts {
    /// Orders that hold for every machine.
    pub hold: usize,
    /// The others that were asked.
    pub turn: usize,
    /// Orders that could not be asked.
    pub unasked: usize,
}

impl TaskOrders {
    pub(crate) fn turning(&self) -> impl Iterator<Item = &PairOrder> {
        self.pairs.iter().filter(|pair| pair.survival != Survival::Holds)
    }
}

impl Robustness {
    /// The orders of a task.
    pub(crate) fn task(&self, id: &str) -> Option<&TaskOrders> {
        self.tasks.iter().find(|task| task.task == id)
    }

    /// Over the suite's tasks that are `wanted`; `None` if these have no order, or nothing is known of it.
    pub(crate) fn count(&self, wanted: impl Fn(&str) -> bool) -> Option<OrderCounts> {
        let tasks = self.tasks.iter().filter(|task| !task.step && wanted(&task.task));
        let counts = tasks.fold(OrderCounts::default(), |sum, task| {
            let turn = task.turning().count();
            OrderCounts {
                hold: sum.hold + task.pairs.len() - turn,
                turn: sum.turn + turn,
                unasked: sum.unasked + task.unasked,
            }
        });
        (counts != OrderCounts::default()).then_some(counts)
    }
}

/// Asks a run of the virtual lab; `None` of another, and of one without pairs.
pub(crate) fn robustness(run: &RunRecord, figures: &Figures, family: &Family, options: &Options) -> Option<Robustness> {
    let asked = options.asked.as_ref()?;
    if !run.plan.lab.capabilities().exact_clock || figures.configurations.len() < 2 {
        return None;
    }
    let known = match &asked.work[..] {
        [] => Known::Nothing,
        all if all.iter().all(|cell| cell.tasks.is_none()) => Known::Older,
        _ => Known::Classes,
    };
    let work = Worked::of(run, figures, asked);
    let mut server: Option<(f64, f64)> = None;
    let mut tasks = Vec::new();
    for (at, task) in figures.tasks.iter().enumerate() {
        let Some(series) = task.main() else { continue };
        let costs = 0..figures.configurations.len();
        let costs: Vec<Option<Times>> = costs.map(|one| work.cost(&task.id, series, one)).collect();
        let ordered = ordered(series, family, at, options);
        let pairs = ordered.iter().filter_map(|&(better, worse)| {
            let (fast, slow) = (costs[better]?, costs[worse]?);
            // Repeats may have another order in their means than in their medians.
            let is_it = slow.iter().sum::<f64>() > fast.iter().sum::<f64>();
            let longer = std::array::from_fn(|class| slow[class] - fast[class]);
            is_it.then(|| PairOrder { better, worse, survival: corner::survival(&longer, &asked.costs) })
        });
        let pairs: Vec<PairOrder> = pairs.collect();
        for times in costs.iter().flatten().filter(|_| !pairs.is_empty()) {
            let share = times[Work::Server as usize] / times.iter().sum::<f64>();
            server = Some(server.map_or((share, share), |(low, high)| (low.min(share), high.max(share))));
        }
        // Where other tasks have profiles, one without them has orders that could not be asked.
        if !pairs.is_empty() || known == Known::Classes && !ordered.is_empty() {
            let unasked = ordered.len() - pairs.len();
            tasks.push(TaskOrders { task: task.id.clone(), step: task.step, pairs, unasked });
        }
    }
    Some(Robustness { costs: asked.costs.clone(), known, tasks, server: server.filter(|(_, high)| *high > 0.0) })
}

/// Pairs with an order, the better one first.
fn ordered(series: &Series, family: &Family, task: usize, options: &Options) -> Vec<(usize, usize)> {
    if let Some(judged) = family.find(task, series.metric.id).filter(|judged| !judged.pairs.is_empty()) {
        return told_apart(series, judged, options);
    }
    let all = 0..series.blocks.len();
    let better = |(one, other): &(usize, usize)| {
        let ratio = faster_by(series, *one, *other);
        ratio.is_some_and(|ratio| libm::log(ratio) >= options.ln_matters() && ratio > 1.0)
    };
    all.clone().flat_map(|one| all.clone().map(move |other| (one, other))).filter(better).collect()
}

/// The speed of a configuration over that of another, by their medians; `None` where that is no positive number.
fn faster_by(series: &Series, one: usize, other: usize) -> Option<f64> {
    let (one, other) = (series.median(one)?, series.median(other)?);
    let ratio = if series.metric.better == Better::Lower { other / one } else { one / other };
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

/// The work of a run's configurations.
struct Worked<'a>(Vec<Vec<&'a TaskWork>>);

impl<'a> Worked<'a> {
    fn of(run: &RunRecord, figures: &Figures, asked: &'a CostsAsked) -> Worked<'a> {
        let of_configuration = |name: &String| {
            let is_its = |cell: &&CellWork| {
                run.cells.iter().any(|known| known.index == cell.cell && known.configuration == *name)
            };
            asked.work.iter().filter(is_its).filter_map(|cell| cell.tasks.as_ref()).flatten().collect()
        };
        Worked(figures.configurations.iter().map(of_configuration).collect())
    }

    /// What a task costs a configuration by class, of whatever it is judged by: its time in nanoseconds, mean of all times
    /// that it ran; of a rate the time of one unit, made up as the whole. `None` of what is no time.
    fn cost(&self, task: &str, series: &Series, configuration: usize) -> Option<Times> {
        let all: Vec<&TaskWork> = self.0[configuration].iter().filter(|work| work.task == task).copied().collect();
        let mut sum = WorkTimes::default();
        for work in &all {
            sum.add_all(&work.returned);
            if series.metric.id == Metric::DURABLE.id {
                sum.add_all(&work.sync);
            }
        }
        let total: f64 = Work::ALL.into_iter().map(|work| sum.of(work) as f64).sum();
        let whole = match series.metric.id {
            id if id == Metric::DURABLE.id || id == Metric::ELAPSED.id => total / all.len() as f64,
            id if id == Metric::RATE.id => 1.0 / series.median(configuration)?,
            _ => return None,
        };
        let times = Work::ALL.map(|work| sum.of(work) as f64 / total * whole);
        times.iter().all(|time| time.is_finite()).then_some(times)
    }
}
