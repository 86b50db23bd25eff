//! Mountmark's own workload engine: a workload and a folder in, one result out.
//!
//! | module | holds |
//! |---|---|
//! | `resolve`, `refuse`, `check` | a phase in numbers; contradictions in it; what would make it fail here |
//! | `set`, `course`, `permutation`, `zipf` | names and sizes; which block or file comes next |
//! | `io`, `buffer`, `tags` | ways to read and write; contents and their checking |
//! | `step` | what one operation does |
//! | `drive`, `flight`, `clock` | the loops |
//! | `worker`, `thread`, `process` | one thread's state; its life; the same in a process of its own |
//! | `histogram`, `series`, `recorder`, `merge` | counting, and what becomes of the counts |
//!
//! All choices are made before a loop begins: it is compiled for its engine and clock, and steps, patterns and layouts
//! are functions picked once. Nothing is allocated in it.
//!
//! The engine does not know which file system it works on, what a suite or a cell is, or where results go.

mod buffer;
mod check;
mod clock;
mod course;
mod drive;
mod error;
mod flight;
mod histogram;
mod io;
mod merge;
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
use std::ffi::{OsString, c_int};
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use mountmark_model::WorkloadResult;
use mountmark_model::workload::{Operation, Pattern, Workload};

pub use error::EngineError;
pub use process::{WORKER, is_worker, worker_main};

use recorder::Found;
use resolve::{End, Work};
use set::Set;
use sys::Name;
use worker::Orders;

/// What a workload needs to know beside itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The suite's parameters at the cell's scale.
    pub parameters: BTreeMap<String, u64>,
    /// What everything random comes from: sizes, names, places, contents.
    pub seed: u64,
    /// The number that the first phase writes into its blocks' tags, and each further phase one more; 1 or more. Tasks
    /// that work on each other's files say different ones, so that a block that an earlier task wrote and a later one
    /// should have written over is found.
    pub generation: u32,
    /// The arguments with which /proc/self/exe is a worker process, that is, calls [`worker_main`].
    pub worker: Vec<OsString>,
}

impl Default for Options {
    fn default() -> Options {
        Options { parameters: BTreeMap::new(), seed: 1, generation: 1, worker: vec![WORKER.into()] }
    }
}

/// Does all phases of a workload in `folder`, one after another. Files are left there.
///
/// Operations that fail are counted and explained in the result.
///
/// # Errors
/// A workload that contradicts itself or names an unknown parameter, that needs more room, files, descriptors or memory
/// than there is, or what file system or kernel do not do (all of this before anything is measured); a worker process
/// that fails.
pub fn run(workload: &Workload, folder: &Path, options: &Options) -> Result<WorkloadResult, EngineError> {
    let works = resolve::resolve(workload, &options.parameters)?;
    if options.generation == 0 {
        return Err(EngineError::Workload("generation is 0, must be at least 1".to_owned()));
    }
    check::check(&works, folder, options.seed)?;
    let mut result = WorkloadResult::default();
    // The oldest generation that may be found in a set: 1, until one phase has written all of it.
    let mut oldest: BTreeMap<(String, String), u32> = BTreeMap::new();
    for (index, work) in (0u32..).zip(&works) {
        let generation = options.generation.saturating_add(index);
        let key = (work.files.folder.clone(), work.files.prefix.clone());
        let known = oldest.get(&key).copied().unwrap_or(1);
        let found = phase(work, folder, options, generation, known)?;
        result.clock = found.first().map(|found| found.clock.clone()).unwrap_or_default();
        result.phases.push(merge::merge(work, found));
        if work.verify && writes_everything(work) {
            oldest.insert(key, generation);
        }
    }
    Ok(result)
}

/// Whether no block of the set is left as it was.
fn writes_everything(work: &Work) -> bool {
    let walks = !matches!(work.pattern, Pattern::Random | Pattern::Zipf(_) | Pattern::SameRecord | Pattern::Append);
    let writes = |o| matches!(o, Operation::Write | Operation::Rewrite | Operation::WriteFile);
    walks && matches!(work.end, End::Passes(_)) && work.mix.iter().all(|(operation, _)| writes(*operation))
}

fn phase(
    work: &Work,
    folder: &Path,
    options: &Options,
    generation: u32,
    oldest: u32,
) -> Result<Vec<Found>, EngineError> {
    let set = Set::open(folder, &work.files, options.seed)?;
    set.make_directories()?;
    if work.cold {
        chill(&set);
    }
    let capacity = check::capacity(work);
    let orders: Vec<Orders> = (0..work.threads)
        .map(|thread| Orders { thread, seed: options.seed, generation, oldest: oldest.min(generation), capacity })
        .collect();
    if work.processes {
        return process::run(work, folder, &orders, &options.worker);
    }
    if let [orders] = orders[..] {
        return thread::run(work, &set, orders, |fit| fit).map(|found| found.into_iter().collect());
    }
    let (barrier, all_fit) = (Barrier::new(orders.len()), AtomicBool::new(true));
    let ready = |fit: bool| {
        all_fit.fetch_and(fit, Ordering::SeqCst);
        barrier.wait();
        all_fit.load(Ordering::SeqCst)
    };
    let ended: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = orders.iter().map(|o| scope.spawn(|| thread::run(work, &set, *o, ready))).collect();
        threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
    });
    let mut found = Vec::with_capacity(ended.len());
    for thread in ended {
        match thread {
            Ok(thread) => found.extend(thread?),
            Err(_) => return Err(EngineError::Workload(format!("a thread of phase {} broke down", work.name))),
        }
    }
    Ok(found)
}

/// Writes back and drops the pages of all files that are there.
fn chill(set: &Set) {
    let mut name = Name::new();
    for file in 0..set.count() {
        set.name(set.prefix(), file, &mut name);
        let opened = sys::openat(set.folder(), &name, libc::O_RDONLY);
        if opened >= 0 {
            let opened = opened as c_int;
            // Dirty pages are not dropped, so they are written first.
            sys::fsync(opened);
            sys::drop_pages(opened);
            sys::close(opened);
        }
    }
}

#[cfg(test)]
mod tests;
