//! Every sample of a run: one per line, or in one object with the plan and the environment.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use anyhow::Result;
use mountmark_document::forms::{Object, Rows, number};
use mountmark_model::conditions::Way;
use mountmark_model::{
    Bytes, Environment, Lab, Machine, Metric, MetricFinder, Outcome, RealisedCorpus, Sampling, SamplingEnd, Scale,
    Vary, heading,
};
use mountmark_record::{CellRecord, RunId, RunRecord, RunStatus, SampleRef, Timestamp};
use serde::Serialize;

use crate::run::say;
use crate::run::show::Run;
use crate::sampling::find as sampling;

const HEAD: &str = "run,suite,scale,lab,machine,disk,cell,configuration,repeat,seed,conditions,task,iteration,outcome,metric,unit,value";

/// Every sample. `outcome` is that of the task in this cell, to distinguish figures of failed tasks. Values have as
/// many digits as needed to read the same number back.
pub(crate) fn rows(subject: &Run, out: &mut Rows) -> Result<()> {
    let run = subject.run;
    let plan = &run.plan;
    out.head(HEAD)?;
    let scale = plan.scale.to_string();
    let conditions = plan.conditions().name();
    let mut metrics = MetricFinder::default();
    let mut iteration = String::new();
    for cell in &run.cells {
        let outcomes: HashMap<&str, &str> =
            cell.outcomes.iter().map(|ended| (ended.task.as_str(), ended.outcome.word())).collect();
        let [index, repeat, seed] = [u64::from(cell.index), u64::from(cell.repeat), cell.seed].map(|n| n.to_string());
        // A cell's samples are in task order, so each task is looked up once.
        let mut last: (&str, &str) = ("", "");
        for sample in &cell.samples {
            if sample.task != last.0 {
                last = (sample.task, outcomes.get(sample.task).unwrap_or(&""));
            }
            let metric = metrics.position(sample.metric).map(|at| &Metric::ALL[at]);
            iteration.clear();
            let _ = write!(iteration, "{}", sample.iteration);
            out.line([
                run.id.as_str(),
                &plan.suite,
                &scale,
                plan.lab.name(),
                &plan.machine.name,
                &cell.disk,
                &index,
                &cell.configuration,
                &repeat,
                &seed,
                conditions,
                sample.task,
                &iteration,
                last.1,
                sample.metric,
                metric.map_or("", Metric::unit_text),
                &number(sample.value),
            ])?;
        }
    }
    Ok(())
}

/// The run: what was asked for, and on what it ran.
#[derive(Serialize)]
struct Head<'a> {
    /// The run's name.
    run: &'a RunId,
    /// Whether it ended.
    status: RunStatus,
    /// When it began, in wall time.
    started: Timestamp,
    /// When it ended.
    ended: Option<Timestamp>,
    /// Version of the program.
    mountmark: &'a str,
    /// As typed.
    command_line: &'a str,
    /// Name of the suite.
    suite: &'a str,
    /// One line about it.
    suite_about: &'a str,
    /// The lab.
    lab: Lab,
    /// What its seconds are.
    clock: String,
    /// The machine, with all its parameters.
    machine: &'a Machine,
    /// The kernel as it was asked for; the exact version is in `environment`.
    kernel: &'a str,
    /// The factor on the suite's counts and sizes.
    scale: Scale,
    /// The parameter that was varied.
    vary: Option<&'a Vary>,
    /// The seed of the run.
    seed: u64,
    /// Whether conditions were varied or fixed.
    conditions: Way,
    /// Repeats of each configuration.
    repeats: u32,
    /// How the number of repeats was found, with `--precision` or `--budget`.
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<Sampled>,
    /// How the suite settles what its source leaves open.
    decisions: &'a [String],
    /// The tasks, in order.
    tasks: Vec<Task<'a>>,
    /// The configurations, in the order of `--fs`.
    configurations: Vec<Configuration<'a>>,
    /// Cells in the plan.
    planned_cells: usize,
    /// What it ran on.
    environment: &'a Environment,
}

/// How the number of repeats was found.
#[derive(Serialize)]
struct Sampled {
    /// The target: half of an interval, as part of the figure.
    precision: Option<f64>,
    /// The limit, in seconds of this machine's time.
    budget: Option<f64>,
    /// Repeats before anything was decided.
    least: u32,
    /// Why it ended.
    ended: Option<SamplingEnd>,
    /// Confidence of the intervals whose widths follow.
    level: f64,
    /// The figures that decide.
    figures: Vec<Width>,
}

