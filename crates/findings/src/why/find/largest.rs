//! The largest differences of a run.

use crate::figures::find::MetricFindings;
use crate::found::Findings;

/// A task's best and worst configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    pub task: String,
    /// What the task is judged by.
    pub metric: &'static str,
    /// Indices of configurations.
    pub best: usize,
    pub worst: usize,
    /// How many times the worst median is worse than the best.
    pub times: f64,
}

/// The tasks with the largest factor between their best and worst configuration, largest first; of those that `has_time`,
/// with differences that matter.
pub fn largest(findings: &Findings, count: usize, has_time: &dyn Fn(&str) -> bool) -> Vec<Gap> {
    let gap = |task: &str, found: &MetricFindings| {
        let times = (0..findings.configurations.len()).filter_map(|at| Some((at, found.times_best(at)?)));
        let times: Vec<(usize, f64)> = times.collect();
        let best = times.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let worst = times.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (worst.1 >= 1.0 + findings.matters).then(|| Gap {
            task: task.to_owned(),
            metric: found.metric.id,
            best: best.0,
            worst: worst.0,
            times: worst.1,
        })
    };
    let tasks = findings.tasks.iter().filter(|task| has_time(&task.id));
    let mut gaps: Vec<Gap> = tasks.filter_map(|task| gap(&task.id, task.judged()?)).collect();
    gaps.sort_by(|a, b| b.times.total_cmp(&a.times));
    gaps.truncate(count);
    gaps
}
