//! Runs a plan's cells in parallel, each in its own lab guest, in the plan's order.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use anyhow::{Error, Result};
use mountmark_lab::OpenLab;
use mountmark_model::{Cell, Event, Stage};

use crate::account::Account;
pub use crate::account::CellResult;

pub enum Progress<'a> {
    Started(&'a Cell),
    /// An agent has reached this step.
    Stage(&'a Cell, &'a Stage),
    Ended(&'a Cell, &'a CellResult),
}

/// Runs `cells`, at most `jobs` at once. `on_progress` is called on the caller's thread; an error from it stops
/// everything. Returns true if all cells were run, false if `stop` was set before; after the last cell `stop` has no
/// effect.
pub fn run(
    lab: &dyn OpenLab,
    cells: &[Cell],
    jobs: usize,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(Progress) -> Result<()>,
) -> Result<bool> {
    enum Message {
        Started(usize),
        Stage(usize, Stage),
        Ended(usize, Box<Result<Option<CellResult>>>),
    }
    let next = AtomicUsize::new(0);
    let give_up = AtomicBool::new(false);
    let mut ended = 0;
    let mut failure: Option<Error> = None;
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..jobs.clamp(1, cells.len().max(1)) {
            let sender = sender.clone();
            let (next, give_up) = (&next, &give_up);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::SeqCst);
                    if index >= cells.len() || stop.load(Ordering::SeqCst) || give_up.load(Ordering::SeqCst) {
                        break;
                    }
                    let _ = sender.send(Message::Started(index));
                    let stages = sender.clone();
                    let result = run_cell(lab, &cells[index], stop, &mut |stage| {
                        let _ = stages.send(Message::Stage(index, stage.clone()));
                    });
                    if sender.send(Message::Ended(index, Box::new(result))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for message in receiver {
            let result = match message {
                Message::Started(index) => on_progress(Progress::Started(&cells[index])),
                Message::Stage(index, stage) => on_progress(Progress::Stage(&cells[index], &stage)),
                Message::Ended(index, result) => match *result {
                    Ok(Some(result)) => {
                        ended += 1;
                        on_progress(Progress::Ended(&cells[index], &result))
                    }
                    Ok(None) => Ok(()),
                    Err(error) => Err(error),
                },
            };
            if let Err(error) = result {
                give_up.store(true, Ordering::SeqCst);
                failure.get_or_insert(error);
            }
        }
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(ended == cells.len()),
    }
}

/// Runs one cell; `None` if it was interrupted.
fn run_cell(
    lab: &dyn OpenLab,
    cell: &Cell,
    stop: &AtomicBool,
    on_stage: &mut dyn FnMut(&Stage),
) -> Result<Option<CellResult>> {
    let begin = Instant::now();
    let mut account = Account::new(cell);
    let ended = lab.run(cell, stop, &mut |event| {
        if let Event::Stage { name } = &event {
            if name.name() == mountmark_model::protocol_task::MKFS {
                account.set_start(begin.elapsed().as_secs_f64());
            }
            on_stage(name);
        }
        account.take(event);
    })?;
    Ok(account.finish(ended))
}