/// Half of an interval, as part of the figure; none below two repeats.
#[derive(Serialize)]
struct Width {
    /// Task id.
    task: String,
    /// Configuration name.
    configuration: String,
    /// Number of repeats.
    repeats: usize,
    /// Half of the interval over the figure.
    half: Option<f64>,
}

/// A task of the suite.
#[derive(Serialize)]
struct Task<'a> {
    /// Its id.
    id: &'a str,
    /// Its title.
    title: &'a str,
}

/// A file system with its options.
#[derive(Serialize)]
struct Configuration<'a> {
    /// As in `--fs`.
    name: &'a str,
    /// What texts for people call it.
    heading: Cow<'a, str>,
    /// Name of the file system; absent if it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    filesystem: Option<&'a str>,
    /// Arguments of mkfs beyond the file system's own.
    mkfs_options: &'a [String],
    /// All mount options.
    mount_options: &'a [String],
    /// Why it was not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<&'a str>,
}

/// One configuration, made and measured once.
#[derive(Serialize)]
struct Cell<'a> {
    /// Its number in the plan, from 0.
    cell: u32,
    /// Configuration name.
    configuration: &'a str,
    /// Number of the repeat, from 0.
    repeat: u32,
    /// Its seed.
    seed: u64,
    /// Name of the disk.
    disk: &'a str,
    /// Size of the file system under test, in bytes.
    disk_size: Bytes,
    /// When it began, in wall time.
    started: Timestamp,
    /// When it ended.
    ended: Timestamp,
    #[serde(flatten)]
    outcome: &'a Outcome,
    /// The outcome of each task and protocol step.
    tasks: Vec<Ended<'a>>,
    /// Remarks of the lab.
    notes: &'a [String],
    /// What it ran on.
    environment: Environment,
    /// The files that it worked on.
    corpus: Option<&'a RealisedCorpus>,
}

/// The outcome of a task.
#[derive(Serialize)]
struct Ended<'a> {
    /// Task id, or a protocol step.
    task: &'a str,
    #[serde(flatten)]
    outcome: &'a Outcome,
}

/// One figure of one task in one cell.
#[derive(Serialize)]
struct Sample<'a> {
    /// Number of the cell.
    cell: u32,
    /// Configuration name.
    configuration: &'a str,
    /// Number of the repeat, from 0.
    repeat: u32,
    /// Task id, or a protocol step.
    task: &'a str,
    /// Which run of the task within its cell, from 0.
    iteration: u32,
    /// Metric id.
    metric: &'a str,
    /// Unit of the value.
    unit: &'a str,
    /// The figure.
    value: f64,
}

/// The head of the run, `cells` with their outcomes, and `samples`. Numbers have as many digits as needed to read the
/// same number back. Console logs stay in the store.
pub(crate) fn object(subject: &Run, out: &mut Object) -> Result<()> {
    let run = subject.run;
    out.head(&head(run))?;
    out.list("cells", run.cells.iter().map(cell))?;
    let samples = run.cells.iter().flat_map(|cell| cell.samples.iter().map(move |found| sample(cell, found)));
    out.list("samples", samples)
}

fn sample<'a>(cell: &'a CellRecord, sample: SampleRef<'a>) -> Sample<'a> {
    Sample {
        cell: cell.index,
        configuration: &cell.configuration,
        repeat: cell.repeat,
        task: sample.task,
        iteration: sample.iteration,
        metric: sample.metric,
        unit: Metric::find(sample.metric).map_or("", Metric::unit_text),
        value: sample.value,
    }
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
                heading: heading(name),
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
        clock: say::clock(run),
        machine: &plan.machine,
        kernel: &plan.kernel,
        scale: plan.scale,
        vary: plan.vary.as_ref(),
        seed: plan.seed,
        conditions: plan.conditions(),
        repeats: plan.repeats,
        sampling: plan.sampling.as_ref().map(|sampling| sampled(run, sampling)),
        decisions: &plan.decisions,
        tasks: plan.tasks.iter().map(|(id, title)| Task { id, title }).collect(),
        configurations,
        planned_cells: plan.cells.len(),
        environment: &run.environment,
    }
}

fn sampled(run: &RunRecord, sampling: &Sampling) -> Sampled {
    let look = sampling::look(run, sampling.precision);
    let width = |width: sampling::Width| Width {
        configuration: look.configurations[width.configuration].clone(),
        task: width.task,
        repeats: width.repeats,
        half: Some(width.half).filter(|half| half.is_finite()),
    };
    Sampled {
        precision: sampling.precision,
        budget: sampling.budget,
        least: sampling.least,
        ended: sampling.ended,
        level: sampling::LEVEL,
        figures: look.widths.into_iter().map(width).collect(),
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
        environment: cell.environment.whole(),
        corpus: cell.corpus.as_deref(),
    }
}
