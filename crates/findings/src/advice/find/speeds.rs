//! How fast a configuration is at a work: the mean over its tasks.

use std::collections::BTreeMap;

use mountmark_model::{Better, Metric};
use mountmark_record::RunRecord;
use mountmark_stats::summary::mean;

use crate::figures::find::series::{Figures, Series, Task};
use crate::options::Options;

/// Logarithms of speeds by configuration and repeat; `None` where a task has no figure.
pub type Speeds = BTreeMap<String, Vec<Option<f64>>>;

/// A figure without a ratio to others.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error(
    "{task} is 0 on {configuration}, and 0 has no ratio to other figures: nothing can be said to be faster; judge a number that is \
     never 0, or leave out what is judged by it"
)]
pub struct NoRatio {
    /// The task.
    pub task: String,
    /// The configuration on which it is 0.
    pub configuration: String,
}

/// The speed of each configuration of a run: of its tasks, each by what it is judged by, but not of `unmeasured` ones.
pub fn speeds(run: &RunRecord, unmeasured: &[Unmeasured]) -> Result<Speeds, NoRatio> {
    speeds_at(run, None, unmeasured)
}

/// The same at a point of what the run varies, of which `text` is the value.
pub fn speeds_at(run: &RunRecord, text: Option<&str>, unmeasured: &[Unmeasured]) -> Result<Speeds, NoRatio> {
    let of_point = |id: &str| match text {
        Some(text) => id.strip_suffix(text).and_then(|id| id.strip_suffix('@')).map(str::to_owned),
        None => Some(id.to_owned()),
    };
    let is_asked =
        |task: &&Task| of_point(&task.id).is_some_and(|id| unmeasured.iter().all(|unmeasured| unmeasured.task != id));
    let figures = Figures::new(run, &Options { resamples: 0, ..Options::default() });
    let tasks: Vec<(&Task, Option<&Series>)> =
        figures.tasks.iter().filter(is_raced).filter(is_asked).map(|task| (task, task.main())).collect();
    let speed = |configuration: usize, block: usize| -> Result<Option<f64>, NoRatio> {
        let mut of_tasks = Vec::new();
        for (task, series) in &tasks {
            let series = series.as_ref();
            let Some((series, value)) = series.and_then(|one| Some((one, one.blocks[configuration][block]?))) else {
                return Ok(None);
            };
            if value == 0.0 {
                return Err(NoRatio {
                    task: task.id.clone(),
                    configuration: figures.configurations[configuration].clone(),
                });
            }
            let sign = if series.metric.better == Better::Lower { -1.0 } else { 1.0 };
            of_tasks.push(sign * libm::log(value));
        }
        Ok(mean(&of_tasks))
    };
    let of = |(at, name): (usize, &String)| {
        Ok((name.clone(), (0..figures.blocks.len()).map(|block| speed(at, block)).collect::<Result<_, _>>()?))
    };
    figures.configurations.iter().enumerate().map(of).collect()
}

/// Whether the figures of a task are speeds. How much a power cut took is none.
fn is_raced(task: &&Task) -> bool {
    !task.step && !task.in_parts && task.main().is_none_or(|main| main.metric.id != Metric::LOST.id)
}

/// A task of the suite without a figure on any configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmeasured {
    /// Its id.
    pub task: String,
    /// Why, in the first cell that says so.
    pub reason: Option<String>,
}

/// The tasks of a run without a figure on any configuration: nothing can be said of them.
pub fn unmeasured(run: &RunRecord) -> Vec<Unmeasured> {
    let figures = Figures::new(run, &Options { resamples: 0, ..Options::default() });
    let reason = |task: &Task| {
        let mut outcomes = run.cells.iter().flat_map(|cell| &cell.outcomes).filter(|one| one.task == task.id);
        outcomes.find_map(|one| Some(one.outcome.reason()?.to_owned()))
    };
    let without = figures.tasks.iter().filter(is_raced).filter(|task| task.main().is_none());
    without.map(|task| Unmeasured { task: task.id.clone(), reason: reason(task) }).collect()
}
