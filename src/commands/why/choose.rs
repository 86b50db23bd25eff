//! Which cells of runs are to be explained.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use mountmark_cells::PlannedCell;
use mountmark_findings::changes::{Incomparable, incomparable};
use mountmark_model::{Metric, Outcome, heading, protocol_task};
use mountmark_record::{CellRecord, RunRecord};

use crate::common::{self, WrongUse};

/// A cell of a run, and what was recorded of it.
#[derive(Clone, Copy)]
pub(in crate::commands) struct Chosen<'a> {
    pub run: &'a RunRecord,
    pub cell: &'a PlannedCell,
    pub record: &'a CellRecord,
}

/// The cells of these configurations in a repeat, from 0 on; without any, the slowest and the fastest at the task.
///
/// # Errors
/// The run has no such task or configuration, the task failed there, or the lab has no profiler.
pub(super) fn choose<'a>(run: &'a RunRecord, task: &str, names: &[String], repeat: u32) -> Result<Vec<Chosen<'a>>> {
    check(run, task)?;
    let mut wanted = split(names, &[run]);
    if wanted.is_empty() {
        wanted = extremes(run, task, repeat).into_iter().map(str::to_owned).collect();
        if wanted.is_empty() {
            bail!(WrongUse(format!("run {} has no figure of task {task} in repeat {}", run.id, repeat + 1)));
        }
    }
    wanted.dedup();
    wanted.iter().map(|name| one(run, task, name, repeat)).collect()
}

/// The cells of one configuration in two runs, and why it was chosen if the user named none. Two names are one of each run.
///
/// # Errors
/// As [`choose`]; or the runs are not of the same work, or have no configuration in common.
pub(in crate::commands) fn pair<'a>(
    [before, after]: [&'a RunRecord; 2],
    task: &str,
    names: &[String],
    repeat: u32,
) -> Result<([Chosen<'a>; 2], Option<String>)> {
    let runs = [before, after];
    if before.name() == after.name() {
        bail!(WrongUse(format!(
            "both are run {}: name two runs, or one and several file systems (--fs)",
            before.name()
        )));
    }
    runs.iter().try_for_each(|run| check(run, task))?;
    // Other tasks may do other work.
    let is_other = |reason: &Incomparable| match reason {
        Incomparable::Works(tasks) => tasks.iter().any(|one| one == task),
        _ => true,
    };
    if let Some((_, sentence)) = common::other_work(before, after)
        && incomparable(before, after).iter().any(is_other)
    {
        bail!(WrongUse(sentence));
    }
    let of = |names: [&str; 2]| anyhow::Ok([one(before, task, names[0], repeat)?, one(after, task, names[1], repeat)?]);
    match split(names, &runs).as_slice() {
        [] => {}
        [name] => return Ok((of([name, name])?, None)),
        [first, second] => return Ok((of([first, second])?, None)),
        more => bail!(WrongUse(format!(
            "--fs names {} configurations: of two runs one is explained, by its name in both or by its name in each",
            more.len()
        ))),
    }
    let changes = |name: &String| -> Option<(f64, String)> {
        let durable = |run: &RunRecord| {
            let of_repeat = |record: &&CellRecord| record.repeat == repeat && record.configuration == *name;
            run.cells.iter().find(of_repeat)?.figure(task, &Metric::DURABLE).filter(|time| *time > 0.0)
        };
        Some(((durable(after)? / durable(before)?).ln().abs(), name.clone()))
    };
    let changes: Vec<(f64, String)> = before.plan.configurations.iter().filter_map(changes).collect();
    let most = changes.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    match (most, before.plan.configurations.as_slice(), after.plan.configurations.as_slice()) {
        (Some((_, name)), ..) => {
            let told =
                (changes.len() > 1).then(|| mountmark_findings::why::say::changed_most(name, changes.len(), task));
            Ok((of([name, name])?, told))
        }
        (None, [first], [second]) => Ok((of([first, second])?, None)),
        (None, first, second) => bail!(WrongUse(format!(
            "runs {} and {} have no configuration in common with figures of task {task} in repeat {}: name one of each run \
             (--fs ONE,OTHER); the first has {}, the second {}",
            before.id,
            after.id,
            repeat + 1,
            first.join(", "),
            second.join(", ")
        ))),
    }
}

/// What was given, at commas that are not within the name of a configuration of these runs. A heading stands for the one
/// configuration that has it.
fn split(given: &[String], runs: &[&RunRecord]) -> Vec<String> {
    let named = |given: String| {
        let all = runs.iter().flat_map(|run| &run.plan.configurations);
        let found: BTreeSet<&String> = all.filter(|name| heading(name) == given).collect();
        match found.first() {
            Some(name) if found.len() == 1 => (*name).clone(),
            _ => given,
        }
    };
    // A configuration's options may hold commas.
    let is_whole = |name: &String| runs.iter().any(|run| run.plan.configurations.contains(name));
    let names = |given: &String| match is_whole(given) {
        true => vec![given.clone()],
        false => given.split(',').map(str::to_owned).collect(),
    };
    given.iter().flat_map(names).map(named).collect()
}

/// Refuses runs without a profiler, and what is no task of a run with time of its own.
fn check(run: &RunRecord, task: &str) -> Result<()> {
    check_run(run)?;
    check_task(run, task)
}

/// Refuses runs that the profiler cannot make again.
pub(in crate::commands) fn check_run(run: &RunRecord) -> Result<()> {
    let (id, plan) = (&run.id, &run.plan);
    if !plan.lab.capabilities().exact_clock {
        bail!(WrongUse(format!(
            "run {id} measured wall time in the {} lab, where a profiler would change what it looks at: use perf there \
             (perf record -a -g), or run the same in the virtual lab and explain that",
            plan.lab.name()
        )));
    }
    if plan.vary.is_some() {
        bail!(WrongUse(format!("run {id} has several points (--vary), and why explains runs of one point only")));
    }
    Ok(())
}

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

/// The slowest configuration and the fastest.
fn extremes<'a>(run: &'a RunRecord, task: &str, repeat: u32) -> Vec<&'a str> {
    let of_repeat = run.cells.iter().filter(|record| record.repeat == repeat);
    let mut found: Vec<(f64, &str)> = of_repeat
        .filter_map(|record| Some((record.figure(task, &Metric::DURABLE)?, record.configuration.as_str())))
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let fastest = found.last().copied();
    found.truncate(1);
    found.into_iter().chain(fastest).map(|(_, name)| name).collect()
}

/// The cell of a configuration in a repeat, whose task has a time.
pub(in crate::commands) fn one<'a>(run: &'a RunRecord, task: &str, name: &str, repeat: u32) -> Result<Chosen<'a>> {
    let id = &run.id;
    if !run.plan.configurations.iter().any(|known| known == name) {
        let all = run.plan.configurations.join(", ");
        bail!(WrongUse(format!("--fs: run {id} has no {name:?}; it has {all}")));
    }
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
        _ if record.figure(task, &Metric::ELAPSED).is_none() => {
            let reason = record.outcome.reason().unwrap_or("the cell ended before it");
            bail!(WrongUse(format!("run {id} has no figure of task {task} on {name}: {reason}")))
        }
        _ => Ok(Chosen { run, cell, record }),
    }
}
