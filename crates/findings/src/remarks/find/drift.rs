//! Whether figures change with time, whatever is measured: a machine that gets warm, a disk that fills or wears, a
//! neighbour that comes. Only under wall time: an exact clock has no such time.
//!
//! Each configuration's median is taken out of its figures, in logarithms and in each sitting, and what is left is laid in
//! the order of time (`stats::trend`). All tests of a run are one family, corrected by Holm.

use std::collections::BTreeMap;

use mountmark_model::Better;
use mountmark_record::{RunRecord, Timestamp};
use mountmark_stats::random::Random;
use mountmark_stats::summary::median;
use mountmark_stats::{holm, trend};

use crate::figures::find::series::{Figures, Series};

/// Probability of any drift in a run without one.
const ERROR: f64 = 0.05;

/// A test whose figures changed with time.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// Position in [`crate::Findings::tasks`].
    pub task: usize,
    /// Relative change from the first cell to the last: 0.05 where figures grew by 5 %.
    pub change: f64,
    /// Whether larger figures are worse.
    pub worse: bool,
    /// Probability of a trend as strong by chance, corrected for all tests of the run.
    pub p: f64,
}

/// Drifts of at least `matters`, a relative difference, in the order of tests.
pub(crate) fn drifts(run: &RunRecord, figures: &Figures, matters: f64) -> Vec<Drift> {
    if run.plan.lab.capabilities().exact_clock {
        return Vec::new();
    }
    // What was measured again was chosen by its value.
    let began: BTreeMap<u32, Timestamp> = run
        .cells
        .iter()
        .filter(|cell| run.plan.is_planned(cell.index))
        .map(|cell| (cell.index, cell.started))
        .collect();
    let mut random = Random::named(run.plan.seed, "drift");
    let judged = figures.tasks.iter().enumerate().filter_map(|(at, task)| Some((at, task.main()?)));
    let found: Vec<(usize, &Series, trend::Trend)> = judged
        .filter_map(|(at, series)| Some((at, series, trend::trend(&in_time(series, &began), &mut random)?)))
        .collect();
    let adjusted = holm::adjust(&found.iter().map(|(.., trend)| trend.p).collect::<Vec<_>>());
    let all = found.iter().zip(adjusted).map(|((task, series, trend), p)| {
        let change = libm::expm1(trend.change);
        Drift { task: *task, change, worse: (change > 0.0) == (series.metric.better == Better::Lower), p }
    });
    all.filter(|drift| drift.p <= ERROR && drift.change.abs() >= matters).collect()
}

/// When a cell began, its sitting and repeat, and a logarithm.
type Placed = (Timestamp, (u32, u32), f64);

/// What is left of the figures' logarithms without the medians, by block, in the order of time.
fn in_time(series: &Series, began: &BTreeMap<u32, Timestamp>) -> Vec<Vec<f64>> {
    let mut left: Vec<Placed> = Vec::new();
    for cells in &series.cells {
        let mut of_sittings: BTreeMap<u32, Vec<Placed>> = BTreeMap::new();
        for cell in cells.iter().filter(|cell| cell.mean > 0.0) {
            let Some(at) = began.get(&cell.cell) else { continue };
            let of_sitting = of_sittings.entry(cell.sitting).or_default();
            of_sitting.push((*at, (cell.sitting, cell.repeat), libm::log(cell.mean)));
        }
        for of_sitting in of_sittings.into_values() {
            let middle = median(&of_sitting.iter().map(|(.., log)| *log).collect::<Vec<_>>()).unwrap_or(0.0);
            // A single figure is its own median and tells nothing.
            let several = of_sitting.len() > 1;
            left.extend(of_sitting.into_iter().filter(|_| several).map(|(at, block, log)| (at, block, log - middle)));
        }
    }
    left.sort_by_key(|(at, block, _)| (*block, *at));
    left.chunk_by(|one, other| one.1 == other.1).map(|block| block.iter().map(|(.., value)| *value).collect()).collect()
}
