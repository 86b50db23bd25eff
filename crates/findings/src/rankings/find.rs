//! Rankings over several tasks: geometric means of ratios to the best, their intervals, and the stability of places.
//!
//! A configuration is ranked only if it has a figure of every task that any configuration has: a mean over the tasks
//! that it completed would flatter it.
//!
//! The interval of a score is that of Student's t on the blocks: in each the mean over tasks of the logarithms of the
//! ratios to the task's best, which is the best by medians over all blocks. Such means are close to normal, whatever
//! the noise of a figure, since each is of many. In simulations of 7 configurations and 21 tasks with normal, lognormal
//! and two-moded noise, 93.8 to 95.7 % of 95 % intervals cover the true score, with 3, 5, 10 and 30 repeats. Bootstrap
//! intervals (BCa), which were tried first, cover 35 to 72 % with 3, 72 to 93 % with 5 and 88 to 99 % with 10.
//!
//! That holds if each task has one best configuration. If several are equally good, the best of a task is so by luck,
//! and all scores are larger by that luck, which no resampling of repeats shows: of seven equal ones with normal noise
//! of 2 % the true score of 1 is covered by 53 % of intervals with 3 repeats and 12 % with 10. Ratios to the baseline
//! have no such fault. `tests/simulations.rs` prints the tables.
//!
//! For the stability of places, repeats are resampled as whole blocks, for all tasks and configurations at once, since
//! the compared figures were measured in the same block. Few blocks have few different resamplings (ten of three), so
//! each is evaluated once and weighted by how often it was drawn.

pub(crate) mod rank;

use std::collections::BTreeMap;

use mountmark_model::Better;
use mountmark_stats::bootstrap::draw;
use mountmark_stats::distribution::t_quantile;
use mountmark_stats::interval::Interval;
use mountmark_stats::random::Random;
use mountmark_stats::summary::{mean, variance};

use crate::figures::find::roles::{self, Role};
use crate::figures::find::series::{Figures, Series, Task};
use crate::options::Options;
use crate::rankings::find::rank::Rank;

/// The fewest blocks that say anything about how firm a place is: two equal configurations have the same order in all of
/// n blocks with a probability of 2^(1-n), which is above 5 % with five.
const TELLING: usize = 6;

/// The series behind rankings, and the resamplings of their blocks.
pub(crate) struct Ranked {
    configurations: usize,
    series: Vec<(usize, &'static str)>,
    /// By series, then by configuration.
    rows: Vec<Row>,
    /// Weight of each block in a draw, and how often that was drawn.
    draws: Vec<(Vec<u32>, u32)>,
    blocks: usize,
}

impl Ranked {
    /// Takes all series of `metrics`.
    pub fn new(figures: &Figures, options: &Options, seed: u64) -> Ranked {
        let configurations = figures.configurations.len();
        let blocks = figures.blocks.len();
        let mut series = Vec::new();
        let mut rows = Vec::new();
        for (task, of_task) in figures.tasks.iter().enumerate() {
            for one in of_task.series.iter().filter(|one| roles::has(one.metric.id, Role::Ranked)) {
                series.push((task, one.metric.id));
                rows.extend((0..configurations).map(|configuration| Row::new(one, configuration)));
            }
        }
        let mut random = Random::named(seed ^ options.seed, "rankings");
        let (mut positions, mut draws) = (Vec::new(), BTreeMap::new());
        for _ in 0..if blocks > 1 { options.resamples } else { 0 } {
            draw(&mut random, blocks, &mut positions);
            let mut counts = vec![0; blocks];
            positions.iter().for_each(|position| counts[*position] += 1);
            *draws.entry(counts).or_insert(0) += 1;
        }
        Ranked { configurations, series, rows, draws: draws.into_iter().collect(), blocks }
    }

    /// Indices of the series accepted by `want`, by task and metric, whose values are all positive.
    pub fn select(&self, want: impl Fn(usize, &str) -> bool) -> Vec<usize> {
        let all = vec![1; self.blocks];
        (0..self.series.len())
            .filter(|at| want(self.series[*at].0, self.series[*at].1))
            .filter(|at| {
                let values: Vec<f64> = self.of_series(*at).iter().map(|row| row.log_median(&all)).collect();
                // NaN is a missing figure; infinity is a figure of 0.
                values.iter().any(|value| value.is_finite()) && !values.iter().any(|value| value.is_infinite())
            })
            .collect()
    }

    /// Their tasks and metrics.
    pub fn named(&self, series: &[usize]) -> impl Iterator<Item = (usize, &'static str)> {
        series.iter().map(|at| self.series[*at])
    }

    /// Judged tests of those that `want` accepts that none of these series is of.
    pub fn others(&self, figures: &Figures, series: &[usize], want: impl Fn(&Task) -> bool) -> Vec<usize> {
        let is_judged = |task: &Task| !task.step && task.main().is_some() && want(task);
        let is_ranked = |at: usize| series.iter().any(|one| self.series[*one].0 == at);
        (0..figures.tasks.len()).filter(|at| is_judged(&figures.tasks[*at]) && !is_ranked(*at)).collect()
    }

