//! Curves over the parameter that a plan varies, and their cliffs.
//!
//! Each task, by the metric that judges it, has one line for each configuration. What chance gives two neighbours is from
//! the differences between them within repeats, which have the same seed: their variances over the whole line are one,
//! and Student's t bounds all steps of a run together: smooth curves with up to 15 % of noise have a cliff in at most 0.5 %
//! from 2 repeats on. One repeat shows nothing under wall time. In a lab with an exact clock it is exact for its seed, but
//! seeds differ too: with 15 % between them one smooth curve in eight has a cliff in one repeat, with 5 % one in a hundred.

use mountmark_model::{Metric, Vary, VaryPoint};
use mountmark_record::RunRecord;
use mountmark_stats::cliff;
use mountmark_stats::distribution::t_quantile;
use mountmark_stats::summary::{mean, variance};
use serde::Serialize;

use crate::figures::find::metric_id;
use crate::figures::find::series::{Figures, Series, Task, log_ratios};

/// Probability that a run without cliffs has one by chance alone.
const ERROR: f64 = 0.01;

/// Curves over the parameter that the plan varies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curves {
    /// `ram`, `scale`, `disk-size`, or a parameter of the suite.
    pub parameter: String,
    /// Ascending.
    pub points: Vec<VaryPoint>,
    /// In task order, steps included.
    pub curves: Vec<Curve>,
}

/// One task by the metric that judges it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// Without its point.
    pub task: String,
    /// The task's title.
    pub title: String,
    /// Whether it is a protocol step, not part of the suite.
    pub step: bool,
    /// Metric id.
    #[serde(serialize_with = "metric_id")]
    pub metric: &'static Metric,
    /// Medians by configuration, then by point.
    pub medians: Vec<Vec<Option<f64>>>,
    /// Where it has steps.
    pub cliffs: Vec<Cliff>,
    /// Lines in which no cliff could be found, by configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unsearched: Vec<Unsearched>,
}

/// A line in which no cliff can be found, however steep it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Unsearched {
    /// Index of the configuration.
    pub configuration: usize,
    /// Why its steps were not looked for.
    pub why: WhyUnsearched,
}

/// Why the steps of a curve were not looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhyUnsearched {
    /// Fewer than three points have figures.
    FewPoints,
    /// Nothing tells what chance gives two neighbours.
    OneRepeat,
}

/// A step of a line far above its trend and the spread of its repeats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cliff {
    /// Index of the configuration.
    pub configuration: usize,
    /// Index of the last point before it.
    pub from: usize,
    /// Index of the first point after it.
    pub to: usize,
    /// The median after it over that before.
    pub factor: f64,
}

/// One task at all points, those without figures included.
struct Line<'a> {
    id: &'a str,
    tasks: Vec<Option<&'a Task>>,
    metric: &'static Metric,
}

pub(crate) fn curves(run: &RunRecord, vary: &Vary, figures: &Figures) -> Curves {
    let lines = lines(run, vary, figures);
    let steps = lines.len() * figures.configurations.len() * vary.points.len().saturating_sub(1);
    let error = ERROR / steps.max(1) as f64;
    let exact = run.plan.lab.capabilities().exact_clock;
    let curve = |line: &Line| {
        let mut curve = Curve {
            task: line.id.to_owned(),
            title: line.title(),
            step: line.tasks.iter().flatten().any(|task| task.step),
            metric: line.metric,
            medians: (0..figures.configurations.len()).map(|one| line.medians(one)).collect(),
            cliffs: Vec::new(),
            unsearched: Vec::new(),
        };
        for configuration in 0..figures.configurations.len() {
            match line.cliffs(vary, configuration, error, exact) {
                Ok(cliffs) => curve.cliffs.extend(cliffs),
                Err(why) => curve.unsearched.push(Unsearched { configuration, why }),
            }
        }
        curve
    };
    Curves { parameter: vary.parameter.clone(), points: vary.points.clone(), curves: lines.iter().map(curve).collect() }
}

fn lines<'a>(run: &RunRecord, vary: &Vary, figures: &'a Figures) -> Vec<Line<'a>> {
    let mut out: Vec<Line> = Vec::new();
    for task in &figures.tasks {
        let (id, Some(point)) = run.plan.of_recorded(&task.id) else { continue };
        let Some(main) = task.main() else { continue };
        let at = out.iter().position(|line| line.id == id).unwrap_or_else(|| {
            out.push(Line { id, tasks: vec![None; vary.points.len()], metric: main.metric });
            out.len() - 1
        });
        out[at].tasks[point] = Some(task);
    }
    out
}

impl Line<'_> {
    /// The title if it is the same at all points: titles state counts and sizes, which may vary.
    fn title(&self) -> String {
        let mut titles = self.tasks.iter().flatten().filter(|task| !task.step).map(|task| task.title.as_str());
        let first = titles.next().unwrap_or(self.id);
        if titles.all(|other| other == first) { first.to_owned() } else { self.id.to_owned() }
    }

    fn series(&self, point: usize) -> Option<&Series> {
        self.tasks[point]?.series.iter().find(|series| series.metric.id == self.metric.id)
    }

    fn medians(&self, configuration: usize) -> Vec<Option<f64>> {
        (0..self.tasks.len()).map(|point| self.series(point)?.median(configuration)).collect()
    }

    fn cliffs(&self, vary: &Vary, configuration: usize, error: f64, exact: bool) -> Result<Vec<Cliff>, WhyUnsearched> {
        let medians = self.medians(configuration);
        let known = |(point, median): (usize, &Option<f64>)| median.filter(|one| *one > 0.0).map(|one| (point, one));
        let known: Vec<(usize, f64)> = medians.iter().enumerate().filter_map(known).collect();
        let places: Vec<usize> = known.iter().map(|(point, _)| *point).collect();
        if places.len() < cliff::FEWEST {
            return Err(WhyUnsearched::FewPoints);
        }
        let noise = self.noise(configuration, &places, error).or(exact.then_some(0.0));
        let noise = noise.ok_or(WhyUnsearched::OneRepeat)?;
        let ln = |value: f64| (value > 0.0).then(|| libm::log(value));
        let points: Vec<_> =
            known.iter().map(|(point, median)| (ln(vary.points[*point].value), libm::log(*median))).collect();
        let cliff = |(from, to): (usize, usize)| Cliff {
            configuration,
            from: places[from],
            to: places[to],
            factor: known[to].1 / known[from].1,
        };
        Ok(cliff::cliffs(&points, noise).into_iter().map(cliff).collect())
    }

    /// The difference of logarithms that chance gives two neighbours; `None` without repeats.
    fn noise(&self, configuration: usize, places: &[usize], error: f64) -> Option<f64> {
        let differences: Vec<Vec<f64>> =
            places.windows(2).filter_map(|pair| self.differences(configuration, pair[0], pair[1])).collect();
        let variances: Vec<f64> = differences.iter().filter_map(|found| variance(found)).collect();
        let df: usize = differences.iter().map(|found| found.len().saturating_sub(1)).sum();
        let fewest = differences.iter().map(Vec::len).filter(|n| *n > 1).min()?;
        Some(t_quantile(error, df as f64) * libm::sqrt(mean(&variances)? / fewest as f64))
    }

    fn differences(&self, configuration: usize, from: usize, to: usize) -> Option<Vec<f64>> {
        let [from, to] = [from, to].map(|point| Some(&self.series(point)?.blocks[configuration]));
        Some(log_ratios(to?, from?))
    }
}
