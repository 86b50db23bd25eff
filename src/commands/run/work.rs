//! A worker of a campaign: measures the cells of a plan that are on no shelf, and puts them there. It stores no run.
//!
//! Nobody hands out cells and nobody claims one: each worker walks all of them in one order, from a place of its own, and
//! skips what is there by now. Where two meet they measure a few cells twice, whose figures must be equal.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use mountmark_cells::{Plan, PlannedCell};
use mountmark_lab::emulator::options::PROFILE;
use mountmark_lab::host::options::MEMORY;
use mountmark_model::{Bytes, Cell, Outcome, counted};
use mountmark_random::Stream;
use mountmark_run::pool;
use mountmark_run::schedule::{self, CellResult};
use mountmark_shelf::Shelved;

use super::{Arguments, Prepared, Stop, checked, elsewhere, jobs, refuse_first, with_plan};
use crate::cluster;
use crate::common::{self, WrongUse};

/// How long the watch of the time sleeps.
const TICK: Duration = Duration::from_millis(100);

/// Which of a plan's workers this is, such as `2/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worker {
    /// From 1.
    number: usize,
    of: usize,
}

impl FromStr for Worker {
    type Err = String;

    fn from_str(text: &str) -> Result<Worker, String> {
        let numbers = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let (number, of) =
            numbers.ok_or(format!("`{text}` is not a worker's number and how many there are, such as 2/8"))?;
        match (1..=of).contains(&number) {
            true => Ok(Worker { number, of }),
            false => Err(format!("there is no worker {number} of {of}")),
        }
    }
}

/// What limits a worker.
#[derive(Clone, Debug)]
pub struct Limits {
    pub worker: Worker,
    /// When it ends, whatever is left.
    pub until: Option<Duration>,
    /// The file with the parts of the first cell's key, as the campaign has them.
    pub expect: Option<PathBuf>,
}

/// What became of a cell.
enum Met {
    There,
    Measured(Box<CellResult>),
}

/// Works on the plan of `mountmark run` with these arguments; returns the exit code.
pub fn work(arguments: &Arguments, limits: Limits) -> Result<u8> {
    let begin = Instant::now();
    // A campaign's plan has all words of its run, which prints a table in the end.
    if limits.expect.is_none() {
        refuse(arguments)?;
    }
    let mut arguments = arguments.clone();
    // The memory that the worker may take; of the host lab it is a cell's.
    let memory: Option<Bytes> = arguments.lab.given.value(&MEMORY);
    arguments.lab.given = arguments.lab.given.with(&MEMORY, None::<String>);
    arguments.shelf = arguments.shelf.for_worker()?;
    arguments.on = None;
    if arguments.dry_run || arguments.study.is_some() || arguments.sampling.is_sampled() {
        bail!(WrongUse(
            "a worker needs a plan whose cells are known before: no --study, --precision, --budget or --dry-run".into()
        ));
    }
    if limits.until.is_some_and(|until| until.is_zero()) {
        bail!(WrongUse("--until 0: nothing can be measured in no time".into()));
    }
    let checked = checked(&arguments)?;
    let stop = Stop::on_signals()?;
    let ended = with_plan(&arguments, checked, &stop, &|prepared, plan| {
        if let Some(path) = &limits.expect {
            elsewhere::compare(prepared, plan, path)?;
        }
        elsewhere::check_memory(plan, memory)?;
        let jobs = jobs(arguments.jobs, plan, memory);
        let deadline = limits.until.map(|until| begin + until);
        let campaign = limits.expect.as_deref().and_then(Path::parent);
        walk(prepared, plan, (jobs, limits.worker), (deadline, campaign), &stop).map(Ok)
    });
    stop.or(ended, Err(stop.code())).map(|code| code.unwrap_or_else(|code| code))
}

/// Options that a worker always refuses.
pub const NOT_FOR_WORKERS: [&str; 12] = [
    "study", "precision", "budget", "dry-run", "format", "metric", "advice", "on", "detach", "fresh", "verify",
    "profile",
];

/// Refuses options that nothing would come of.
fn refuse(arguments: &Arguments) -> Result<()> {
    arguments.refuse_printing("a worker prints no figures; the run over its shelf does, and takes this")?;
    let other = [("--on", arguments.on.is_some()), ("--detach", arguments.detach)];
    refuse_first(&other, "this is one of the workers, which starts no others")?;
    let shelf = ["fresh", "verify"].map(|option| arguments.shelf.is_typed(option));
    let shelf = [("--fresh", shelf[0]), ("--verify", shelf[1])];
    refuse_first(
        &shelf,
        "a worker measures what is not on the shelf, and nothing else; name an empty shelf to measure all",
    )?;
    refuse_first(&[("--profile", arguments.lab.given.has(&PROFILE))], "cells on a shelf have no profiles")
}

