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

/// The speed of each configuration of a run: of its tasks, each by what it is judged by.
pub fn speeds(run: &RunRecord) -> Result<Speeds, NoRatio> {
    speeds_at(run, None)
}

/// The same at a point of what the run varies, of which `text` is the value.
pub fn speeds_at(run: &RunRecord, text: Option<&str>) -> Result<Speeds, NoRatio> {
    let is_there = |task: &str| text.is_none_or(|text| task.strip_suffix(text).is_some_and(|id| id.ends_with('@')));
    let figures = Figures::new(run, &Options { resamples: 0, ..Options::default() });
    let tasks = figures.tasks.iter().filter(|task| is_there(&task.id));
    let tasks: Vec<(&Task, &Series)> = tasks.filter_map(|task| Some((task, raced(task)?))).collect();
    let speed = |configuration: usize, block: usize| -> Result<Option<f64>, NoRatio> {
        let mut of_tasks = Vec::new();
        for (task, series) in &tasks {
            let Some(value) = series.blocks[configuration][block] else { return Ok(None) };
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

/// The figures of a task of the suite that are speeds. How much a power cut took is none.
fn raced(task: &Task) -> Option<&Series> {
    task.main().filter(|main| !task.step && main.metric.id != Metric::LOST.id)
}
