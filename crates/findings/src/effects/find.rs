//! Effects of factors, and where they depend on one another.
//!
//! Two configurations that differ in one factor alone are a pair. The effect of a level is the mean over its pairs with the
//! factor's first level of the logarithm of the ratio of speeds, computed in each block; the mean over blocks is tested as
//! verdicts are (`verdicts::find::contrast`), all effects of a run as one family. The interaction of two factors is the
//! difference of an effect between two levels of the other factor, tested likewise. That is the usual analysis of a
//! factorial experiment: R. A. Fisher, The Design of Experiments (1935), chapter VI; on ratios, since costs multiply.

pub(crate) mod curves;
mod lacking;
pub(crate) mod orders;

use std::collections::BTreeMap;

use mountmark_cells::Plan;
use mountmark_model::{Better, split};
use mountmark_stats::interval::Interval;
use mountmark_stats::summary::mean;
use serde::Serialize;

use crate::effects::find::curves::LevelCurve;
use crate::effects::find::lacking::{is_speed, main_series};
use crate::effects::find::orders::LevelOrders;
use crate::figures::find::series::{Figures, Series, log_ratios};
use crate::options::Options;
use crate::verdicts::find::contrast::{Contrast, Tested, test_at};

/// What the factors of a run change.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Effects {
    /// The factors; `file system` and `options` are among them where several are compared.
    pub factors: Vec<FoundFactor>,
    /// By task, and of all tasks together.
    pub tasks: Vec<TaskEffects>,
    /// What became of the orders of configurations at other levels of the factors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub orders: Vec<LevelOrders>,
    /// How speed moves over factors of three levels or more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<LevelCurve>,
    /// Tasks that are judged by what is no speed, such as bytes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub no_speeds: Vec<String>,
}

/// A factor, and its levels in the user's order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundFactor {
    /// `file system`, `options`, or the factor's own: `kernel`.
    pub name: String,
    /// As the user wrote them.
    pub levels: Vec<String>,
}

/// The effects on a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskEffects {
    /// `None`: the geometric mean over all tasks.
    pub task: Option<String>,
    /// In the order of factors and levels.
    pub effects: Vec<Effect>,
}

/// The effect of a level beside the factor's first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// Index of [`Effects::factors`].
    pub factor: usize,
    /// Index of its level.
    pub level: usize,
    /// Over all levels of the other factors.
    pub gain: Gain,
    /// By other factor and its level, where the other factor has several levels.
    pub at: Vec<EffectAt>,
    /// Configurations of this level that are no part of it, as they or those with the first level lack figures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// The effect of a level where another factor has one of its levels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EffectAt {
    /// Index of [`Effects::factors`].
    pub factor: usize,
    /// Index of its level.
    pub level: usize,
    /// The effect there.
    pub gain: Gain,
    /// Whether it is shown to be another than at the other factor's first level.
    pub differs: bool,
}

/// How much faster something is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// Speed with the level over speed with the factor's first: 1.08 is 8 % faster.
    pub ratio: f64,
    /// Its confidence interval; `None` with one repeat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// Whether it is shown and matters.
    pub shown: bool,
}

impl Gain {
    /// Of something beside itself.
    pub const NONE: Gain = Gain { ratio: 1.0, interval: None, shown: false };

    /// Of the other beside the one.
    pub fn inverse(self) -> Gain {
        let turned = |interval: Interval| Interval { low: 1.0 / interval.high, high: 1.0 / interval.low };
        Gain { ratio: 1.0 / self.ratio, interval: self.interval.map(turned), shown: self.shown }
    }
}

