//! Runs the own engine's workloads as tasks. Each runs in a child process, another instance of this program, so that it
//! is measured in the same way as a command.
//!
//! The child reads its job from one file and writes the engine's results to another, both in the agent's folder in
//! memory. This file does not know how an operation is done.

mod merge;
mod values;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use mountmark_model::{Cell, Metric, Task, Workload, WorkloadResult};
use serde::{Deserialize, Serialize};

use crate::engine::{self, History};
use crate::programs::Figure;

/// The argument that makes this program run one workload; the paths of the job and the result follow.
const ARGUMENT: &str = "workload";
/// Limit of repetitions of a workload that ends too fast.
const MOST_ROUNDS: u32 = 1000;

#[derive(Serialize, Deserialize)]
struct Job {
    workload: Workload,
    parameters: BTreeMap<String, u64>,
    seed: u64,
    least_seconds: f64,
    folder: PathBuf,
    /// The first generation to use, which distinguishes this task's data from earlier tasks' in the same files.
    generation: u32,
    /// The path of what is known about earlier tasks' files; this one adds to it.
    history: PathBuf,
}

fn job_path(scratch: &Path) -> PathBuf {
    scratch.join("workload.json")
}

fn result_path(scratch: &Path) -> PathBuf {
    scratch.join("result.json")
}

fn history_path(scratch: &Path) -> PathBuf {
    scratch.join("history.json")
}

/// Deletes the history of files: a command may have changed them.
pub(super) fn forget(scratch: &Path) {
    let _ = fs::remove_file(history_path(scratch));
}

/// The process that runs the task's workload in `folder`.
pub(super) fn process(task: &Task, cell: &Cell, folder: &Path, scratch: &Path, generation: u32) -> Result<Command> {
    let workload = task.workload.clone().with_context(|| format!("task {} has no workload", task.id))?;
    let job = Job {
        workload,
        parameters: cell.parameters.clone(),
        seed: cell.seed,
        least_seconds: task.least_seconds,
        folder: folder.to_owned(),
        generation,
        history: history_path(scratch),
    };
    let (path, result) = (job_path(scratch), result_path(scratch));
    write(&path, &job)?;
    // May be left by another task's child.
    let _ = fs::remove_file(&result);
    let mut process = Command::new("/proc/self/exe");
    process.arg(ARGUMENT).arg(path).arg(result).current_dir(folder);
    Ok(process)
}

/// Limit of the generations that a task writes: one for each phase of each round.
pub(super) fn generations(task: &Task) -> u32 {
    task.workload.as_ref().map_or(0, |workload| workload.phases.len() as u32 * MOST_ROUNDS)
}

/// The results of a task's child.
pub(super) struct Found {
    /// The unchanged result document.
    pub(super) document: String,
    /// Or a sentence on an operation that failed.
    pub(super) figures: Result<Vec<Figure>, String>,
    /// Remarks for the reader.
    pub(super) notes: Vec<String>,
    /// Bytes written, if any were and all are counted.
    pub(super) written: Option<u64>,
}

/// Reads the results of the task's child; a sentence if that fails.
pub(super) fn found(task: &Task, scratch: &Path) -> Result<Found, String> {
    let path = result_path(scratch);
    let read = || -> Result<_> {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let result: WorkloadResult = serde_json::from_str(&text).context("the engine's result is damaged")?;
        Ok((text, result))
    };
    let (document, result) = read().map_err(|error| format!("task {}: {error:#}", task.id))?;
    let notes = result.phases.iter().flat_map(|phase| phase.notes.iter().map(move |note| (&phase.name, note)));
    let notes = notes.map(|(phase, note)| format!("task {}, phase {phase}: {note}", task.id)).collect();
    let counted = result.phases.iter().filter(|phase| !phase.setup);
    let figures = match result.phases.iter().flat_map(|phase| &phase.errors).next() {
        Some(error) => Err(format!("task {}: {error}", task.id)),
        None => Ok(counted.map(|phase| judgeable(values::figure(phase, task.rate), task)).collect()),
    };
    // A warm-up's writes are not counted.
    let warmed_up = task.workload.iter().flat_map(|workload| &workload.phases).any(|phase| phase.warm_up > 0.0);
    let written = Some(values::written(&result)).filter(|bytes| *bytes > 0 && !warmed_up);
    Ok(Found { document, figures, notes, written })
}

/// The figure without its rate, if the workload fixes that: then it says nothing about the file system.
fn judgeable(mut figure: Figure, task: &Task) -> Figure {
    let mut phases = task.workload.iter().flat_map(|workload| &workload.phases);
    let is_paced = phases.any(|phase| phase.name == figure.name && phase.rate.is_some());
    if is_paced && figure.values.contains_key(Metric::LATENCY_MEAN.id) {
        figure.values.remove(Metric::RATE.id);
        figure.note = Some("the workload fixes its rate".to_owned());
    }
    figure
}

pub fn is_child() -> bool {
    std::env::args_os().nth(1).is_some_and(|argument| argument == ARGUMENT) && std::env::args_os().len() == 4
}

/// The child's main function. Never returns.
pub fn main() -> ! {
    let mut paths = std::env::args_os().skip(2).map(PathBuf::from);
    let (job, result) = (paths.next().unwrap_or_default(), paths.next().unwrap_or_default());
    match live(&job, &result) {
        Ok(()) => std::process::exit(0),
        Err(error) => {
            eprintln!("{error:#}");
            std::process::exit(1)
        }
    }
}

