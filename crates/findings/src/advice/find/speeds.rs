//! How fast a configuration is at a work: the mean over its tasks.

use std::collections::BTreeMap;

use mountmark_model::{Better, Metric};
use mountmark_record::RunRecord;
use mountmark_stats::summary::mean;

use crate::figures::find::series::{Figures, Series, Task};
use crate::options::Options;

/// Logarithms of speeds by configuration and repeat; `None` where a task has no figure.
pub type Speeds = BTreeMap<String, Vec<Option<f64>>>;

/// The speed of each configuration of a run: of its tasks, each by what it is judged by.
pub fn speeds(run: &RunRecord) -> Speeds {
    speeds_at(run, None)
}

/// The same at a point of what the run varies, of which `text` is the value.
pub fn speeds_at(run: &RunRecord, text: Option<&str>) -> Speeds {
    let is_there = |task: &str| text.is_none_or(|text| task.strip_suffix(text).is_some_and(|id| id.ends_with('@')));
    let figures = Figures::new(run, &Options { resamples: 0, ..Options::default() });
    let tasks: Vec<_> =
        figures.tasks.iter().filter(|task| is_there(&task.id)).filter_map(|task| Some(raced(task)?.1)).collect();
    let speed = |configuration: usize, block: usize| {
        let of_task = |series: &&Series| {
            let value = series.blocks[configuration][block].filter(|value| *value > 0.0)?;
            let sign = if series.metric.better == Better::Lower { -1.0 } else { 1.0 };
            Some(sign * libm::log(value))
        };
        mean(&tasks.iter().map(of_task).collect::<Option<Vec<f64>>>()?)
    };
    let of = |(at, name): (usize, &String)| {
        (name.clone(), (0..figures.blocks.len()).map(|block| speed(at, block)).collect())
    };
    figures.configurations.iter().enumerate().map(of).collect()
}

/// A task of the suite whose figures are speeds, with them. How much a power cut took is none.
fn raced(task: &Task) -> Option<(&Task, &Series)> {
    let main = task.main().filter(|main| !task.step && main.metric.id != Metric::LOST.id)?;
    Some((task, main))
}

/// The first task that is 0 on a configuration, and that configuration: 0 has no ratio to other figures, so nothing is faster.
pub fn without_ratio(run: &RunRecord) -> Option<(String, String)> {
    let figures = Figures::new(run, &Options { resamples: 0, ..Options::default() });
    figures.tasks.iter().filter_map(raced).find_map(|(task, main)| {
        let at = main.blocks.iter().position(|blocks| blocks.contains(&Some(0.0)))?;
        Some((task.id.clone(), figures.configurations[at].clone()))
    })
}
