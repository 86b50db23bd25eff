//! Runs cells again with the profiler, up to the task that is to be explained, and compares their figures.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mountmark_analyse::why::{Ledger, ledger};
use mountmark_lab::Ended;
use mountmark_lab::emulator::Profiler;
use mountmark_model::profile::Interval;
use mountmark_model::{Event, Metric, Outcome, Sample, Subject};

use super::Chosen;
use crate::commands::resume::difference;

/// A cell that was run with the profiler.
pub(super) struct Measured {
    pub ledger: Option<Ledger>,
    /// Figures that are equal to those without the profiler.
    pub figures: usize,
    /// What differs from the time of the run.
    pub differs: Option<String>,
    /// Why there is no ledger.
    pub fault: Option<String>,
}

/// Figures by task, iteration and metric, as bits.
type Figures = BTreeMap<(String, u32, String), u64>;

/// Runs the cells, `jobs` side by side; `None` if the user stopped it.
pub(super) fn measure(
    profiler: &Profiler,
    chosen: &[Chosen],
    task: &str,
    jobs: usize,
    stop: &AtomicBool,
) -> Result<Option<Vec<Measured>>> {
    for chosen in chosen {
        profiler.plain().prepare(chosen.cell)?;
    }
    let next = Mutex::new(chosen.iter().enumerate());
    let found: Mutex<BTreeMap<usize, Result<Option<Measured>>>> = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..jobs.min(chosen.len()) {
            scope.spawn(|| {
                loop {
                    let Some((at, chosen)) = next.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next()
                    else {
                        break;
                    };
                    let measured = one(profiler, chosen, task, stop);
                    found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(at, measured);
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).into_values().collect()
}

fn one(profiler: &Profiler, chosen: &Chosen, task: &str, stop: &AtomicBool) -> Result<Option<Measured>> {
    let Chosen { cell, record } = chosen;
    let name = &cell.configuration.name;
    let differs = difference(name, &record.environment, &profiler.plain().environment(cell)?);
    let recorded = match &differs {
        None => Some(of_samples(&record.samples)),
        Some(_) => {
            let plain = until(task, stop, |stop, on_event| profiler.plain().run(cell, stop, on_event))?;
            plain.map(|(plain, _)| plain.figures)
        }
    };
    let Some(recorded) = recorded else { return Ok(None) };
    let mut recording = None;
    let profiled = until(task, stop, |stop, on_event| {
        let (ended, found) = profiler.run(cell, stop, on_event)?;
        recording = Some(found);
        Ok(ended)
    })?;
    let Some((said, ended)) = profiled else { return Ok(None) };
    let fault =
        |fault: String| Ok(Some(Measured { ledger: None, figures: 0, differs: differs.clone(), fault: Some(fault) }));
    if let Some(reason) = said.failure.or_else(|| ended.reason().map(str::to_owned)) {
        return fault(format!("task {task} on {name} failed with the profiler, and had not without: {reason}"));
    }
    for (figure, bits) in &said.figures {
        let (task, iteration, metric) = figure;
        if recorded.get(figure) != Some(bits) {
            let was = recorded.get(figure).map_or("nothing".to_owned(), |bits| f64::from_bits(*bits).to_string());
            return fault(format!(
                "{metric} of task {task} on {name}, time {}, is {} with the profiler and was {was} without: they must be \
                 equal to the last bit, so nothing is explained",
                iteration + 1,
                f64::from_bits(*bits)
            ));
        }
    }
    let figure = |metric: &Metric| {
        let bits = said.figures.get(&(task.to_owned(), 0, metric.id.to_owned()));
        let seconds =
            bits.map(|bits| f64::from_bits(*bits)).with_context(|| format!("task {task} has no {}", metric.id))?;
        anyhow::Ok((seconds * 1e9).round() as u64)
    };
    let recording = recording.context("the profiler recorded nothing")?;
    let profile = |interval: Interval| {
        recording.profile(task, interval, 0).with_context(|| {
            format!("the profiler did not see task {task} on {name}: the guest does not read its clock by instructions")
        })
    };
    let (elapsed, sync) = (figure(&Metric::ELAPSED)?, figure(&Metric::SYNC)?);
    let profiles = [profile(Interval::Returned)?, profile(Interval::Sync)?];
    let ledger = ledger(name, elapsed, sync, profiles);
    Ok(Some(Measured { ledger: Some(ledger), figures: said.figures.len(), differs, fault: None }))
}

/// What a guest said until the task had ended.
#[derive(Default)]
struct Said {
    figures: Figures,
    failure: Option<String>,
}

/// Runs a cell until a task has ended; `None` if the user stopped it.
fn until(
    task: &str,
    stop: &AtomicBool,
    run: impl FnOnce(&AtomicBool, &mut dyn FnMut(Event)) -> Result<Ended>,
) -> Result<Option<(Said, Outcome)>> {
    /// Between two looks at the user's wish.
    const LOOK: Duration = Duration::from_millis(100);
    let (enough, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut said = Said::default();
    let ended = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                enough.fetch_or(stop.load(Ordering::SeqCst), Ordering::SeqCst);
                thread::sleep(LOOK);
            }
        });
        let ended = run(&enough, &mut |event| match event {
            Event::Sample { task, iteration, values } => {
                let figures =
                    values.into_iter().map(|(metric, value)| ((task.clone(), iteration, metric), value.to_bits()));
                said.figures.extend(figures);
            }
            Event::Ended { task: Subject::Task(ended), outcome } if ended == task => {
                said.failure = outcome.reason().map(str::to_owned);
                enough.store(true, Ordering::SeqCst);
            }
            _ => {}
        });
        over.store(true, Ordering::SeqCst);
        ended
    })?;
    if stop.load(Ordering::SeqCst) {
        return Ok(None);
    }
    let outcome = match ended {
        Ended::Outcome { outcome, .. } => outcome,
        Ended::Refused { reason, .. } => bail!("a guest's figures cannot be believed: {reason}"),
        // It was told to end.
        Ended::Interrupted => Outcome::Ok,
    };
    Ok(Some((said, outcome)))
}

fn of_samples(samples: &[Sample]) -> Figures {
    let figure =
        |sample: &Sample| ((sample.task.clone(), sample.iteration, sample.metric.clone()), sample.value.to_bits());
    samples.iter().map(figure).collect()
}
