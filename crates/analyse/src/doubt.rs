//! Doubtful samples: cells that do not fit the others of their configuration.
//!
//! Figures are compared as logarithms with the median of their configuration, by a robust scale: the median absolute
//! deviation, of all configurations of the task together, since that of three figures is often next to nothing, or the
//! configuration's own where that is larger. The bound is that of Student's t for all figures of the run together, so
//! that a run without outliers has a doubt about once in twenty. The usual rule of three standard deviations cannot
//! find anything below eleven repeats: the largest of n figures is at most (n - 1) / sqrt(n) standard deviations from
//! their mean.
//!
//! What differs by less than a fiftieth is never doubtful: to run a cell again costs more than that is worth.

use std::collections::BTreeSet;

use mountmark_record::RunRecord;

use crate::Doubt;
use crate::estimate::Doubtful;
use crate::figures::{Figures, Series};
use crate::stats::distribution::t_quantile;
use crate::stats::summary::median;

/// Probability that a run without outliers has any doubt, if its noise is normal.
const ERROR: f64 = 0.05;

/// The least difference of logarithms that is doubted.
const LEAST: f64 = 0.02;

/// Fewest cells of a configuration among which one can be doubted.
const FEWEST: usize = 3;

/// Makes a median absolute deviation the standard deviation of normal noise: 1 over the normal quantile of 3/4.
const NORMAL: f64 = 1.482_602_218_505_602;

/// Samples of the judged metrics that do not fit, in the order of tasks.
pub fn doubts(run: &RunRecord) -> Vec<Doubt> {
    let figures = Figures::new(run);
    in_doubt(&figures).into_iter().map(|found| found.doubt).collect()
}

/// Positions of the cells that have a doubtful sample and were not run again yet: what a plan should measure once more.
pub fn cells_in_doubt(run: &RunRecord) -> Vec<u32> {
    let figures = Figures::new(run);
    let planned: BTreeSet<u32> = run.plan.cells.iter().map(|cell| cell.index).collect();
    let found = in_doubt(&figures);
    let cells = found.iter().filter(|found| !found.doubt.again && planned.contains(&found.cell));
    cells.map(|found| found.cell).collect::<BTreeSet<_>>().into_iter().collect()
}

pub(crate) struct Found {
    pub task: usize,
    pub metric: &'static str,
    pub cell: u32,
    pub doubt: Doubt,
}

/// For marks beside samples.
pub(crate) fn doubtful(found: &[Found]) -> Doubtful {
    found.iter().map(|found| (found.task, found.metric, found.cell)).collect()
}

pub(crate) fn in_doubt(figures: &Figures) -> Vec<Found> {
    let judged: Vec<(usize, &Series)> = figures
        .tasks
        .iter()
        .enumerate()
        .filter(|(_, task)| task.category != crate::figures::CAPACITY)
        .filter_map(|(at, task)| Some((at, task.main()?)))
        .collect();
    let count: usize = judged.iter().flat_map(|(_, series)| &series.cells).map(Vec::len).sum();
    let mut out = Vec::new();
    for (task, series) in judged {
        find(figures, task, series, ERROR / count.max(1) as f64, &mut out);
    }
    out
}

fn find(figures: &Figures, task: usize, series: &Series, error: f64, out: &mut Vec<Found>) {
    // Zeroes have no logarithm; nobody doubts them.
    let logs: Vec<Vec<(usize, f64)>> = series
        .cells
        .iter()
        .map(|cells| {
            let above = cells.iter().enumerate().filter(|(_, cell)| cell.mean > 0.0);
            above.map(|(at, cell)| (at, libm::log(cell.mean))).collect()
        })
        .collect();
    let enough: Vec<usize> = (0..logs.len()).filter(|configuration| logs[*configuration].len() >= FEWEST).collect();
    let mut residuals = Vec::new();
    let mut lost = 0;
    let mut centers = vec![0.0; logs.len()];
    for configuration in &enough {
        let values: Vec<f64> = logs[*configuration].iter().map(|(_, log)| *log).collect();
        centers[*configuration] = median(&values).unwrap_or_default();
        residuals.extend(values.iter().map(|value| (value - centers[*configuration]).abs()));
        lost += 1;
    }
    let df = residuals.len().saturating_sub(lost);
    let Some(shared) = scale(&residuals, lost) else { return };
    // A median absolute deviation is worth 37 % of as many figures' standard deviation (Rousseeuw and Croux, 1993).
    let bound = t_quantile(error, (df as f64 * 0.37).max(1.0));
    for configuration in enough {
        let cells = &series.cells[configuration];
        let center = centers[configuration];
        for (at, log) in &logs[configuration] {
            let others: Vec<f64> =
                logs[configuration].iter().filter(|(other, _)| other != at).map(|(_, l)| *l).collect();
            let own: Vec<f64> = others.iter().map(|other| (other - center).abs()).collect();
            let own = median(&own).unwrap_or_default() * NORMAL;
            let distance = (log - center).abs();
            if distance <= LEAST || distance <= bound * own.max(shared) {
                continue;
            }
            let cell = &cells[*at];
            let again = cells.iter().any(|other| other.repeat == cell.repeat && other.cell != cell.cell);
            let means: Vec<f64> =
                cells.iter().filter(|other| other.cell != cell.cell).map(|other| other.mean).collect();
            out.push(Found {
                task,
                metric: series.metric.id,
                cell: cell.cell,
                doubt: Doubt {
                    configuration,
                    task: figures.tasks[task].id.clone(),
                    metric: series.metric.id.into(),
                    repeat: cell.repeat,
                    value: cell.mean,
                    others: median(&means).unwrap_or_default(),
                    again,
                },
            });
        }
    }
}

/// Robust standard deviation from distances to `centers` medians, each of which is one of the figures: its distance of 0
/// says nothing.
fn scale(distances: &[f64], centers: usize) -> Option<f64> {
    let mut sorted = distances.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let zeroes = sorted.iter().take(centers).filter(|distance| **distance == 0.0).count();
    median(&sorted[zeroes..]).map(|middle| middle * NORMAL)
}