fn live(job: &Path, result: &Path) -> Result<()> {
    let text = fs::read(job).with_context(|| {
        format!("`mountmark {ARGUMENT}` is started by a running cell; {} cannot be read", job.display())
    })?;
    let job: Job = serde_json::from_slice(&text).context("the job is damaged")?;
    let mut history = take(&job.history)?;
    let mut all: Option<WorkloadResult> = None;
    for round in 0..MOST_ROUNDS {
        let options = engine::Options {
            parameters: job.parameters.clone(),
            seed: job.seed,
            generation: job.generation.saturating_add(round * job.workload.phases.len() as u32),
            ..Default::default()
        };
        let one = engine::run(&job.workload, &job.folder, &options, &mut history)?;
        let merged = match all.take() {
            None => one,
            Some(mut before) => {
                merge::add(&mut before, &one);
                before
            }
        };
        let seconds: f64 = merged.phases.iter().filter(|phase| !phase.setup).map(|phase| phase.seconds).sum();
        let failed = merged.phases.iter().any(|phase| !phase.errors.is_empty());
        all = Some(merged);
        if failed || seconds >= job.least_seconds {
            break;
        }
        if round + 1 == MOST_ROUNDS {
            bail!(
                "{MOST_ROUNDS} rounds took only {seconds} s of the {} s asked for by least_seconds",
                job.least_seconds
            );
        }
    }
    let all = all.context("no round was done")?;
    if !history.is_empty() {
        write(&job.history, &history)?;
    }
    write(result, &all)
}

fn write(path: &Path, value: &impl Serialize) -> Result<()> {
    fs::write(path, serde_json::to_vec(value)?).with_context(|| format!("cannot write {}", path.display()))
}

/// Takes the history of earlier tasks and deletes it: a task that fails half-way leaves files in an unknown state.
fn take(path: &Path) -> Result<History> {
    if !path.exists() {
        return Ok(History::default());
    }
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is damaged", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_a_task_before_wrote_over_is_found_until_that_is_forgotten() {
        let (folder, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let done = |what: &str, generation: u32| {
            let text =
                format!("files = {{ size = 8192 }}\n[[phases]]\nname = \"a\"\nwhat = \"{what}\"\nverify = true\n");
            let workload = Some(toml::from_str(&text).unwrap());
            let task = Task { id: "t".into(), workload, ..Task::default() };
            let path = job_path(scratch.path());
            let job = Job {
                workload: task.workload.clone().unwrap(),
                parameters: BTreeMap::new(),
                seed: 1,
                least_seconds: 0.0,
                folder: folder.path().into(),
                generation,
                history: history_path(scratch.path()),
            };
            write(&path, &job).unwrap();
            live(&path, &result_path(scratch.path())).unwrap();
            found(&task, scratch.path()).unwrap().figures.map(drop)
        };
        let file = folder.path().join("f00000000");
        done("write", 1).unwrap();
        let old = fs::read(&file).unwrap();
        done("write", 2).unwrap();
        done("read", 3).unwrap();
        fs::write(&file, old).unwrap();
        let said = done("read", 4).unwrap_err();
        assert!(said.contains("at byte 16: expected 0x02, found 0x01"), "{said}");
        forget(scratch.path());
        done("read", 5).unwrap();
    }

    #[test]
    fn a_rate_that_the_workload_fixes_is_no_figure() {
        let (folder, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let text = "files = { size = 16384 }\n[[phases]]\nname = \"p\"\nwhat = \"write\"\nsync = { every = 1 }\n";
        let of = |more: &str| {
            let workload: Workload = toml::from_str(&format!("{text}{more}")).unwrap();
            let result = engine::run(&workload, folder.path(), &engine::Options::default(), &mut History::default());
            write(&result_path(scratch.path()), &result.unwrap()).unwrap();
            let task = Task { id: "t".into(), workload: Some(workload), ..Task::default() };
            found(&task, scratch.path()).unwrap().figures.unwrap().remove(0)
        };
        let free = of("");
        assert!(free.values.contains_key("rate") && free.note.is_none());
        let paced = of("rate = 1000\n");
        assert!(!paced.values.contains_key("rate") && paced.values.contains_key("operation_rate"), "{paced:?}");
        assert!(paced.values["sync_latency_max"] >= paced.values["sync_latency_p50"]);
        assert!(paced.note.unwrap().contains("fixes its rate"));
    }

    #[test]
    fn notes_are_told_with_what_failed() {
        let (folder, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let text = "files = { count = 2000 }\n[[phases]]\nname = \"rm\"\nwhat = \"unlink\"\nthreads = 2\n";
        let result = engine::run(
            &toml::from_str(text).unwrap(),
            folder.path(),
            &engine::Options::default(),
            &mut History::default(),
        );
        write(&result_path(scratch.path()), &result.unwrap()).unwrap();
        let found = found(&Task { id: "t".into(), ..Task::default() }, scratch.path()).unwrap();
        assert!(found.figures.unwrap_err().contains("No such file"));
        assert_eq!(found.notes, ["task t, phase rm: a thread gave up after 1,000 failed operations"]);
    }
}
