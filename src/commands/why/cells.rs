//! Runs cells again with the profiler, up to the last task that is to be explained, and compares their figures.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mountmark_findings::why::{Ledger, ledger};
use mountmark_lab::Ended;
use mountmark_lab::emulator::Profiler;
use mountmark_model::profile::{Interval, Profile, TaskProfile};
use mountmark_model::{Event, Metric, Outcome, Subject};
use mountmark_record::{RunRecord, SampleRef, Samples, Store};
use mountmark_run::pool::{self, Queue};

use super::choose::Chosen;
use crate::commands::resume::{check_inputs, difference};
use crate::commands::run::LabOptions;
use crate::common::WrongUse;

/// A cell whose tasks are to be explained.
pub(in crate::commands) struct Wanted<'a> {
    pub chosen: Chosen<'a>,
    /// Tasks and steps that have time of their own.
    pub tasks: Vec<&'a str>,
    /// The cell's profiles in the store; empty if the run was without the profiler.
    pub kept: Vec<TaskProfile>,
}

impl<'a> Wanted<'a> {
    pub fn of(store: &Store, chosen: Chosen<'a>, tasks: Vec<&'a str>) -> Result<Wanted<'a>> {
        let kept = store.profiles(&chosen.run.id, chosen.record.index, &|task| tasks.contains(&task))?;
        Ok(Wanted { chosen, tasks, kept })
    }

    /// Whether the store tells all, so that no guest runs again.
    pub fn is_kept(&self) -> bool {
        self.tasks.iter().all(|task| self.kept.iter().any(|kept| is_first(kept, task)))
    }
}

/// Where the time of a cell's tasks went.
#[derive(Default)]
pub(in crate::commands) struct Measured {
    /// In the order of the tasks; none if there is a fault.
    pub ledgers: Vec<Ledger>,
    /// Figures that are equal to those without the profiler; `None` if the run itself had it.
    pub figures: Option<usize>,
    /// What differs from the time of the run.
    pub differs: Option<String>,
    /// Why there are no ledgers.
    pub fault: Option<String>,
}

/// How guests run.
#[derive(Clone, Copy)]
pub(in crate::commands) struct ProfileOptions<'a> {
    /// Side by side.
    pub jobs: usize,
    /// As [`LabOptions::silence_limit`].
    pub silence_limit: u64,
    /// Whether paths of calls are recorded.
    pub callers: bool,
    pub stop: &'a AtomicBool,
}

impl ProfileOptions<'_> {
    /// The lab of a run, with the profiler.
    pub fn profiler(&self, run: &RunRecord) -> Result<Profiler> {
        if let ([_, _, ..], [one, other, ..]) = (&run.plan.computers[..], &run.plan.sides[..]) {
            let id = run.id.as_str();
            bail!(WrongUse(format!(
                "run {id} has guests of several kernels or machines: name two of its sides, as in why {id}#{one} {id}#{other}"
            )));
        }
        Profiler::open(LabOptions::of(&run.plan, self.silence_limit).options(&run.plan.machine), self.callers)
    }
}

/// Runs the cells again whose profiles are not kept; `None` if the user stopped it.
pub(in crate::commands) fn measure(wanted: &[Wanted], guests: ProfileOptions) -> Result<Option<Vec<Measured>>> {
    let mut labs: BTreeMap<String, Profiler> = BTreeMap::new();
    for Wanted { chosen, .. } in wanted.iter().filter(|wanted| !wanted.is_kept()) {
        let run = chosen.run;
        check_inputs(run, std::slice::from_ref(chosen.cell), "cannot be explained")?;
        let lab = match labs.entry(run.name()) {
            Entry::Occupied(lab) => lab.into_mut(),
            Entry::Vacant(place) => place.insert(guests.profiler(run)?),
        };
        lab.plain().prepare(&chosen.cell.whole())?;
    }
    let hand = |queue: &Queue, say: &mpsc::SyncSender<(usize, Option<Measured>)>| {
        while let Some(at) = queue.take() {
            let wanted = &wanted[at];
            let measured = match labs.get(&wanted.chosen.run.name()).filter(|_| !wanted.is_kept()) {
                Some(lab) => again(lab, wanted, guests.stop)?,
                None => Some(kept(wanted)?),
            };
            say.send((at, measured))?;
        }
        Ok(())
    };
    let mut found = BTreeMap::new();
    pool::work(wanted.len(), guests.jobs, hand, |(at, measured)| {
        found.insert(at, measured);
        Ok(())
    })?;
    Ok(found.into_values().collect())
}

/// Whether a profile is of the first time that a task ran.
fn is_first(kept: &TaskProfile, task: &str) -> bool {
    kept.task == task && kept.iteration == 0
}