/// The effects of a run; `None` if nothing was crossed.
pub(crate) fn effects(plan: &Plan, figures: &Figures, options: &Options) -> Option<Effects> {
    let design = Design::of(plan, figures);
    if !design.is_crossed(plan) {
        return None;
    }
    let (mut found, mut of_tasks, mut no_speeds) = (Vec::new(), Vec::new(), Vec::new());
    for (task, series) in main_series(figures) {
        of_tasks.push((Some(task.to_owned()), design.measured(series)));
        no_speeds.extend((!is_speed(series)).then(|| task.to_owned()));
    }
    if of_tasks.len() > no_speeds.len() + 1 {
        let speeds = of_tasks.iter().zip(main_series(figures)).filter(|(_, (_, series))| is_speed(series));
        let together = together(&speeds.map(|((_, measured), _)| measured).collect::<Vec<_>>());
        of_tasks.push((None, together));
    }
    let (mut keys, mut contrasts) = (Vec::new(), Vec::new());
    for (stratum, (_, measured)) in of_tasks.iter().enumerate() {
        for (key, blocks) in measured {
            if let Some(contrast) = Contrast::paired(2 * stratum + usize::from(key.differs), blocks, 1.0) {
                keys.push((stratum, *key));
                contrasts.push(contrast);
            }
        }
    }
    let tested = test_at(&contrasts, options.level);
    let tested: BTreeMap<(usize, Key), (f64, Tested)> =
        keys.into_iter().zip(contrasts.iter().map(|contrast| contrast.mean).zip(tested)).collect();
    for (stratum, (task, measured)) in of_tasks.into_iter().enumerate() {
        let judged = |key: &Key| judged(measured.get(key)?, tested.get(&(stratum, *key)), options);
        let effects: Vec<Effect> = design.levels().filter_map(|level| design.effect(level, &judged)).collect();
        if !effects.is_empty() {
            found.push(TaskEffects { task, effects });
        }
    }
    lacking::note(&design, figures, &mut found);
    let orders = orders::orders(&design, figures, options);
    let curves = curves::curves(&design, figures, options);
    (!found.is_empty()).then_some(Effects { factors: design.factors, tasks: found, orders, curves, no_speeds })
}

/// An effect, of which blocks have one logarithm of a ratio each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    factor: usize,
    level: usize,
    /// The other factor and its level, if it is the effect there.
    at: Option<(usize, usize)>,
    /// Whether it is the difference from the effect at the other factor's first level.
    differs: bool,
}

/// The effects of one task, block by block.
type Measured = BTreeMap<Key, Vec<f64>>;

/// The geometric means over tasks, in the blocks that all have.
fn together(all: &[&Measured]) -> Measured {
    let Some(first) = all.first() else { return Measured::new() };
    let of_key = |key: &Key| {
        let of_tasks: Vec<&Vec<f64>> = all.iter().filter_map(|measured| measured.get(key)).collect();
        let blocks = of_tasks.iter().map(|blocks| blocks.len()).min()?;
        let block = |at: usize| mean(&of_tasks.iter().map(|blocks| blocks[at]).collect::<Vec<_>>());
        (of_tasks.len() == all.len()).then(|| (*key, (0..blocks).filter_map(block).collect()))
    };
    first.keys().filter_map(of_key).collect()
}

fn judged(blocks: &[f64], tested: Option<&(f64, Tested)>, options: &Options) -> Option<Gain> {
    let ratio = libm::exp(mean(blocks)?);
    let matters = (ratio - 1.0).abs() >= options.matters;
    let Some((mean, tested)) = tested else { return Some(Gain { ratio, interval: None, shown: false }) };
    let (low, high) = tested.around(*mean);
    let interval = Some(Interval { low: libm::exp(low), high: libm::exp(high) }).filter(|one| one.high.is_finite());
    Some(Gain { ratio, interval, shown: matters && tested.adjusted <= options.error() })
}

