//! Mountmark's own workload engine: a workload and a folder in, one result out.
//!
//! | module | holds |
//! |---|---|
//! | `resolve`, `refuse`, `check` | a phase in numbers; its contradictions; reasons why it would fail here |
//! | `set`, `course`, `permutation`, `zipf` | names and sizes; which block or file comes next |
//! | `io`, `buffer`, `tags` | I/O engines; contents and their checking |
//! | `step` | single operations |
//! | `drive`, `flight`, `clock` | the loops |
//! | `worker`, `thread`, `process` | one thread's state; its life; the same in a process of its own |
//! | `group` | phases that run at the same time, from the first thread's start to the last one's end |
//! | `history` | the oldest generation of blocks that earlier phases wrote |
//! | `histogram`, `series`, `recorder`, `merge` | counting, and merging of counts |
//!
//! All choices are made before a loop begins: it is compiled for its engine and clock, and steps, patterns and layouts
//! are functions chosen once. A loop does not allocate.
//!
//! The engine does not know which file system it works on, what a suite or a cell is, or where results go.

mod access_pattern;
mod buffer;
mod check;
mod clock;
mod drive;
mod error;
mod flight;
mod group;
mod histogram;
mod history;
mod io;
mod merge;
mod open;
mod permutation;
mod population;
mod process;
mod recorder;
mod refuse;
mod resolve;
mod series;
mod set;
mod step;
mod sys;
mod tags;
mod thread;
mod worker;
mod zipf;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use mountmark_model::WorkloadResult;
use mountmark_model::workload::Workload;

pub use error::EngineError;
pub use history::History;
pub use process::{WORKER, is_worker, worker_main};

use group::Member;
use set::Set;

/// Inputs of a workload besides itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The suite's parameters at the cell's scale.
    pub parameters: BTreeMap<String, u64>,
    /// The seed of everything random: sizes, names, places, contents.
    pub seed: u64,
    /// The number that the first phase writes into its blocks' tags, 1 or more; each further phase adds one. Tasks that
    /// work on each other's files use different numbers, so that a lost overwrite of an earlier task's block is found.
    pub generation: u32,
    /// The arguments with which /proc/self/exe becomes a worker process, that is, calls [`worker_main`].
    pub worker: Vec<OsString>,
}

impl Default for Options {
    fn default() -> Options {
        Options { parameters: BTreeMap::new(), seed: 1, generation: 1, worker: vec![WORKER.into()] }
    }
}

/// Why this workload could run nowhere, as [`run`] would say it: it contradicts itself, or names an unknown parameter.
pub fn refusal(workload: &Workload, parameters: &BTreeMap<String, u64>) -> Option<String> {
    resolve::resolve(workload, parameters).err().map(|error| error.to_string())
}

/// Runs all phases of a workload in `folder`, one after another, and leaves the files there.
///
/// `history` comes from earlier workloads in the same folder, so that their lost overwrites are found; empty if there
/// was none, or if others may have changed files since.
///
/// Operations that fail are counted and explained in the result.
///
/// # Errors
/// A workload that contradicts itself or names an unknown parameter, that needs more room, files, descriptors or memory
/// than there is, or that needs what the file system or kernel does not support (all of this before any measurement); a
/// worker process that fails.
pub fn run(
    workload: &Workload,
    folder: &Path,
    options: &Options,
    history: &mut History,
) -> Result<WorkloadResult, EngineError> {
    let works = resolve::resolve(workload, &options.parameters)?;
    if options.generation == 0 {
        return Err(EngineError::Workload("generation is 0, must be at least 1".to_owned()));
    }
    check::check(&works, folder, options.seed)?;
    let mut result = WorkloadResult::default();
    let mut generation = options.generation;
    for group in works.chunk_by(|_, next| next.beside) {
        let mut members = Vec::with_capacity(group.len());
        for work in group {
            let oldest = history.oldest(&work.files);
            members.push(Member { work, set: Set::open(folder, &work.files, options.seed)?, generation, oldest });
            generation = generation.saturating_add(1);
        }
        for (member, found) in members.iter().zip(group::run(&members, folder, options)?) {
            result.clock = found.first().map(|found| found.clock.clone()).unwrap_or_default();
            let phase = merge::merge(member.work, found);
            let well = phase.operations.iter().all(|operation| operation.errors == 0);
            history.add(member.work, member.generation, well);
            result.phases.push(phase);
        }
    }
    Ok(result)
}

#[cfg(test)]
mod tests;
