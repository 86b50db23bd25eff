//! Doubtful samples: outliers among the cells of a configuration.
//!
//! A figure's distance is from the median of the others of its configuration, in logarithms. The scale is robust: the
//! median distance of all figures of the task from the medians of their configurations, since the distances of three
//! figures are often close to 0. A configuration that is noisier than others in most tasks counts as noisier in each;
//! one whose other figures are clearly wider apart in this task has its own scale. Distance over scale is assumed to
//! follow Student's t, and the bound covers all figures of the run together, so that at most about one run without
//! outliers in twenty has a doubt: `tests/findings.rs` counts, and finds fewer with fewer than five repeats. The usual
//! rule of three standard deviations cannot find anything below eleven repeats: the largest of n figures is at most (n
//! - 1) / sqrt(n) standard deviations from their mean.
//!
//! The median distance from a median underestimates the scale for few figures, and more for an even number: the median
//! is then between two of them, and both distances are short. With four figures it is 28 % too small, with ten 13 %,
//! which makes four times as many doubts as there should be. [`small`] corrects this.
//!
//! Differences below a fiftieth are never doubtful: another run of the cell would cost more than it is worth.

use std::collections::BTreeSet;
use std::f64::consts::FRAC_PI_2;

use mountmark_record::RunRecord;
use mountmark_stats::distribution::{f_tail, t_quantile};
use mountmark_stats::summary::{median, median_of, median_without};
use serde::Serialize;

use crate::figures;
use crate::figures::find::series::{Figures, Series};
use crate::options::Options;
use crate::verdicts::find::estimate::Doubtful;

/// Probability that a run without outliers has any doubt, if its noise is normal.
const ERROR: f64 = 0.05;

/// The smallest doubtful difference of logarithms.
const LEAST: f64 = 0.02;

/// Minimum number of cells of a configuration for a doubt.
const FEWEST: usize = 3;

/// Converts a median absolute deviation to the standard deviation of normal noise: 1 over the normal quantile of 3/4.
const NORMAL: f64 = 1.482_602_218_505_602;

/// Degrees of freedom of a standard deviation per degree of a median absolute deviation. In the middle of the
/// distribution it is 0.37 (Rousseeuw and Croux, JASA 88, 1993); in the tails, where bounds are, simulations give one
/// half.
const WORTH: f64 = 0.5;

/// A configuration's own scale counts if chance would make one so large from the task's less often than this.
const OWN: f64 = 0.05;

/// Minimum number of tasks for estimating the noise of a configuration.
const TASKS: usize = 5;

/// A configuration counts as noisier above this factor to its tasks, in the median over tasks.
const NOISIER: f64 = 1.3;

/// A sample that does not fit the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Doubt {
    /// Index into [`Findings::configurations`].
    pub configuration: usize,
    /// Task id, or a protocol step.
    pub task: String,
    /// Metric id.
    pub metric: String,
    /// Block number.
    pub repeat: u32,
    /// In the metric's unit.
    pub value: f64,
    /// The median of the others.
    pub others: f64,
    /// Whether its cell was run again in the same plan.
    pub again: bool,
}

/// Doubtful samples of the judged metrics, in task order.
pub fn doubts(run: &RunRecord) -> Vec<Doubt> {
    let figures = judged(run);
    in_doubt(&figures).into_iter().map(|found| found.doubt).collect()
}

/// The figures by which tasks are judged.
fn judged(run: &RunRecord) -> Figures {
    Figures::new(run, &Options { metrics: Some(Vec::new()), ..Options::default() })
}

/// Cells with a doubtful sample that were not run again yet: a plan should measure these once more.
pub fn cells_in_doubt(run: &RunRecord) -> Vec<u32> {
    let figures = judged(run);
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

/// The set of doubtful samples, to mark them.
pub(crate) fn doubtful(found: &[Found]) -> Doubtful {
    found.iter().map(|found| (found.task, found.metric, found.cell)).collect()
}

pub(crate) fn in_doubt(figures: &Figures) -> Vec<Found> {
    let judged =
        figures.tasks.iter().enumerate().filter(|(_, task)| task.category != figures::find::basis::Category::Capacity);
    let strata: Vec<Stratum> =
        judged.filter_map(|(at, task)| Some((at, task.main()?))).filter_map(Stratum::new).collect();
    let count: usize = strata.iter().flat_map(|stratum| &stratum.logs).map(Vec::len).sum();
    let noisiness = noisiness(&strata, figures.configurations.len());
    let mut out = Vec::new();
    for stratum in &strata {
        stratum.find(figures, &noisiness, ERROR / count.max(1) as f64, &mut out);
    }
    out
}

/// A task's figures by configuration, and their dispersion.
struct Stratum<'a> {
    task: usize,
    series: &'a Series,
    /// By configuration: cell index and logarithm. Empty if there are too few.
    logs: Vec<Vec<(usize, f64)>>,
    /// By configuration: standard deviation of its own figures; `None` if it cannot be estimated.
    own: Vec<Option<f64>>,
    /// Standard deviation of all figures, and its degrees of freedom.
    scale: f64,
    df: f64,
}