/// Judges the logarithms of ratios of each of a family, by stratum and block; `None` where there are none.
fn judged_together(all: &[(usize, &[f64])], options: &Options) -> Vec<Option<Gain>> {
    let contrasts: Vec<Option<Contrast>> =
        all.iter().map(|(stratum, blocks)| Contrast::paired(*stratum, blocks, 1.0)).collect();
    let means: Vec<Option<f64>> = contrasts.iter().map(|one| one.as_ref().map(|one| one.mean)).collect();
    let mut tested = test_at(&contrasts.into_iter().flatten().collect::<Vec<_>>(), options.level).into_iter();
    let gain = |((_, blocks), mean): (&(usize, &[f64]), Option<f64>)| {
        let tested = mean.and_then(|mean| Some((mean, tested.next()?)));
        judged(blocks, tested.as_ref(), options)
    };
    all.iter().zip(means).map(gain).collect()
}

/// The factors, and the level of each that a configuration has.
struct Design {
    factors: Vec<FoundFactor>,
    /// By configuration; `None` for one that is like another.
    levels: Vec<Option<Vec<usize>>>,
}

/// The names of the factors that configurations have by themselves.
pub(crate) const FILE_SYSTEM: &str = "file system";
pub(crate) const OPTIONS: &str = "options";
const DEFAULTS: &str = "defaults";

impl Design {
    fn of(plan: &Plan, figures: &Figures) -> Design {
        let mut factors = vec![
            FoundFactor { name: FILE_SYSTEM.into(), levels: Vec::new() },
            FoundFactor { name: OPTIONS.into(), levels: Vec::new() },
        ];
        let planned = plan.factors.iter().map(|factor| FoundFactor {
            name: factor.name.clone(),
            levels: factor.levels.iter().map(|level| level.text.clone()).collect(),
        });
        factors.extend(planned);
        let mut levels: Vec<Option<Vec<usize>>> = Vec::new();
        for name in &figures.configurations {
            let (side, bare) = plan.side(name).map_or((None, name.as_str()), |(side, bare)| (Some(side), bare));
            let (body, _) = bare.split_once('#').unwrap_or((bare, ""));
            // With its layers and their options, which are not crossed.
            let (own, layers) = body.split_at(split(body, '@')[0].len());
            let (filesystem, written) = own.split_once(':').unwrap_or((own, DEFAULTS));
            let filesystem = &format!("{filesystem}{layers}");
            let written = written.split('+').map(|part| part.strip_prefix("mount=").unwrap_or(part));
            let options = written.collect::<Vec<_>>().join("+");
            let mut own = vec![factors[0].at(filesystem), factors[1].at(&options)];
            own.extend(side.map(|side| plan.levels(side)).unwrap_or_default());
            let is_whole = own.len() == factors.len();
            levels.push(Some(own).filter(|own| is_whole && !levels.iter().flatten().any(|known| known == own)));
        }
        Design { factors, levels }
    }

    /// Whether factors were given, or options stand on several file systems.
    fn is_crossed(&self, plan: &Plan) -> bool {
        let with = |options: usize| self.levels.iter().flatten().filter(move |own| own[1] == options).count();
        let several = (1..self.factors[1].levels.len()).any(|options| with(options) > 1);
        !plan.factors.is_empty() || several && with(0) > 1
    }

