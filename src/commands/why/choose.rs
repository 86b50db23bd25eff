//! Which cells of a run are to be explained.

use anyhow::{Result, bail};
use mountmark_model::{Cell, Metric, Outcome, Sample, protocol_task};
use mountmark_record::{CellRecord, RunRecord};

use crate::common::WrongUse;

/// A cell of a run, and what was recorded of it.
pub(super) struct Chosen<'a> {
    pub cell: &'a Cell,
    pub record: &'a CellRecord,
}

/// The cells of these configurations in a repeat, from 0 on; without any, the slowest and the fastest at the task.
///
/// # Errors
/// The run has no such task or configuration, the task failed there, or the lab has no profiler.
pub(super) fn choose<'a>(run: &'a RunRecord, task: &str, names: &[String], repeat: u32) -> Result<Vec<Chosen<'a>>> {
    let (id, plan) = (&run.id, &run.plan);
    if !plan.lab.nature().exact_clock {
        bail!(WrongUse(format!(
            "run {id} measured wall time in the {} lab, where a profiler would change what it looks at: use perf there \
             (perf record -a -g), or run the same in the virtual lab and explain that",
            plan.lab.name()
        )));
    }
    if plan.vary.is_some() {
        bail!(WrongUse(format!("run {id} has several points (--vary), and why explains runs of one point only")));
    }
    check_task(run, task)?;
    let mut wanted: Vec<&str> = Vec::new();
    for given in names {
        // A configuration's options may hold commas.
        let whole = plan.configurations.iter().any(|name| name == given);
        wanted.extend(if whole { vec![given.as_str()] } else { given.split(',').collect() });
    }
    if let Some(unknown) = wanted.iter().find(|name| !plan.configurations.iter().any(|known| known == *name)) {
        let all = plan.configurations.join(", ");
        bail!(WrongUse(format!("--fs: run {id} has no {unknown:?}; it has {all}")));
    }
    if wanted.is_empty() {
        wanted = extremes(run, task, repeat);
        if wanted.is_empty() {
            bail!(WrongUse(format!("run {id} has no figure of task {task} in repeat {}", repeat + 1)));
        }
    }
    wanted.dedup();
    wanted.into_iter().map(|name| one(run, task, name, repeat)).collect()
}

/// Refuses what is no task of the run with time of its own.
fn check_task(run: &RunRecord, task: &str) -> Result<()> {
    let plan = &run.plan;
    let steps = [protocol_task::MKFS, protocol_task::MOUNT, protocol_task::UMOUNT, protocol_task::FSCK];
    let planned = plan.cells.iter().flat_map(|cell| &cell.tasks).find(|planned| planned.id == task);
    if let Some(whole) = planned.and_then(|planned| planned.part_of.as_ref()) {
        bail!(WrongUse(format!("task {task} is a figure of task {whole}, and time went by in that: --task {whole}")));
    }
    if planned.is_some() || steps.contains(&task) {
        return Ok(());
    }
    let tasks: Vec<&str> = plan.tasks.iter().map(|(id, _)| id.as_str()).chain(steps).collect();
    bail!(WrongUse(format!(
        "--task: run {} is of suite {}, which has no task {task:?}; there are: {}",
        run.id,
        plan.suite,
        tasks.join(", ")
    )))
}

fn figure(record: &CellRecord, task: &str, metric: &Metric) -> Option<f64> {
    let is_it = |sample: &&Sample| sample.task == task && sample.iteration == 0 && sample.metric == metric.id;
    record.samples.iter().find(is_it).map(|sample| sample.value)
}

/// The slowest configuration and the fastest.
fn extremes<'a>(run: &'a RunRecord, task: &str, repeat: u32) -> Vec<&'a str> {
    let of_repeat = run.cells.iter().filter(|record| record.repeat == repeat);
    let mut found: Vec<(f64, &str)> = of_repeat
        .filter_map(|record| Some((figure(record, task, &Metric::DURABLE)?, record.configuration.as_str())))
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let fastest = found.last().copied();
    found.truncate(1);
    found.into_iter().chain(fastest).map(|(_, name)| name).collect()
}

fn one<'a>(run: &'a RunRecord, task: &str, name: &str, repeat: u32) -> Result<Chosen<'a>> {
    let id = &run.id;
    if let Some((_, reason)) = run.plan.skipped.iter().find(|(skipped, _)| skipped == name) {
        bail!(WrongUse(format!("{name} was left out of run {id}: {reason}")));
    }
    let record = run.cells.iter().find(|record| record.configuration == name && record.repeat == repeat);
    let cell = record.and_then(|record| run.plan.cells.iter().find(|cell| cell.index == record.index));
    let (Some(record), Some(cell)) = (record, cell) else {
        bail!(WrongUse(format!("run {id} has no cell of {name} in repeat {}", repeat + 1)));
    };
    let outcome = record.outcomes.iter().find(|outcome| outcome.task == task).map(|outcome| &outcome.outcome);
    match outcome {
        Some(Outcome::Failed { reason, .. }) => {
            bail!(WrongUse(format!("task {task} failed on {name} in run {id}, so that it has no time: {reason}")))
        }
        Some(Outcome::Skipped { reason }) => {
            bail!(WrongUse(format!("task {task} was left out on {name} in run {id}: {reason}")))
        }
        _ if figure(record, task, &Metric::ELAPSED).is_none() => {
            let reason = record.outcome.reason().unwrap_or("the cell ended before it");
            bail!(WrongUse(format!("run {id} has no figure of task {task} on {name}: {reason}")))
        }
        _ => Ok(Chosen { cell, record }),
    }
}
