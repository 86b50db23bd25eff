//! Everything, for programs.

use anyhow::Result;
use mountmark_model::{Bytes, Environment, Lab, Machine, Metric, Outcome, RealisedCorpus, Scale};
use mountmark_record::{CellRecord, RunId, RunRecord, RunStatus, Timestamp};
use serde::Serialize;

use crate::format::{Format, Options};

pub(crate) struct Json;

impl Format for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn about(&self) -> &'static str {
        "everything about a run: plan, environment, outcomes, every sample"
    }

    fn render(&self, run: &RunRecord, _: &Options) -> Result<String> {
        json(run)
    }
}

#[derive(Serialize)]
struct Head<'a> {
    run: &'a RunId,
    status: RunStatus,
    started: Timestamp,
    ended: Option<Timestamp>,
    mountmark: &'a str,
    command_line: &'a str,
    suite: &'a str,
    suite_about: &'a str,
    lab: Lab,
    clock: String,
    machine: &'a Machine,
    kernel: &'a str,
    scale: Scale,
    seed: u64,
    repeats: u32,
    decisions: &'a [String],
    tasks: Vec<Task<'a>>,
    configurations: Vec<Configuration<'a>>,
    planned_cells: usize,
    environment: &'a Environment,
}

#[derive(Serialize)]
struct Task<'a> {
    id: &'a str,
    title: &'a str,
}

#[derive(Serialize)]
struct Configuration<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    filesystem: Option<&'a str>,
    mkfs_options: &'a [String],
    mount_options: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<&'a str>,
}

#[derive(Serialize)]
struct Cell<'a> {
    cell: u32,
    configuration: &'a str,
    repeat: u32,
    seed: u64,
    disk: &'a str,
    disk_size: Bytes,
    started: Timestamp,
    ended: Timestamp,
    #[serde(flatten)]
    outcome: &'a Outcome,
    tasks: Vec<Ended<'a>>,
    notes: &'a [String],
    environment: &'a Environment,
    corpus: Option<&'a RealisedCorpus>,
}

#[derive(Serialize)]
struct Ended<'a> {
    task: &'a str,
    #[serde(flatten)]
    outcome: &'a Outcome,
}

#[derive(Serialize)]
struct Sample<'a> {
    cell: u32,
    configuration: &'a str,
    repeat: u32,
    task: &'a str,
    iteration: u32,
    metric: &'a str,
    unit: &'a str,
    value: f64,
}

/// A run as one JSON object: its head, `cells` with their outcomes, and `samples`, one a line. Numbers have as many
/// digits as it takes to read the same number back. The console logs stay in the store.
pub fn json(run: &RunRecord) -> Result<String> {
    let head = serde_json::to_string(&head(run))?;
    let mut out = head.strip_suffix('}').unwrap_or(&head).to_owned();
    out += ",\n\"cells\":[";
    for (index, cell) in run.cells.iter().enumerate() {
        out += if index == 0 { "\n" } else { ",\n" };
        out += &serde_json::to_string(&self::cell(cell))?;
    }
    out += "\n],\n\"samples\":[";
    let mut separator = "\n";
    for cell in &run.cells {
        for sample in &cell.samples {
            out += separator;
            separator = ",\n";
            out += &serde_json::to_string(&Sample {
                cell: cell.index,
                configuration: &cell.configuration,
                repeat: cell.repeat,
                task: &sample.task,
                iteration: sample.iteration,
                metric: &sample.metric,
                unit: Metric::find(&sample.metric).map_or("", Metric::unit_text),
                value: sample.value,
            })?;
        }
    }
    out += "\n]}\n";
    Ok(out)
}

fn head(run: &RunRecord) -> Head<'_> {
    let plan = &run.plan;
    let configuration = |name: &'_ str| plan.cells.iter().map(|cell| &cell.configuration).find(|c| c.name == name);
    let skipped = |name: &'_ str| plan.skipped.iter().find(|(n, _)| n == name).map(|(_, reason)| reason.as_str());
    let unplanned = plan.skipped.iter().map(|(name, _)| name).filter(|name| !plan.configurations.contains(name));
    let configurations = plan
        .configurations
        .iter()
        .chain(unplanned)
        .map(|name| {
            let found = configuration(name);
            Configuration {
                name,
                filesystem: found.map(|c| c.filesystem.name.as_str()),
                mkfs_options: found.map_or(&[], |c| &c.mkfs_options),
                mount_options: found.map_or(&[], |c| &c.mount_options),
                skipped: skipped(name),
            }
        })
        .collect();
    Head {
        run: &run.id,
        status: run.status,
        started: run.started,
        ended: run.ended,
        mountmark: &run.program,
        command_line: &run.command_line,
        suite: &plan.suite,
        suite_about: &plan.suite_about,
        lab: plan.lab,
        clock: crate::header::clock(run),
        machine: &plan.machine,
        kernel: &plan.kernel,
        scale: plan.scale,
        seed: plan.seed,
        repeats: plan.repeats,
        decisions: &plan.decisions,
        tasks: plan.tasks.iter().map(|(id, title)| Task { id, title }).collect(),
        configurations,
        planned_cells: plan.cells.len(),
        environment: &run.environment,
    }
}

fn cell(cell: &CellRecord) -> Cell<'_> {
    Cell {
        cell: cell.index,
        configuration: &cell.configuration,
        repeat: cell.repeat,
        seed: cell.seed,
        disk: &cell.disk,
        disk_size: cell.disk_size,
        started: cell.started,
        ended: cell.ended,
        outcome: &cell.outcome,
        tasks: cell.outcomes.iter().map(|ended| Ended { task: &ended.task, outcome: &ended.outcome }).collect(),
        notes: &cell.notes,
        environment: &cell.environment,
        corpus: cell.corpus.as_ref(),
    }
}
