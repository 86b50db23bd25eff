//! How speed moves over the levels of a factor: kernels in a row, and from which to which a task became slower.
//!
//! A line is one configuration at all levels of a factor. Each level is compared with the one before it, all of a run as
//! one family (`verdicts::find::contrast`).

use mountmark_stats::summary::mean;
use serde::Serialize;

use super::lacking::{is_speed, main_series};
use super::{Design, Gain, judged_together, ratios};
use crate::figures::find::series::{Figures, Series};
use crate::options::Options;

/// Levels from which on a factor has a curve: two are one comparison.
const FEWEST: usize = 3;

/// The lines of one task over a factor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelCurve {
    /// Index of [`super::Effects::factors`].
    pub factor: usize,
    /// `None`: the geometric mean over all tasks.
    pub task: Option<String>,
    /// In the order of configurations.
    pub lines: Vec<LevelLine>,
}

/// One configuration at all levels of a factor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelLine {
    /// The configuration without the factor's level: `ext4`.
    pub configuration: String,
    /// Speed at each level over that at the first that has figures; `None` where it has none.
    pub speeds: Vec<Option<f64>>,
    /// Changes from one level to the next, as far as they are shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// A change from one level to the next that has figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Index of the level before it.
    pub from: usize,
    /// Index of the level after it.
    pub to: usize,
    /// Speed after it over speed before it.
    pub gain: Gain,
}

/// A line before its steps are tested.
struct Course {
    configuration: String,
    speeds: Vec<Option<f64>>,
    /// The levels of each step, and logarithms of the speed after it over that before it, by block.
    steps: Vec<(usize, usize, Vec<f64>)>,
}

/// By factor, then all tasks together, then by task.
pub(super) fn curves(design: &Design, figures: &Figures, options: &Options) -> Vec<LevelCurve> {
    let tasks: Vec<(&str, &Series)> = main_series(figures).collect();
    let mut all = Vec::new();
    for factor in design.given().filter(|factor| design.factors[*factor].levels.len() >= FEWEST) {
        let rows = rows(design, figures, factor);
        let courses = |series: &[&Series]| rows.iter().map(|row| Course::of(row, series)).collect();
        let series: Vec<&Series> = tasks.iter().map(|(_, series)| *series).filter(|series| is_speed(series)).collect();
        if series.len() > 1 {
            all.push((factor, None, courses(&series)));
        }
        all.extend(tasks.iter().map(|(task, series)| (factor, Some((*task).to_owned()), courses(&[series]))));
    }
    tested(all, options)
}

/// A configuration without the factor's level, and its positions by level.
type Row = (String, Vec<Option<usize>>);

impl Course {
    /// Over one task, or the geometric means over several, at levels where all have figures.
    fn of((configuration, row): &Row, tasks: &[&Series]) -> Course {
        let between = |one: usize, other: usize| {
            let of_tasks: Vec<Vec<f64>> = tasks.iter().map(|series| ratios(series, [one, other])).collect();
            let blocks = of_tasks.iter().map(Vec::len).min().unwrap_or(0);
            let block = |at: usize| mean(&of_tasks.iter().map(|blocks| blocks[at]).collect::<Vec<_>>());
            (0..blocks).filter_map(block).collect::<Vec<f64>>()
        };
        let known = row.iter().enumerate().filter_map(|(level, at)| Some((level, (*at)?)));
        let known: Vec<(usize, usize)> = known.filter(|(_, at)| !between(*at, *at).is_empty()).collect();
        let mut speeds = vec![None; row.len()];
        for (level, at) in &known {
            speeds[*level] = mean(&between(*at, known[0].1)).map(libm::exp);
        }
        let step = |pair: &[(usize, usize)]| (pair[0].0, pair[1].0, between(pair[1].1, pair[0].1));
        Course { configuration: configuration.clone(), speeds, steps: known.windows(2).map(step).collect() }
    }
}

/// Configurations that differ in the factor's level alone, by level.
fn rows(design: &Design, figures: &Figures, factor: usize) -> Vec<Row> {
    let mut out: Vec<(Vec<usize>, String, Vec<Option<usize>>)> = Vec::new();
    let levels = design.factors[factor].levels.len();
    for (at, own) in design.levels.iter().enumerate() {
        let Some(own) = own else { continue };
        let others: Vec<usize> =
            own.iter().enumerate().filter(|(one, _)| *one != factor).map(|(_, level)| *level).collect();
        let place = out.iter().position(|(known, ..)| *known == others).unwrap_or_else(|| {
            out.push((others, design.named(&figures.configurations[at], own, factor), vec![None; levels]));
            out.len() - 1
        });
        out[place].2[own[factor]] = Some(at);
    }
    out.into_iter().map(|(_, name, row)| (name, row)).collect()
}

/// Tests each level beside the one before it.
fn tested(all: Vec<(usize, Option<String>, Vec<Course>)>, options: &Options) -> Vec<LevelCurve> {
    let mut family: Vec<(usize, &[f64])> = Vec::new();
    for (stratum, (.., courses)) in all.iter().enumerate() {
        let steps = courses.iter().flat_map(|course| &course.steps);
        family.extend(steps.map(|(.., ratios)| (stratum, ratios.as_slice())));
    }
    let mut gains = judged_together(&family, options).into_iter();
    let mut line = |course: Course| {
        let shown = |(from, to, _)| Some(Step { from, to, gain: gains.next().flatten().filter(|gain| gain.shown)? });
        let steps = course.steps.into_iter().filter_map(shown).collect();
        LevelLine { configuration: course.configuration, speeds: course.speeds, steps }
    };
    all.into_iter()
        .map(|(factor, task, courses)| LevelCurve { factor, task, lines: courses.into_iter().map(&mut line).collect() })
        .filter(|curve| curve.lines.iter().any(|line| line.speeds.iter().flatten().count() > 1))
        .collect()
}

impl Design {
    /// A configuration without a factor's level: its own name, and its levels of the other factors.
    fn named(&self, configuration: &str, own: &[usize], factor: usize) -> String {
        let bare = configuration.split('#').next().unwrap_or(configuration);
        let others = self.factors.iter().zip(own).enumerate().skip(2).filter(|(other, _)| *other != factor);
        let texts = others.map(|(_, (found, level))| format!(" {}", found.levels[*level]));
        std::iter::once(bare.to_owned()).chain(texts).collect()
    }
}
