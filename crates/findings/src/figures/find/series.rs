//! A run as a table of figures: tasks x metrics x configurations x blocks.
//!
//! One figure per block: iterations in a cell are averaged first, since the unit of replication is the repeat. If a
//! doubtful cell was run again, its block has several cells, and the block's figure is their median (of two, their
//! mean): no cell is preferred after its value is known, and none is dropped. Of a run under wall time that was cut and
//! went on, what a repeat has before and after the cut are two blocks: nothing is compared across a cut.

use std::collections::BTreeMap;

use mountmark_model::{Metric, Restart};
use mountmark_record::CellRecord;
use mountmark_stats::summary::median;

use crate::figures::find::basis::Category;
use crate::figures::find::roles::{self, Role};
use crate::missing::find::Missing;

pub(crate) struct Figures {
    /// Configuration names in the user's order.
    pub configurations: Vec<String>,
    /// Repeat and sitting of each block, ascending.
    pub blocks: Vec<(u32, u32)>,
    /// Steps and tasks in execution order.
    pub tasks: Vec<Task>,
    pub missing: Vec<Missing>,
    /// Whether the same work takes the same time; else other programs on the machine make it longer.
    pub exact_clock: bool,
}

/// One task or protocol step.
pub(crate) struct Task {
    pub id: String,
    pub title: String,
    pub category: Category,
    pub step: bool,
    /// Whether other tasks are parts of it and have rates: then they are judged, and this task's time may be given.
    pub in_parts: bool,
    /// How the machine goes down and comes up again, if that is what is timed.
    pub restart: Option<Restart>,
    /// In the order of [`Metric::ALL`]; only those with figures that are wanted.
    pub series: Vec<Series>,
    /// By position in [`Metric::ALL`], whether it has figures, wanted or not.
    pub measured: Vec<bool>,
}

/// One task by one metric.
pub(crate) struct Series {
    pub metric: &'static Metric,
    /// By configuration, then by block.
    pub blocks: Vec<Vec<Option<f64>>>,
    /// By configuration, in cell order.
    pub cells: Vec<Vec<CellFigure>>,
}

/// One task by one metric in one cell.
pub(crate) struct CellFigure {
    /// Cell index.
    pub cell: u32,
    pub repeat: u32,
    /// Number of its sitting; 0 under an exact clock.
    pub sitting: u32,
    /// Mean of its iterations.
    pub mean: f64,
    /// (iteration, value)
    pub first: (u32, f64),
    /// The same of its other iterations. Most have none.
    pub more: Vec<(u32, f64)>,
}

impl CellFigure {
    /// (iteration, value)
    pub fn values(&self) -> impl Iterator<Item = (u32, f64)> {
        std::iter::once(self.first).chain(self.more.iter().copied())
    }
}

impl Task {
    pub fn series(&self, metric: &Metric) -> Option<&Series> {
        self.series.iter().find(|series| series.metric.id == metric.id)
    }

    /// Whether it has a figure of any metric, wanted or not.
    pub fn is_measured(&self) -> bool {
        self.measured.contains(&true)
    }

    pub fn has(&self, metric: &Metric) -> bool {
        let mut known = Metric::ALL.iter().zip(&self.measured);
        known.any(|(known, is_measured)| *is_measured && known.id == metric.id)
    }

    /// The candidates for judging the task; the first with figures counts in categories. A task with a rate is judged
    /// by it, one that has latencies and no rate, as its job fixes that, by what a sync takes, else by what an operation
    /// takes; a command by the time until its data is durable, a program by its parts if they are judged; a step, as in
    /// the studies, by the time until it returned.
    pub fn judged(&self) -> &'static [Metric] {
        if let Some(metric) = roles::of(Role::Alone).find(|metric| !self.step && self.series(metric).is_some()) {
            return std::slice::from_ref(metric);
        }
        match self.category {
            _ if self.in_parts => &[],
            _ if !self.step => &[Metric::DURABLE, Metric::ELAPSED],
            Category::Steps => &[Metric::ELAPSED],
            Category::Capacity => &[Metric::CAPACITY_DEVICE, Metric::CAPACITY],
            _ => &[],
        }
    }

    /// Whether it waits for syncs, and was told how long.
    pub fn syncs(&self) -> bool {
        !self.step && self.series(&Metric::SYNC_LATENCY_MEAN).is_some()
    }

    /// The first series by which it is judged.
    pub fn main(&self) -> Option<&Series> {
        self.judged().iter().find_map(|metric| self.series(metric))
    }
}

impl Series {
    /// The existing figures of a configuration.
    pub fn figures(&self, configuration: usize) -> Vec<f64> {
        self.blocks[configuration].iter().flatten().copied().collect()
    }

    /// Logarithms of the ratios `left` to `right` in blocks where both are above 0.
    pub fn log_ratios(&self, left: usize, right: usize) -> Vec<f64> {
        log_ratios(&self.blocks[left], &self.blocks[right])
    }

    /// Median over blocks.
    pub fn median(&self, configuration: usize) -> Option<f64> {
        median(&self.figures(configuration))
    }
}

/// Logarithms of the ratios of `left` to `right` in blocks where both are above 0.
pub(crate) fn log_ratios(left: &[Option<f64>], right: &[Option<f64>]) -> Vec<f64> {
    let both = |(left, right): (&Option<f64>, &Option<f64>)| match (left, right) {
        (Some(left), Some(right)) if *left > 0.0 && *right > 0.0 => Some(libm::log(*left) - libm::log(*right)),
        _ => None,
    };
    left.iter().zip(right).filter_map(both).collect()
}

impl Figures {
    /// By what a task is judged beside its time, where other programs disturb that. What gives a rate may do as much as it
    /// can in a given time, and does not work better by working less.
    pub fn judged_too(&self, task: &Task) -> &'static [Metric] {
        let by_work = [Metric::DURABLE.id, Metric::ELAPSED.id];
        let by_time = !task.step && task.main().is_some_and(|main| by_work.contains(&main.metric.id));
        if by_time && !self.exact_clock { &[Metric::PROCESSOR] } else { &[] }
    }

    /// Number of repeats that have cells.
    pub fn repeats(&self) -> usize {
        self.blocks.chunk_by(|one, other| one.0 == other.0).count()
    }
}

/// Invalid values: count and first value by configuration, task and metric.
pub(crate) type Absurd = BTreeMap<(usize, usize, usize), (u32, f64)>;

/// The number of a cell's sitting; 0 under an exact clock.
pub(crate) fn sitting(cell: &CellRecord) -> u32 {
    cell.environment.sitting.as_ref().map_or(0, |sitting| sitting.number)
}