/// From the run's own profiles.
fn kept(wanted: &Wanted) -> Result<Measured> {
    let Chosen { record, cell, .. } = wanted.chosen;
    let ledger = |task: &&str| {
        let found = wanted.kept.iter().find(|kept| is_first(kept, task));
        let kept = found.with_context(|| format!("task {task} has no profile"))?;
        of(&cell.configuration.name, task, &|task, metric| record.figure(task, metric), [&kept.returned, &kept.sync])
    };
    Ok(Measured { ledgers: wanted.tasks.iter().map(ledger).collect::<Result<_>>()?, ..Measured::default() })
}

/// A task's ledger from its figures and profiles.
fn of(
    name: &str,
    task: &str,
    figure: &dyn Fn(&str, &Metric) -> Option<f64>,
    profiles: [&Profile; 2],
) -> Result<Ledger> {
    let nanoseconds = |metric: &Metric| {
        let seconds = figure(task, metric).with_context(|| format!("task {task} has no {}", metric.id))?;
        anyhow::Ok((seconds * 1e9).round() as u64)
    };
    Ok(ledger(name, nanoseconds(&Metric::ELAPSED)?, nanoseconds(&Metric::SYNC)?, profiles))
}

/// Runs a cell with the profiler, until the last of the tasks has ended.
fn again(profiler: &Profiler, wanted: &Wanted, stop: &AtomicBool) -> Result<Option<Measured>> {
    let Wanted { chosen: Chosen { cell, record, .. }, tasks, .. } = wanted;
    let cell = &cell.whole();
    let name = &cell.configuration.name;
    let differs = difference(name, &record.environment, &profiler.plain().environment(cell)?);
    let recorded = match &differs {
        None => Some(of_samples(&record.samples)),
        Some(_) => {
            let plain = until(tasks, stop, |stop, on_event| profiler.plain().run(cell, stop, on_event))?;
            plain.map(|(plain, _)| plain.figures)
        }
    };
    let Some(recorded) = recorded else { return Ok(None) };
    let mut recording = None;
    let profiled = until(tasks, stop, |stop, on_event| {
        let (ended, found) = profiler.record(cell, stop, on_event)?;
        recording = Some(found?);
        Ok(ended)
    })?;
    let Some((said, ended)) = profiled else { return Ok(None) };
    let fault =
        |fault: String| Ok(Some(Measured { differs: differs.clone(), fault: Some(fault), ..Measured::default() }));
    if let Some(reason) = said.failure.or_else(|| ended.reason().map(str::to_owned)) {
        return fault(format!("{reason} on {name} with the profiler, and not without"));
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
    let figure = |task: &str, metric: &Metric| {
        said.figures.get(&(task.to_owned(), 0, metric.id.to_owned())).map(|bits| f64::from_bits(*bits))
    };
    let recording = recording.context("the profiler recorded nothing")?;
    let ledger = |task: &&str| {
        let profile = |interval: Interval| {
            recording.profile(task, interval, 0).with_context(|| {
                format!(
                    "the profiler did not see task {task} on {name}: the guest does not read its clock by instructions"
                )
            })
        };
        of(name, task, &figure, [profile(Interval::Returned)?, profile(Interval::Sync)?])
    };
    let ledgers = tasks.iter().map(ledger).collect::<Result<_>>()?;
    Ok(Some(Measured { ledgers, figures: Some(said.figures.len()), differs, fault: None }))
}

/// Figures by task, iteration and metric, as bits.
type Figures = BTreeMap<(String, u32, String), u64>;

/// What a guest said until its tasks had ended.
#[derive(Default)]
struct Said {
    figures: Figures,
    failure: Option<String>,
}

/// Runs a cell until all of these tasks have ended, or one has failed; `None` if the user stopped it.
fn until(
    tasks: &[&str],
    stop: &AtomicBool,
    run: impl FnOnce(&AtomicBool, &mut dyn FnMut(Event)) -> Result<Ended>,
) -> Result<Option<(Said, Outcome)>> {
    /// Between two looks at the user's wish.
    const LOOK: Duration = Duration::from_millis(100);
    let (enough, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut said = Said::default();
    let mut left = tasks.to_vec();
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
            Event::Ended { task: Subject::Task(ended), outcome } if left.contains(&ended.as_str()) => {
                left.retain(|task| *task != ended);
                said.failure = outcome.reason().map(|reason| format!("task {ended} failed ({reason})"));
                if left.is_empty() || said.failure.is_some() {
                    enough.store(true, Ordering::SeqCst);
                }
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

fn of_samples(samples: &Samples) -> Figures {
    let figure = |sample: SampleRef| {
        ((sample.task.to_owned(), sample.iteration, sample.metric.to_owned()), sample.value.to_bits())
    };
    samples.iter().map(figure).collect()
}
