//! Runs a plan's cells side by side, each in its own lab guest, in the plan's order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Instant, SystemTime};

use anyhow::{Error, Result};
use mountmark_lab::{Ended, Lab};
use mountmark_model::{Cell, DeviceRecord, Event, Outcome};

/// A cell that has ended, with all that was said of it.
#[derive(Clone, Debug)]
pub struct CellResult {
    /// Position in the plan.
    pub index: u32,
    /// When it began and ended.
    pub started: SystemTime,
    /// See `started`.
    pub ended: SystemTime,
    /// How.
    pub outcome: Outcome,
    /// Figures, in the order they were taken: (task, iteration, values by metric).
    pub samples: Vec<(String, u32, BTreeMap<String, f64>)>,
    /// How each task ended.
    pub tasks: Vec<(String, Outcome)>,
    /// What programs printed and the engine found: (task, iteration, kind, text) as in [`Event::Output`].
    pub outputs: Vec<(String, u32, String, String)>,
    /// What was asked of the device under test: (task, iteration, record).
    pub devices: Vec<(String, u32, Box<DeviceRecord>)>,
    /// Remarks.
    pub notes: Vec<String>,
    /// Kernel release and version that the agent reported.
    pub kernel: String,
    /// The kernel's messages.
    pub log: String,
    /// Wall time of the host until mkfs began.
    pub start_seconds: f64,
}

/// What happens while a plan runs.
pub enum Progress<'a> {
    /// A cell was started.
    Started(&'a Cell),
    /// An agent is at this step.
    Stage(&'a Cell, &'a str),
    /// A cell ended.
    Ended(&'a Cell, &'a CellResult),
}

/// Runs `cells` with at most `jobs` at once. `on_progress` is called on the caller's thread, and an error from it
/// stops everything. Answers true if all cells were run, false if `stop` was set before.
pub fn run(
    lab: &dyn Lab,
    cells: &[Cell],
    jobs: usize,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(Progress) -> Result<()>,
) -> Result<bool> {
    enum Message {
        Started(usize),
        Stage(usize, String),
        Ended(usize, Box<Result<Option<CellResult>>>),
    }
    let next = AtomicUsize::new(0);
    let give_up = AtomicBool::new(false);
    let mut complete = true;
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
                        let _ = stages.send(Message::Stage(index, stage.to_owned()));
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
                    Ok(Some(result)) => on_progress(Progress::Ended(&cells[index], &result)),
                    Ok(None) => {
                        complete = false;
                        Ok(())
                    }
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
        None => Ok(complete && !stop.load(Ordering::SeqCst)),
    }
}

/// Runs one cell; nothing if it was interrupted.
fn run_cell(
    lab: &dyn Lab,
    cell: &Cell,
    stop: &AtomicBool,
    on_stage: &mut dyn FnMut(&str),
) -> Result<Option<CellResult>> {
    let begin = Instant::now();
    let mut result = CellResult {
        index: cell.index,
        started: SystemTime::now(),
        ended: SystemTime::now(),
        outcome: Outcome::Ok,
        samples: Vec::new(),
        tasks: Vec::new(),
        outputs: Vec::new(),
        devices: Vec::new(),
        notes: Vec::new(),
        kernel: String::new(),
        log: String::new(),
        start_seconds: 0.0,
    };
    let ended = lab.run(cell, stop, &mut |event| match event {
        Event::Hello { kernel, .. } => result.kernel = kernel,
        Event::Stage { name } => {
            if name == mountmark_model::protocol_task::MKFS {
                result.start_seconds = begin.elapsed().as_secs_f64();
            }
            on_stage(&name);
        }
        Event::Sample { task, iteration, values } => result.samples.push((task, iteration, values)),
        Event::Output { task, iteration, kind, text } => result.outputs.push((task, iteration, kind, text)),
        Event::Device { task, iteration, record } => result.devices.push((task, iteration, record)),
        Event::Ended { task, outcome } if !task.is_empty() => result.tasks.push((task, outcome)),
        Event::Note { text } => result.notes.push(text),
        Event::Ended { .. } | Event::Done => {}
    })?;
    match ended {
        Ended::Interrupted => Ok(None),
        Ended::Outcome { outcome, log } => {
            result.outcome = outcome;
            result.log = log;
            result.ended = SystemTime::now();
            Ok(Some(result))
        }
    }
}