impl<'a> Stratum<'a> {
    fn new((task, series): (usize, &'a Series)) -> Option<Stratum<'a>> {
        // Zeroes have no logarithm and are never doubtful.
        let logs = |cells: &Vec<figures::find::series::CellFigure>| -> Vec<(usize, f64)> {
            let above = cells.iter().enumerate().filter(|(_, cell)| cell.mean > 0.0);
            let logs: Vec<_> = above.map(|(at, cell)| (at, libm::log(cell.mean))).collect();
            if logs.len() >= FEWEST { logs } else { Vec::new() }
        };
        let logs: Vec<Vec<(usize, f64)>> = series.cells.iter().map(logs).collect();
        let (mut all, mut own, mut df) = (Vec::new(), Vec::new(), 0);
        for of_configuration in &logs {
            let mut distances = distances(&of_configuration.iter().map(|(_, log)| *log).collect::<Vec<_>>());
            all.extend_from_slice(&distances);
            own.push(median_of(&mut distances).map(|middle| middle * NORMAL));
            df += of_configuration.len().saturating_sub(1);
        }
        let scale = median_of(&mut all)? * NORMAL;
        Some(Stratum { task, series, logs, own, scale, df: (df as f64 * WORTH).max(1.0) })
    }

    /// Adds the figures whose distance has a probability below `error`.
    fn find(&self, figures: &Figures, noisiness: &[f64], error: f64, out: &mut Vec<Found>) {
        let bound = t_quantile(error, self.df);
        for (configuration, logs) in self.logs.iter().enumerate() {
            let mut sorted: Vec<f64> = logs.iter().map(|(_, log)| *log).collect();
            sorted.sort_unstable_by(f64::total_cmp);
            for (at, log) in logs {
                let Ok(own) = sorted.binary_search_by(|other| other.total_cmp(log)) else { continue };
                let Some(center) = median_without(&sorted, own) else { continue };
                let distance = (log - center).abs();
                let apart = distance / (1.0 + variance_of_median(logs.len() - 1)).sqrt();
                if distance <= LEAST || apart <= bound * self.scale * noisiness[configuration] {
                    continue;
                }
                let others: Vec<f64> = logs.iter().filter(|(other, _)| other != at).map(|(_, log)| *log).collect();
                if apart > bound * self.scale_beside(&others, noisiness[configuration]) {
                    out.push(self.found(figures, configuration, *at));
                }
            }
        }
    }

    /// The scale for a figure, given the others of its configuration.
    fn scale_beside(&self, others: &[f64], noisiness: f64) -> f64 {
        let usual = self.scale * noisiness;
        let own = median_of(&mut distances(others)).unwrap_or(0.0) * NORMAL;
        let df = others.len().saturating_sub(1) as f64 * WORTH;
        let is_wider = own > usual && (usual == 0.0 || f_tail((own / usual) * (own / usual), df, self.df) < OWN);
        if is_wider { own } else { usual }
    }

    fn found(&self, figures: &Figures, configuration: usize, at: usize) -> Found {
        let cells = &self.series.cells[configuration];
        let cell = &cells[at];
        let again = cells.iter().any(|other| other.repeat == cell.repeat && other.cell != cell.cell);
        let others: Vec<f64> = cells.iter().filter(|other| other.cell != cell.cell).map(|other| other.mean).collect();
        Found {
            task: self.task,
            metric: self.series.metric.id,
            cell: cell.cell,
            doubt: Doubt {
                configuration,
                task: figures.tasks[self.task].id.clone(),
                metric: self.series.metric.id.into(),
                repeat: cell.repeat,
                value: cell.mean,
                others: median(&others).unwrap_or_default(),
                again,
            },
        }
    }
}

/// By configuration: median over tasks of its noise relative to the task; 1 if not noisier or unknown.
fn noisiness(strata: &[Stratum], configurations: usize) -> Vec<f64> {
    let of = |configuration: usize| {
        let known = strata.iter().filter(|stratum| stratum.scale > 0.0);
        let mut ratios: Vec<f64> =
            known.filter_map(|stratum| Some(stratum.own[configuration]? / stratum.scale)).collect();
        if ratios.len() < TASKS { None } else { median_of(&mut ratios) }
    };
    (0..configurations).map(|one| of(one).filter(|ratio| *ratio >= NOISIER).unwrap_or(1.0)).collect()
}

/// Distances from the median, corrected to those from the true middle. The median's own distance of 0 is omitted if it
/// is one of the values.
fn distances(values: &[f64]) -> Vec<f64> {
    let Some(center) = median(values) else { return Vec::new() };
    let mut out: Vec<f64> = values.iter().map(|value| (value - center).abs() * small(values.len())).collect();
    if values.len() % 2 == 1 {
        out.swap_remove(values.iter().position(|value| *value == center).unwrap_or(0));
    }
    out
}

/// Small-sample correction of the median absolute deviation of `n` values, 0 omitted: for normal noise, by simulation
/// of 200,000 samples each.
fn small(n: usize) -> f64 {
    const SMALL: [f64; 11] = [1.0, 1.0, 1.416, 0.980, 1.389, 0.983, 1.278, 0.988, 1.196, 0.992, 1.153];
    let even = n.is_multiple_of(2);
    SMALL.get(n).copied().unwrap_or(1.0 + if even { 1.25 } else { -0.09 } / n as f64)
}

/// Variance of the median of `n` standard normal values: pi/2 over n for large n, by simulation below.
fn variance_of_median(n: usize) -> f64 {
    FRAC_PI_2 / (n as f64 + if n.is_multiple_of(2) { 1.2 } else { 0.5 })
}
