//! Figures that depend on conditions: their repeats fall into groups, or vary far more than their neighbours.
//!
//! Repeats in groups are found by `stats::groups` on logarithms. Otherwise a figure's variance is compared with the
//! usual one of its task on other configurations, and with the usual one of its configuration at other tasks: the larger
//! of these two medians. The bound is by F, with so little error that it holds for heavy tails too: of a run's figures
//! with noise of one kind fewer than 1 in 100 are found (`tests/groups.rs` prints both tables). Three groups are sought in
//! wide figures only: noise that is not wide is not told as groups more often for it.
//!
//! Differences below [`LEAST`] are never found: no choice depends on them.

use std::collections::HashMap;

use mountmark_model::Metric;
use mountmark_stats::distribution::f_quantile;
use mountmark_stats::groups;
use mountmark_stats::groups::FEWEST;
use mountmark_stats::summary::{coefficient_of_variation, median, median_of, variance};
use serde::Serialize;

use crate::figures::find::series::{Figures, Series, Task};

/// The smallest gap between groups, and the smallest wide standard deviation: a difference of logarithms, about 5 %.
const LEAST: f64 = 0.05;

/// Minimum number of neighbours for a usual variance.
const NEIGHBOURS: usize = 3;

/// Probability that normal noise has a variance so far above the usual one.
const ERROR: f64 = 0.000_2;

/// Degrees of freedom of a usual variance, whatever the number of neighbours: neighbours differ by more than chance.
const USUAL: f64 = 8.0;

/// How a figure depends on conditions.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Dependence {
    /// Its repeats fall into two or three groups, ascending.
    Groups { groups: Vec<Group> },
    /// Its repeats vary far more than those of its neighbours.
    Wide {
        min: f64,
        max: f64,
        /// Coefficient of variation.
        cv: f64,
        /// The usual one of its neighbours.
        usual: f64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Group {
    /// Median of its repeats, in the metric's unit.
    pub value: f64,
    pub repeats: usize,
}

impl Dependence {
    /// The figure under the conditions that make it least and greatest.
    pub fn ends(&self) -> (f64, f64) {
        match self {
            Dependence::Groups { groups } => {
                let values = || groups.iter().map(|group| group.value);
                (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
            }
            Dependence::Wide { min, max, .. } => (*min, *max),
        }
    }
}

/// By task and metric, then by configuration.
pub(crate) type Dependences = HashMap<(usize, &'static str), Vec<Option<Dependence>>>;

/// Of all figures of each task's `metrics`.
pub(crate) fn dependences(figures: &Figures, metrics: &dyn Fn(&Task) -> &'static [Metric]) -> Dependences {
    let judged: Vec<(usize, &Series)> = figures
        .tasks
        .iter()
        .enumerate()
        .flat_map(|(at, task)| metrics(task).iter().filter_map(move |metric| Some((at, task.series(metric)?))))
        .collect();
    let variances: Vec<Vec<Option<f64>>> = judged.iter().map(|(_, series)| of_configurations(series)).collect();
    let of = |(row, (task, series)): (usize, &(usize, &'_ Series))| {
        let found = (0..series.blocks.len()).map(|one| {
            let values = above_zero(&series.figures(one));
            in_groups(&values).or_else(|| {
                let wide = wide(&values, usual(&variances, row, one)?)?;
                Some(in_three_groups(&values).unwrap_or(wide))
            })
        });
        ((*task, series.metric.id), found.collect())
    };
    judged.iter().enumerate().map(of).collect()
}

/// Figures above 0, ascending; empty if there is another or there are too few.
fn above_zero(figures: &[f64]) -> Vec<f64> {
    let mut values = figures.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    if values.len() < FEWEST || values[0] <= 0.0 { Vec::new() } else { values }
}

fn logs(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| libm::log(*value)).collect()
}

fn of_configurations(series: &Series) -> Vec<Option<f64>> {
    (0..series.blocks.len()).map(|one| variance(&logs(&above_zero(&series.figures(one))))).collect()
}

/// The groups of figures, if they fall into two groups.
pub(crate) fn in_groups(figures: &[f64]) -> Option<Dependence> {
    let values = above_zero(figures);
    cut_at(&values, &[groups::cut(&logs(&values))?])
}

/// The groups of ascending figures that are wide, if they fall into three groups.
fn in_three_groups(values: &[f64]) -> Option<Dependence> {
    cut_at(values, &groups::cuts(&logs(values))?)
}

/// The groups between these cuts, unless a gap is smaller than matters.
fn cut_at(values: &[f64], cuts: &[usize]) -> Option<Dependence> {
    let logs = logs(values);
    if cuts.iter().any(|at| logs[*at] - logs[at - 1] < LEAST) {
        return None;
    }
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([values.len()]);
    let group = |(from, to)| {
        let values: &[f64] = &values[from..to];
        Some(Group { value: median(values)?, repeats: values.len() })
    };
    Some(Dependence::Groups { groups: starts.zip(ends).map(group).collect::<Option<_>>()? })
}

/// The usual variance around a figure: the larger of the medians of its row and of its column, without itself.
fn usual(variances: &[Vec<Option<f64>>], row: usize, configuration: usize) -> Option<f64> {
    let beside = variances[row].iter().enumerate().filter(|(one, _)| *one != configuration);
    let below = variances.iter().enumerate().filter(|(other, _)| *other != row);
    let median = |mut values: Vec<f64>| median_of(&mut values).filter(|_| values.len() >= NEIGHBOURS);
    let beside = median(beside.filter_map(|(_, found)| *found).collect());
    let below = median(below.filter_map(|(_, row)| *row.get(configuration)?).collect());
    beside.into_iter().chain(below).reduce(f64::max)
}

fn wide(values: &[f64], usual: f64) -> Option<Dependence> {
    let own = variance(&logs(values))?;
    let bound = f_quantile(ERROR, (values.len() - 1) as f64, USUAL);
    if own < LEAST * LEAST || own <= bound * usual {
        return None;
    }
    let (min, max) = (*values.first()?, *values.last()?);
    Some(Dependence::Wide { min, max, cv: coefficient_of_variation(values)?, usual: libm::sqrt(usual) })
}
