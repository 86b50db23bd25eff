//! Runs a plan's cells in parallel, each in its own lab guest, in the plan's order.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use anyhow::Result;
use mountmark_cells::PlannedCell;
use mountmark_lab::OpenLab;
use mountmark_model::{Cell, Event, Stage};

use crate::account::Account;
pub use crate::account::CellResult;
use crate::pool::{self, Queue};

pub enum Progress<'a> {
    Started(&'a PlannedCell),
    /// An agent has reached this step.
    Stage(&'a PlannedCell, &'a Stage),
    Ended(&'a PlannedCell, Box<CellResult>),
}

/// Runs `cells`, at most `jobs` at once. `on_progress` is called on the caller's thread; an error from it stops
/// everything. Returns true if all cells were run, false if `stop` was set before; after the last cell `stop` has no
/// effect.
pub fn run(
    lab: &dyn OpenLab,
    cells: &[PlannedCell],
    jobs: usize,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(Progress) -> Result<()>,
) -> Result<bool> {
    enum Message {
        Started(usize),
        Stage(usize, Stage),
        Ended(usize, Box<CellResult>),
    }
    let mut ended = 0;
    let hand = |queue: &Queue, say: &mpsc::SyncSender<Message>| {
        while let Some(index) = queue.take().filter(|_| !stop.load(Ordering::SeqCst)) {
            let _ = say.send(Message::Started(index));
            let result = run_cell(lab, &cells[index].whole(), stop, &mut |stage| {
                let _ = say.send(Message::Stage(index, stage.clone()));
            })?;
            if let Some(result) = result {
                let _ = say.send(Message::Ended(index, Box::new(result)));
            }
        }
        Ok(())
    };
    pool::work(cells.len(), jobs.max(1), hand, |message| match message {
        Message::Started(index) => on_progress(Progress::Started(&cells[index])),
        Message::Stage(index, stage) => on_progress(Progress::Stage(&cells[index], &stage)),
        Message::Ended(index, result) => {
            ended += 1;
            on_progress(Progress::Ended(&cells[index], result))
        }
    })?;
    Ok(ended == cells.len())
}

/// Runs one cell; `None` if it was interrupted.
pub fn run_cell(
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