    /// The ranking by these series; empty if no configuration has figures of all.
    pub fn ranking(&self, series: &[usize], level: f64) -> Vec<Rank> {
        let all = vec![1; self.blocks];
        let medians: Vec<Vec<f64>> =
            series.iter().map(|at| self.of_series(*at).iter().map(|row| row.log_median(&all)).collect()).collect();
        let ranked: Vec<usize> =
            (0..self.configurations).filter(|c| medians.iter().all(|row| row[*c].is_finite())).collect();
        if series.is_empty() || ranked.is_empty() {
            return Vec::new();
        }
        let Some(own) = scores(medians.iter().map(Vec::as_slice), &ranked) else { return Vec::new() };
        let order = places(&own);
        let best: Vec<usize> = medians.iter().map(|row| least(row)).collect();
        let (kept, drawn) = self.kept(series, &ranked, &order);
        let share = |place: usize| (drawn > 0).then(|| f64::from(kept[place]) / f64::from(drawn));
        let rank = |(place, at): (usize, &usize)| Rank {
            configuration: ranked[*at],
            score: own[*at],
            interval: self.interval(series, &best, ranked[*at], own[*at], level),
            stability: share(place).filter(|_| self.blocks >= TELLING),
            resampled: share(place),
        };
        order.iter().enumerate().map(rank).collect()
    }

    /// By place: number of resamplings that keep it; and the number of resamplings.
    fn kept(&self, series: &[usize], ranked: &[usize], order: &[usize]) -> (Vec<u32>, u32) {
        let (mut kept, mut drawn) = (vec![0; order.len()], 0);
        let mut medians = vec![vec![0.0; self.configurations]; series.len()];
        for (counts, times) in &self.draws {
            for (row, at) in medians.iter_mut().zip(series) {
                for (value, figures) in row.iter_mut().zip(self.of_series(*at)) {
                    *value = figures.log_median(counts);
                }
            }
            // A draw in which a configuration has no figure is ignored.
            let Some(scores) = scores(medians.iter().map(Vec::as_slice), ranked) else { continue };
            drawn += times;
            for (kept, (now, own)) in kept.iter_mut().zip(places(&scores).iter().zip(order)) {
                *kept += if now == own { *times } else { 0 };
            }
        }
        (kept, drawn)
    }

    /// The interval of a score from the blocks in which it and the best of each task have figures; never below 1, the
    /// minimum of a score. `None` below two such blocks.
    fn interval(&self, series: &[usize], best: &[usize], one: usize, score: f64, level: f64) -> Option<Interval> {
        let of_block = |block: usize| {
            let mut sum = 0.0;
            for (at, best) in series.iter().zip(best) {
                let rows = self.of_series(*at);
                sum += rows[one].logs[block] - rows[*best].logs[block];
            }
            Some(sum / series.len() as f64).filter(|mean| mean.is_finite())
        };
        let blocks: Vec<f64> = (0..self.blocks).filter_map(of_block).collect();
        let center = mean(&blocks)?;
        let n = blocks.len() as f64;
        let reach = t_quantile(1.0 - level, n - 1.0) * (variance(&blocks)? / n).sqrt();
        // The score uses medians: with few blocks it may be outside the interval of the mean.
        let low = libm::exp(center - reach).min(score).max(1.0_f64.min(score));
        let high = libm::exp(center + reach).max(score);
        Some(Interval { low, high }).filter(|interval| interval.high.is_finite())
    }

    fn of_series(&self, at: usize) -> &[Row] {
        &self.rows[at * self.configurations..(at + 1) * self.configurations]
    }
}

/// Scores of the ranked from logarithms of medians, lower is better; `None` if any has no figure.
fn scores<'a>(series: impl Iterator<Item = &'a [f64]>, ranked: &[usize]) -> Option<Vec<f64>> {
    let mut sums = vec![0.0; ranked.len()];
    let mut count = 0.0;
    for values in series {
        // The best of all, not only of the ranked: a configuration that fails elsewhere may be the best here.
        let best = values.iter().copied().filter(|value| value.is_finite()).reduce(f64::min)?;
        for (sum, configuration) in sums.iter_mut().zip(ranked) {
            *sum += values[*configuration] - best;
        }
        count += 1.0;
    }
    let scores: Vec<f64> = sums.iter().map(|sum| libm::exp(sum / count)).collect();
    scores.iter().all(|score| score.is_finite()).then_some(scores)
}

/// Index of the least value that is a number.
fn least(values: &[f64]) -> usize {
    let finite = values.iter().enumerate().filter(|(_, value)| value.is_finite());
    finite.min_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(at, _)| at)
}

/// Indices by score, the least first; equal ones in the user's order.
fn places(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*a].total_cmp(&scores[*b]));
    order
}

/// The figures of a series on one configuration sorted by value, with their blocks: resampled medians need no sort.
struct Row {
    values: Vec<(f64, usize)>,
    /// By block: the logarithm, negated if higher is better; NaN if missing.
    logs: Vec<f64>,
    sign: f64,
}

impl Row {
    fn new(series: &Series, configuration: usize) -> Row {
        let blocks = series.blocks[configuration].iter().enumerate();
        let mut values: Vec<(f64, usize)> =
            blocks.filter_map(|(block, value)| value.map(|value| (value, block))).collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let sign = if series.metric.better == Better::Lower { 1.0 } else { -1.0 };
        let log = |value: &Option<f64>| value.map_or(f64::NAN, |value| sign * libm::log(value));
        Row { values, logs: series.blocks[configuration].iter().map(log).collect(), sign }
    }

    /// Logarithm of the weighted median, where `counts` are the weights of blocks; negated if higher is better. NaN if
    /// missing, infinite if the median is 0.
    fn log_median(&self, counts: &[u32]) -> f64 {
        let total: u32 = self.values.iter().map(|(_, block)| counts[*block]).sum();
        if total == 0 {
            return f64::NAN;
        }
        let (low, high) = ((total - 1) / 2, total / 2);
        let (mut seen, mut below) = (0, None);
        for (value, block) in &self.values {
            seen += counts[*block];
            if below.is_none() && seen > low {
                below = Some(*value);
            }
            if seen > high {
                let below = below.unwrap_or(*value);
                return self.sign * libm::log(below + (value / 2.0 - below / 2.0));
            }
        }
        f64::NAN
    }
}
