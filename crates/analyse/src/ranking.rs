//! Rankings over several tasks: geometric means of ratios to the best, and how steady they are.
//!
//! Repeats are resampled as whole blocks, for all tasks and configurations at once, since what is compared was measured
//! in the same block. A configuration is ranked where it has a figure of every task that any has a figure of: a mean over
//! the tasks that it got through would flatter it.

use mountmark_model::{Better, Metric};

use crate::figures::{Figures, Series};
use crate::stats::bootstrap::{bca, draw, percentile};
use crate::stats::random::Random;
use crate::{Options, Rank};

/// Logarithms of the medians of series by configuration, for the run itself and for its resamplings. Higher is worse.
pub(crate) struct Resampled {
    configurations: usize,
    series: Vec<(usize, &'static str)>,
    /// The run's own first, then resamplings, then the run without each of its blocks.
    draws: Vec<Vec<f64>>,
    resamples: usize,
    blocks: usize,
}

impl Resampled {
    /// Of all series of `metrics`.
    pub fn new(figures: &Figures, metrics: &[Metric], options: &Options, seed: u64) -> Resampled {
        let configurations = figures.configurations.len();
        let blocks = figures.repeats.len();
        let mut series = Vec::new();
        let mut sorted = Vec::new();
        for (task, of_task) in figures.tasks.iter().enumerate() {
            for one in of_task.series.iter().filter(|one| metrics.contains(one.metric)) {
                series.push((task, one.metric.id));
                sorted.extend((0..configurations).map(|configuration| Sorted::new(one, configuration)));
            }
        }
        let medians = |counts: &[u32]| sorted.iter().map(|sorted| sorted.log_median(counts)).collect::<Vec<f64>>();
        let resamples = if blocks > 1 { options.resamples } else { 0 };
        let mut random = Random::named(seed ^ options.seed, "rankings");
        let mut draws = vec![medians(&vec![1; blocks])];
        let (mut positions, mut counts) = (Vec::new(), vec![0; blocks]);
        for _ in 0..resamples {
            draw(&mut random, blocks, &mut positions);
            counts.fill(0);
            positions.iter().for_each(|position| counts[*position] += 1);
            draws.push(medians(&counts));
        }
        for left_out in 0..if resamples > 0 { blocks } else { 0 } {
            counts.fill(1);
            counts[left_out] = 0;
            draws.push(medians(&counts));
        }
        Resampled { configurations, series, draws, resamples, blocks }
    }

    /// Positions of the series that `want` takes, by task and metric, and that make ratios: above 0 for all that have
    /// them.
    pub fn select(&self, want: impl Fn(usize, &str) -> bool) -> Vec<usize> {
        let own = &self.draws[0];
        (0..self.series.len())
            .filter(|at| want(self.series[*at].0, self.series[*at].1))
            .filter(|at| {
                let values = &own[at * self.configurations..(at + 1) * self.configurations];
                // No figure is NaN, a figure of 0 is infinite.
                values.iter().any(|value| value.is_finite()) && !values.iter().any(|value| value.is_infinite())
            })
            .collect()
    }

    /// The ranking by these series; empty where nobody has figures of all.
    pub fn ranking(&self, series: &[usize], level: f64) -> Vec<Rank> {
        let ranked: Vec<usize> = (0..self.configurations)
            .filter(|c| series.iter().all(|at| self.draws[0][at * self.configurations + c].is_finite()))
            .collect();
        if series.is_empty() || ranked.is_empty() {
            return Vec::new();
        }
        // A draw in which a configuration has no figure says nothing.
        let scores: Vec<Option<Vec<f64>>> = self.draws.iter().map(|draw| self.scores(draw, series, &ranked)).collect();
        let Some(Some(own)) = scores.first() else { return Vec::new() };
        let order = places(own);
        let resampled: Vec<&Vec<f64>> = scores[1..=self.resamples].iter().flatten().collect();
        let left_out: Vec<&Vec<f64>> = scores[1 + self.resamples..].iter().flatten().collect();
        let orders: Vec<Vec<usize>> = resampled.iter().map(|scores| places(scores)).collect();
        let mut out = Vec::new();
        for (place, at) in order.iter().enumerate() {
            let of = |scores: &[&Vec<f64>]| scores.iter().map(|scores| scores[*at]).collect::<Vec<f64>>();
            let mut values = of(&resampled);
            let interval = bca(own[*at], &values, &of(&left_out), level).or_else(|| {
                values.sort_unstable_by(f64::total_cmp);
                percentile(&values, level)
            });
            let kept = orders.iter().filter(|order| order[place] == *at).count();
            out.push(Rank {
                configuration: ranked[*at],
                score: own[*at],
                interval,
                stability: (!orders.is_empty()).then(|| kept as f64 / orders.len() as f64),
            });
        }
        out
    }

    /// How many repeats the resampling is over.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Scores of the ranked; `None` where any has no figure.
    fn scores(&self, draw: &[f64], series: &[usize], ranked: &[usize]) -> Option<Vec<f64>> {
        let mut sums = vec![0.0; ranked.len()];
        for at in series {
            let values = &draw[at * self.configurations..(at + 1) * self.configurations];
            // The best of all, not of the ranked alone: who fails elsewhere may still be the best here.
            let best = values.iter().copied().filter(|value| value.is_finite()).reduce(f64::min)?;
            for (sum, configuration) in sums.iter_mut().zip(ranked) {
                *sum += values[*configuration] - best;
            }
        }
        let scores: Vec<f64> = sums.iter().map(|sum| libm::exp(sum / series.len() as f64)).collect();
        scores.iter().all(|score| score.is_finite()).then_some(scores)
    }
}

/// Positions by score, the least first; equal ones in the user's order.
fn places(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*a].total_cmp(&scores[*b]));
    order
}

/// The figures of a series on one configuration by value, with the block of each: medians of resamplings need no sorting.
struct Sorted {
    values: Vec<(f64, usize)>,
    sign: f64,
}

impl Sorted {
    fn new(series: &Series, configuration: usize) -> Sorted {
        let blocks = series.blocks[configuration].iter().enumerate();
        let mut values: Vec<(f64, usize)> =
            blocks.filter_map(|(block, value)| value.map(|value| (value, block))).collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let sign = if series.metric.better == Better::Lower { 1.0 } else { -1.0 };
        Sorted { values, sign }
    }

    /// Logarithm of the median where each block counts as often as it was drawn; its negative where higher is better.
    /// NaN where there is none, infinite where it is 0.
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
