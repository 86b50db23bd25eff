//! Which configurations another repeat should measure, so that every figure becomes as precise as was asked for.
//!
//! # The rule
//!
//! A run looks at its figures after whole repeats only, and first after [`Sampling::LEAST`]. The figures are those by
//! which the suite's tests are judged; mkfs, mount and umount are measured along. At each look,
//!
//! * a figure is settled if its interval at [`LEVEL`] is within the target: that of Student's t around the mean of the
//!   logarithms of its repeats, whose variance is taken on each device alone where there are several;
//! * a pair of configurations is settled at a test if the interval of their ratio is within the target times the root of
//!   two, which two settled figures have, or if their difference is shown at [`CLEAR`] over the run's whole family.
//!
//! The next repeat has the configurations with a figure or a pair that is not settled. So both sides of an open pair are
//! measured in the same block, as verdicts need it, and what is settled costs nothing more.
//!
//! # What looking costs
//!
//! An interval that ends the measuring because it is narrow is too narrow on average: chance made it so. Hence 98 %. In 1000
//! simulated runs to +-2 % each (`tests/sampling.rs`) these intervals hold the true mean at the end in 98.7, 97.9, 96.1 and
//! 98.0 % where normal noise is 1, 2, 3 and 5 % (5.3, 8.5, 14.7 and 28.7 repeats), and in 97.2 % with far figures on both sides
//! (Student's t of three degrees of freedom). Of noise with a rare mode, one figure in ten 20 % higher, they hold it in 56.5 %
//! alone: five figures often have none of that mode, and no width can tell. Theory: Chow and Robbins, "On the asymptotic theory of
//! fixed-width sequential confidence intervals for the mean", Annals of Mathematical Statistics 36 (1965); Starr, "The
//! performance of a sequential procedure for the fixed-width interval estimation of the mean", the same 37 (1966).
//!
//! Verdicts suffer if a comparison goes on until it shows a difference. A width says nothing about a mean, so to stop by
//! widths does them no harm. Only what is shown at [`CLEAR`] ends a comparison early, the rule of Haybittle and Peto for
//! looks during a trial: the level at the end need not change for it (Peto and others, British Journal of Cancer 34, 1976).
//! Of 300 simulated runs without a difference one is shown in 1.3 to 3.7 % with 3 file systems and 5 tests, and in 4.3 to 5.7 %
//! with 2 and one, where the standard error of such a share is 1.3 %.

mod forecast;

use std::collections::BTreeMap;
use std::f64::consts::SQRT_2;

use mountmark_model::{Sampling, WhyEnded};
use mountmark_record::{CellRecord, RunRecord};
use mountmark_stats::distribution::t_quantile;
use mountmark_stats::summary;
use mountmark_stats::variance::{Prior, Variance, prior};

use crate::figures::find::series::{Figures, Series};
use crate::options::Options;
use crate::verdicts::find::Family;
use crate::verdicts::find::judged::Pair;
pub use forecast::LEVEL;
use forecast::Repeats;

/// A difference with a smaller probability under chance, over all comparisons of the run, needs no more repeats.
pub const CLEAR: f64 = 0.001;

/// How well one figure is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Width {
    pub task: String,
    /// Index into [`Look::configurations`].
    pub configuration: usize,
    /// Half the width of its interval, as part of the figure: 0.02 for 2 %; infinite below two repeats.
    pub half: f64,
    pub repeats: usize,
}

/// What a run knows after some repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    pub configurations: Vec<String>,
    /// The figures of the suite's tests, the least precise first.
    pub widths: Vec<Width>,
    /// By configuration: how many repeats it is likely to need still; 0 if it is settled.
    pub further: Vec<u32>,
}

impl Look {
    /// Whether the next repeat has to measure a configuration.
    pub fn wants(&self, name: &str) -> bool {
        self.configurations.iter().zip(&self.further).any(|(known, further)| known == name && *further > 0)
    }

    pub fn is_settled(&self) -> bool {
        self.further.iter().all(|further| *further == 0)
    }

    /// The figures that are wider than the target, the widest first.
    pub fn wide(&self, precision: f64) -> impl Iterator<Item = &Width> {
        self.widths.iter().filter(move |width| width.half > precision)
    }
}

/// Looks at the figures of `run`. `precision` as in [`Sampling`]; without one every configuration is wanted again.
pub fn look(run: &RunRecord, precision: Option<f64>) -> Look {
    let options = Options { metrics: Some(Vec::new()), resamples: 0, ..Options::default() };
    let figures = Figures::new(run, &options);
    let count = figures.configurations.len();
    let mut look = Look { configurations: figures.configurations.clone(), widths: Vec::new(), further: vec![0; count] };
    // Blocks take turns on devices.
    let targets = run.plan.targets.len().max(1);
    let devices: Vec<usize> = figures.blocks.iter().map(|(repeat, _)| *repeat as usize % targets).collect();
    let mut known = Vec::new();
    let tests = || figures.tasks.iter().enumerate().filter(|(_, task)| !task.step);
    for (task, series) in tests().filter_map(|(_, task)| Some((task, task.main()?))) {
        let measured = (0..count).filter_map(|one| Some((one, repeats(series, one, &devices)?)));
        for (configuration, repeats) in measured {
            let (half, count) = (libm::expm1(repeats.reach()), repeats.count as usize);
            look.widths.push(Width { task: task.id.clone(), configuration, half, repeats: count });
            known.push((configuration, repeats));
        }
    }
    look.widths.sort_by(|a, b| b.half.total_cmp(&a.half));
    match precision {
        None => look.further.fill(Sampling::MOST_IN_BUDGET),
        Some(target) => {
            look.further = forecast::further(&known, count, libm::log1p(target), run.plan.most_repeats());
            let family = Family::new(&figures, &options);
            let mut pairs = Vec::new();
            for (task, _) in tests() {
                let Some(series) = figures.tasks[task].main() else { continue };
                let Some(judged) = family.find(task, series.metric.id) else { continue };
                let shared = |pair: &Pair| series.log_ratios(pair.left, pair.right).len() as u32;
                pairs.extend(judged.pairs.iter().map(|pair| (pair, shared(pair))));
            }
            let known = |(pair, shared): &(&Pair, u32)| Variance {
                value: pair.tested.error.powi(2) * f64::from(*shared),
                df: pair.tested.df,
            };
            let strengths = prior(&pairs.iter().map(known).collect::<Vec<_>>());
            for pair in &pairs {
                let further = of_pair(pair, known(pair), strengths, target);
                for one in [pair.0.left, pair.0.right] {
                    look.further[one] = look.further[one].max(further);
                }
            }
        }
    }
    look
}