    /// Factors that the user gave, beside those that configurations have by themselves.
    fn given(&self) -> impl Iterator<Item = usize> + '_ {
        let is_own = |found: &FoundFactor| [FILE_SYSTEM, OPTIONS].contains(&&*found.name);
        (0..self.factors.len()).filter(move |at| !is_own(&self.factors[*at]))
    }

    /// Factors whose effects are looked for, each with each level beside its first. Which file system is best is a
    /// question of its own.
    fn levels(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let factors = self.factors.iter().enumerate().skip(1);
        factors.flat_map(|(factor, found)| (1..found.levels.len()).map(move |level| (factor, level)))
    }

    fn measured(&self, series: &Series) -> Measured {
        let mut out = Measured::new();
        for (factor, level) in self.levels() {
            let pairs = self.pairs(factor, level, series);
            let of = |at: Option<(usize, usize)>| {
                let wanted = pairs.iter().filter(|(own, _)| at.is_none_or(|(other, level)| own[other] == level));
                blocks(&wanted.map(|(_, ratios)| ratios).collect::<Vec<_>>())
            };
            let mut put = |at, differs, blocks: Vec<f64>| {
                if !blocks.is_empty() {
                    out.insert(Key { factor, level, at, differs }, blocks);
                }
            };
            put(None, false, of(None));
            for (other, found) in self.factors.iter().enumerate().filter(|(other, _)| *other != factor) {
                let by_level: Vec<Vec<f64>> = (0..found.levels.len()).map(|level| of(Some((other, level)))).collect();
                if by_level.iter().filter(|blocks| !blocks.is_empty()).count() < 2 {
                    continue;
                }
                for (at, blocks) in by_level.iter().enumerate() {
                    put(Some((other, at)), false, blocks.clone());
                    if at > 0 && blocks.len() == by_level[0].len() {
                        let differences = blocks.iter().zip(&by_level[0]).map(|(here, first)| here - first).collect();
                        put(Some((other, at)), true, differences);
                    }
                }
            }
        }
        out
    }

    /// For each pair that differs in the factor alone its levels, and the logarithm of the ratio of speeds in each block.
    fn pairs<'a>(&'a self, factor: usize, level: usize, series: &Series) -> Vec<(&'a [usize], Vec<f64>)> {
        let mut out = Vec::new();
        for (at, own) in self.levels.iter().enumerate() {
            let Some(own) = own.as_deref().filter(|own| own[factor] == level) else { continue };
            let mut first = own.to_vec();
            first[factor] = 0;
            let Some(base) = self.levels.iter().position(|known| known.as_ref() == Some(&first)) else { continue };
            let ratios = ratios(series, [at, base]);
            if !ratios.is_empty() {
                out.push((own, ratios));
            }
        }
        out
    }

    fn effect(&self, (factor, level): (usize, usize), judged: &dyn Fn(&Key) -> Option<Gain>) -> Option<Effect> {
        let key = |at, differs| Key { factor, level, at, differs };
        let others = self.factors.iter().enumerate().filter(|(other, _)| *other != factor);
        let places = others.flat_map(|(other, found)| (0..found.levels.len()).map(move |level| (other, level)));
        let at = places.filter_map(|place| {
            let gain = judged(&key(Some(place), false))?;
            let differs = judged(&key(Some(place), true)).is_some_and(|gain| gain.shown);
            Some(EffectAt { factor: place.0, level: place.1, gain, differs })
        });
        Some(Effect { factor, level, gain: judged(&key(None, false))?, at: at.collect(), left_out: Vec::new() })
    }
}

impl FoundFactor {
    /// The position of a level, which is added if it is new.
    fn at(&mut self, level: &str) -> usize {
        self.levels.iter().position(|known| known == level).unwrap_or_else(|| {
            self.levels.push(level.to_owned());
            self.levels.len() - 1
        })
    }
}

/// Logarithms of the speed of the one configuration over that of the other, by block.
fn ratios(series: &Series, [one, other]: [usize; 2]) -> Vec<f64> {
    let (one, other) = (&series.blocks[one], &series.blocks[other]);
    match series.metric.better {
        Better::Lower => log_ratios(other, one),
        Better::Higher => log_ratios(one, other),
    }
}

/// The mean over pairs in each block; pairs without a figure in some block are left out if others have more.
fn blocks(pairs: &[&Vec<f64>]) -> Vec<f64> {
    let most = pairs.iter().map(|ratios| ratios.len()).max().unwrap_or(0);
    let whole: Vec<&&Vec<f64>> = pairs.iter().filter(|ratios| ratios.len() == most).collect();
    (0..most).filter_map(|at| mean(&whole.iter().map(|ratios| ratios[at]).collect::<Vec<_>>())).collect()
}
