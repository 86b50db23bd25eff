//! All figures of a metric over a study's tests, as lines: what articles draw.

use mountmark_model::{Figure, Metric, protocol_task};

use crate::group::each_once;
use crate::studies::find::compare::Sides;

/// Fewest file systems with a published figure for a test to be drawn, and fewest such tests.
const FEWEST: usize = 2;

/// One metric in one unit, on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    pub metric: &'static Metric,
    /// Ids and titles of the tests with published figures, in the study's order.
    pub tests: Vec<(String, String)>,
    /// One line for each file system of the study, in its order.
    pub published: Vec<Line>,
    /// One line for each configuration of the run with such figures: means over repeats.
    pub measured: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub fs: String,
    /// By test.
    pub values: Vec<Option<f64>>,
}

impl Curves {
    /// The figures of all file systems on both sides.
    pub fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.published.iter().chain(&self.measured).flat_map(|line| line.values.iter().flatten().copied())
    }
}

impl Sides<'_> {
    /// By metric, and by unit where a study prints a metric in several.
    pub(crate) fn curves(&self, same_suite: bool) -> Vec<Curves> {
        let figures = || self.study.figures.iter().filter(|figure| figure.run == self.theirs.id);
        let mut out = Vec::new();
        for metric in Metric::ALL {
            let of_metric = |figure: &&Figure| figure.metric == metric.id && figure.point().is_some();
            for unit in each_once(figures().filter(of_metric).map(|figure| figure.unit.as_str())) {
                let has = |task: &&str| {
                    let of_task = figures().filter(of_metric).filter(|f| f.task == **task && f.unit == unit);
                    of_task.count() >= FEWEST
                };
                let tasks: Vec<&str> = self.tasks().into_iter().filter(has).collect();
                out.extend((tasks.len() >= FEWEST).then(|| self.curve(metric, unit, &tasks, same_suite)));
            }
        }
        out
    }

    fn curve(&self, metric: &'static Metric, unit: &str, tasks: &[&str], same_suite: bool) -> Curves {
        let measured = |fs: &String, task: &str| {
            let comparable = same_suite || protocol_task::is_step(task);
            self.measured.mean(fs, task, metric.id).filter(|_| comparable)
        };
        let published = |fs: &String, task: &str| self.published.mean(fs, task, metric.id);
        Curves {
            metric: metric.in_unit(unit),
            tests: tasks.iter().map(|task| ((*task).to_owned(), self.title(task))).collect(),
            published: lines(&self.theirs.filesystems, tasks, published),
            measured: lines(&self.measured.filesystems, tasks, measured),
        }
    }
}

/// A line for each file system with a figure.
fn lines(names: &[String], tasks: &[&str], figure: impl Fn(&String, &str) -> Option<f64>) -> Vec<Line> {
    let line = |fs: &String| Line { fs: fs.clone(), values: tasks.iter().map(|task| figure(fs, task)).collect() };
    names.iter().map(line).filter(|line| line.values.iter().any(Option::is_some)).collect()
}