/// Why a run whose planned cells have all ended needs no other repeat, whatever time it has.
pub fn ended(run: &RunRecord, look: &Look) -> Option<WhyEnded> {
    match () {
        () if look.is_settled() => Some(WhyEnded::Settled),
        () if run.plan.repeats >= run.plan.most_repeats() => Some(WhyEnded::Most),
        () => None,
    }
}

/// How long cells take, by those that have ended.
pub struct Pace {
    /// Seconds of the run for a second of a cell: less than 1 if cells run side by side, more if there is work between.
    rate: f64,
    of: BTreeMap<String, f64>,
    mean: f64,
}

impl Pace {
    /// `used`: seconds of the run so far. `None` before a cell has ended.
    pub fn new(run: &RunRecord, used: f64) -> Option<Pace> {
        let mut of: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for cell in &run.cells {
            let seconds = (cell.ended.0 - cell.started.0).max(0) as f64 / 1000.0;
            of.entry(cell.configuration.clone()).or_default().push(seconds);
        }
        let sum: f64 = of.values().flatten().sum();
        let mean = sum / run.cells.len() as f64;
        let of = of.into_iter().filter_map(|(name, seconds)| Some((name, summary::mean(&seconds)?))).collect();
        (sum > 0.0 && used > 0.0).then_some(Pace { rate: used / sum, of, mean })
    }

    /// Seconds for one cell of each.
    pub fn seconds<'a>(&self, names: impl Iterator<Item = &'a str>) -> f64 {
        names.map(|name| self.rate * self.of.get(name).unwrap_or(&self.mean)).sum()
    }
}

/// Seconds that the rest of a run is likely to take after `used` seconds: its planned cells, then the repeats that
/// configurations need still, but no longer than its budget. `None` before a cell has ended, and before any width is
/// known.
pub fn left(run: &RunRecord, look: &Look, used: f64) -> Option<f64> {
    let pace = Pace::new(run, used)?;
    let sampling = run.plan.sampling.as_ref();
    let has_target = sampling.is_some_and(|sampling| sampling.precision.is_some());
    if has_target && look.widths.iter().all(|width| width.half.is_infinite()) {
        return None;
    }
    let most = run.plan.most_repeats();
    let of = |(name, further): (&String, &u32)| {
        let planned = run.plan.cells.iter().filter(|cell| cell.configuration.name == *name).count() as u32;
        let is_own = |cell: &&CellRecord| cell.configuration == *name && run.plan.is_planned(cell.index);
        let done = run.cells.iter().filter(is_own).count() as u32;
        let needed = done.saturating_add(*further).min(most).max(planned) - done;
        f64::from(needed) * pace.seconds(std::iter::once(name.as_str()))
    };
    let seconds = look.configurations.iter().zip(&look.further).map(of).sum::<f64>();
    let budget = sampling.and_then(|sampling| sampling.budget);
    Some(budget.map_or(seconds, |budget| seconds.min((budget - used).max(0.0))))
}

/// A configuration's figures; `None` if there are none, or some are 0. `devices`: that of each block.
fn repeats(series: &Series, configuration: usize, devices: &[usize]) -> Option<Repeats> {
    let mut logs = vec![Vec::new(); devices.iter().max()? + 1];
    for (value, device) in series.blocks[configuration].iter().zip(devices) {
        match value {
            Some(value) if *value > 0.0 => logs[*device].push(libm::log(*value)),
            Some(_) => return None,
            None => {}
        }
    }
    Some(Repeats::new(&logs)).filter(|repeats| repeats.count > 0)
}

/// The number of further shared repeats that are likely to settle a pair, whose ratio varies as is `known`.
fn of_pair((pair, shared): &(&Pair, u32), known: Variance, strengths: Option<Prior>, target: f64) -> u32 {
    if known.value == 0.0 || pair.tested.adjusted <= CLEAR && pair.mean != 0.0 {
        return 0;
    }
    let (target, shared) = (libm::log1p(target) * SQRT_2, *shared);
    let usual = forecast::expected(known, strengths);
    first(shared, |all| {
        // Degrees of freedom grow with the repeats.
        let df = known.df * f64::from(all - 1) / f64::from(shared - 1);
        let part = f64::from(shared) / f64::from(all);
        let variance = known.value * part + usual * (1.0 - part);
        t_quantile(1.0 - LEVEL, df) * (variance / f64::from(all)).sqrt() <= target
    }) - shared
}

/// The first number from `from` on that is enough, if all after it are.
fn first(from: u32, is_enough: impl Fn(u32) -> bool) -> u32 {
    let (mut least, mut most) = (from, Sampling::MOST_IN_BUDGET.max(from));
    if is_enough(from) {
        return from;
    }
    while least + 1 < most {
        let middle = least.midpoint(most);
        if is_enough(middle) { most = middle } else { least = middle }
    }
    most.max(from + 1)
}