fn say_measured(cell: &PlannedCell, outcome: &Outcome) {
    let how = outcome.reason().map_or("done".to_owned(), |reason| format!("failed: {reason}"));
    say!("mountmark: {} #{} {how}", cell.configuration.heading(), cell.repeat + 1);
}

fn walk(
    prepared: &Prepared,
    plan: &Plan,
    (jobs, worker): (usize, Worker),
    (deadline, campaign): (Option<Instant>, Option<&Path>),
    stop: &Stop,
) -> Result<u8> {
    let Some(shelved) = prepared.shelved else { bail!(WrongUse("figures of this lab are wall time".into())) };
    let cells: Vec<&PlannedCell> =
        order(plan.seed, plan.cells.len(), worker).into_iter().map(|at| &plan.cells[at]).collect();
    let (end, done) = (AtomicBool::new(false), AtomicBool::new(false));
    let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    let (mut there, mut added, mut failed) = (0, 0, 0);
    let result = thread::scope(|scope| {
        // A guest under way when the time is over is ended too.
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                if stop.is_set() || is_over() {
                    end.store(true, Ordering::SeqCst);
                }
                thread::sleep(TICK);
            }
        });
        let hand = |queue: &pool::Queue, say: &mpsc::SyncSender<(usize, Met)>| {
            while let Some(at) = queue.take().filter(|_| !end.load(Ordering::SeqCst)) {
                if let Some(met) = meet(shelved, &cells[at].whole(), campaign, &end)? {
                    let _ = say.send((at, met));
                }
            }
            Ok(())
        };
        let result = pool::work(cells.len(), jobs, hand, |(at, met)| {
            match met {
                Met::There => there += 1,
                Met::Measured(result) => {
                    failed += usize::from(result.outcome.is_failed());
                    added += 1;
                    say_measured(cells[at], &result.outcome);
                }
            }
            Ok(())
        });
        done.store(true, Ordering::SeqCst);
        result
    });
    for remark in prepared.lab.remarks() {
        say!("mountmark: {remark}");
    }
    result?;
    let left = cells.len() - there - added;
    let why = if left == 0 { "" } else { ", since its time was over" };
    say!(
        "mountmark: worker {}/{}: {} put there, {there} were there, {left} left{why}",
        worker.number,
        worker.of,
        counted(added, "cell")
    );
    ensure!(!stop.is_set(), "interrupted");
    Ok(if failed > 0 { common::FAILED } else { common::DONE })
}

/// Measures a cell, unless it is there or has failed; `None` if it was interrupted.
fn meet(shelved: &Shelved, cell: &Cell, campaign: Option<&Path>, end: &AtomicBool) -> Result<Option<Met>> {
    let key = shelved.key_of(cell)?.unwrap_or_default();
    if campaign.is_some_and(|folder| cluster::has_failed(folder, &key)) || shelved.is_there(cell)? {
        return Ok(Some(Met::There));
    }
    let Some(result) = schedule::run_cell(shelved, cell, end, &mut |_| {})? else { return Ok(None) };
    if let (Some(reason), Some(folder)) = (result.outcome.reason(), campaign) {
        cluster::note_failure(folder, &key, reason)?;
    }
    Ok(Some(Met::Measured(Box::new(result))))
}

/// The order in which a worker looks at cells: all have one circle, drawn from the plan's seed, and each begins elsewhere.
fn order(seed: u64, cells: usize, worker: Worker) -> Vec<usize> {
    let mut left: Vec<usize> = (0..cells).collect();
    let mut random = Stream::new(seed, "work.order");
    let mut circle = Vec::with_capacity(cells);
    while !left.is_empty() {
        let at = random.below(left.len() as u64) as usize;
        circle.push(left.swap_remove(at));
    }
    circle.rotate_left((worker.number - 1) * cells / worker.of);
    circle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_numbered_from_one() {
        assert_eq!("2/8".parse(), Ok(Worker { number: 2, of: 8 }));
        for wrong in ["0/8", "9/8", "2", "2/0", "a/b", "-1/2", "", "1/2/3"] {
            assert!(wrong.parse::<Worker>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_worker_sees_every_cell_from_a_place_of_its_own() {
        for cells in [0, 1, 7, 100] {
            let orders: Vec<Vec<usize>> = (1..=4).map(|number| order(7, cells, Worker { number, of: 4 })).collect();
            for found in &orders {
                let mut sorted = found.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..cells).collect::<Vec<_>>());
            }
            // Each walks a quarter alone before it meets the next one's place.
            let quarter = cells / 4;
            for pair in orders.windows(2).filter(|_| quarter > 0) {
                assert!(pair[0][..quarter].iter().all(|cell| !pair[1][..quarter].contains(cell)));
            }
        }
    }
}
