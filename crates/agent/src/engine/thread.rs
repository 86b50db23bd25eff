//! One thread of a phase, from opening its files to its counts.

use std::sync::atomic::AtomicBool;

use mountmark_model::workload::{Engine as Kind, Pattern};
use mountmark_random::Stream;

use super::access_pattern::share;
use super::clock::{self, Choice, Clock, monotonic};
use super::drive::{self, Choose, Limits, Single, Weighted};
use super::error::EngineError;
use super::flight;
use super::io::{Engine, Mmap, Null, Psync, Stdio, Uring};
use super::recorder::{Found, Recorder};
use super::resolve::{End, Work};
use super::set::Set;
use super::step::{self, Entry};
use super::sys;
use super::worker::{Core, Orders, Worker};

/// A loop, compiled for its engine, clock and chooser.
type Loop<E, C, M> = fn(&mut Worker<'_, E>, &[Entry<E>], &mut M, &mut Recorder, C, Limits<'_>);

/// Runs a phase as one of its threads. `ready` is called once, when all is prepared, with whether this thread can work;
/// it returns when all threads may start. `over` is set when all phases that this one runs beside have ended.
///
/// # Errors
/// A file that cannot be opened, or an io_uring that the kernel refuses.
pub(super) fn run(
    work: &Work,
    set: &Set,
    orders: Orders,
    over: &AtomicBool,
    ready: impl FnOnce(bool) -> bool,
) -> Result<Option<Found>, EngineError> {
    let mut core = Core::new(work, set, orders);
    core.over = (work.end == End::Beside).then_some(over);
    let append = work.pattern == Pattern::Append;
    match work.engine {
        Kind::Null => prepared(Worker { core, engine: Null }, orders, ready, false),
        Kind::Psync => prepared(Worker { core, engine: Psync }, orders, ready, false),
        Kind::Mmap => prepared(Worker { core, engine: Mmap::default() }, orders, ready, false),
        Kind::Stdio => {
            let engine = Stdio::new(work.block as usize, append);
            prepared(Worker { core, engine }, orders, ready, false)
        }
        Kind::Uring => {
            let (start, step) = (core.memory.buffers.as_mut_ptr(), core.memory.step);
            // SAFETY: each buffer lies within the allocation, which is `depth` steps long.
            let buffers: Vec<(*mut u8, usize)> =
                (0..work.depth as usize).map(|tag| (unsafe { start.add(tag * step) }, step)).collect();
            let (first, last) = core.walk.part.files(set.count());
            match Uring::new(work.depth, (last - first) as usize, &buffers) {
                Ok(engine) => prepared(Worker { core, engine }, orders, ready, true),
                Err(error) => {
                    ready(false);
                    let reason = format!(
                        "io_uring refuses {} files and {} buffers of {} bytes: {error}; ulimit -l and -n say how much \
                         is allowed",
                        last - first,
                        work.depth,
                        work.block
                    );
                    Err(EngineError::cannot_run(&work.name, reason))
                }
            }
        }
    }
}

fn prepared<E: Engine>(
    mut worker: Worker<'_, E>,
    orders: Orders,
    ready: impl FnOnce(bool) -> bool,
    in_flight: bool,
) -> Result<Option<Found>, EngineError> {
    // The null engine touches no files, so it opens none.
    let opened = if worker.core.work.engine == Kind::Null { worker.pretend() } else { worker.open_all() };
    worker.core.survey();
    if !ready(opened.is_ok()) {
        return opened.map(|()| None);
    }
    opened?;
    Ok(Some(match clock::best() {
        Choice::Monotonic(clock) => clocked(worker, orders, clock, "monotonic", in_flight),
        Choice::Tsc(clock) => clocked(worker, orders, clock, "tsc", in_flight),
    }))
}

fn clocked<E: Engine, C: Clock>(worker: Worker<'_, E>, orders: Orders, clock: C, name: &str, in_flight: bool) -> Found {
    let work = worker.core.work;
    if let [_] = work.mix[..] {
        looped(worker, orders, clock, name, in_flight, Single)
    } else {
        let weights = work.mix.iter().map(|(_, weight)| *weight);
        let stream = Stream::numbered(orders.seed, "engine mix", u64::from(orders.thread));
        looped(worker, orders, clock, name, in_flight, Weighted::new(weights, stream))
    }
}

/// The loop's limits of operations and time.
fn limits<'a, E>(worker: &Worker<'a, E>) -> Limits<'a> {
    let core = &worker.core;
    let work = core.work;
    let course = if work.on_blocks() { &core.walk.blocks } else { &core.walk.numbers };
    let empty = course.length() == 0;
    let operations = match work.end {
        _ if empty => 0,
        End::Passes(passes) => course.length().saturating_mul(passes),
        End::Operations(operations) => {
            let (from, to) = share(operations, core.walk.part.thread, work.threads);
            to - from
        }
        End::Time(_) | End::Beside => u64::MAX,
    };
    Limits {
        operations,
        time: if let End::Time(time) = work.end { time } else { u64::MAX },
        every: if work.sync.every > 0 && work.on_blocks() { work.sync.every } else { u64::MAX },
        pace: (u64::from(work.threads) * 1_000_000_000).checked_div(work.rate).map_or(0, |pace| pace.max(1)),
        over: core.over,
    }
}

fn looped<E: Engine, C: Clock, M: Choose>(
    mut worker: Worker<'_, E>,
    orders: Orders,
    clock: C,
    clock_name: &str,
    in_flight: bool,
    mut chooser: M,
) -> Found {
    let work = worker.core.work;
    let entries = step::entries::<E>(work);
    let mut recorder = Recorder::new(entries.iter().map(|entry| entry.operation));
    let limits = limits(&worker);
    let run: Loop<E, C, M> = match (in_flight, limits.pace > 0, work.latency) {
        (true, false, _) if !work.verify => flight::flying::<E, C, M, false>,
        (true, _, _) => flight::flying::<E, C, M, true>,
        (false, true, _) => drive::paced::<E, C, M>,
        (false, false, true) => drive::timed::<E, C, M>,
        (false, false, false) => drive::untimed::<E, C, M>,
    };
    if work.warm_up > 0 && limits.operations > 0 {
        let warm = Limits { operations: u64::MAX, time: work.warm_up, ..limits };
        run(&mut worker, &entries, &mut chooser, &mut recorder, clock, warm);
        recorder.clear();
        worker.core.findings.syncs.clear();
    }
    let processor = sys::processor_time();
    let begin = monotonic();
    if !recorder.gave_up() {
        run(&mut worker, &entries, &mut chooser, &mut recorder, clock, limits);
    }
    let drained = worker.engine.drain();
    if drained < 0 {
        worker.core.findings.sentences.push(format!("writing out what was buffered: {}", sys::error(drained)));
    }
    // After reads too, if the phase asks for it: another phase may have written the file.
    if work.sync.end {
        for slot in 0..worker.slots() {
            let before = clock.now();
            if let Some(answer) = drive::sync_slot(&mut worker, slot) {
                let latency = work.latency.then(|| clock.now() - before);
                drive::synced(&mut worker, answer, latency);
            }
        }
    }
    let end = monotonic();
    let after = sys::processor_time();
    let closed = worker.close_all();
    if closed < 0 {
        worker.core.findings.sentences.push(format!("closing files: {}", sys::error(closed)));
    }
    let core = worker.core;
    let mut notes = core.findings.notes;
    if recorder.gave_up() {
        // Without the thread's number, so that all threads' notes are one.
        notes.push("a thread gave up after 1,000 failed operations".to_owned());
    }
    let (kinds, series) = recorder.into_parts(core.findings.syncs);
    Found {
        thread: orders.thread,
        begin,
        end,
        user: after.0 - processor.0,
        system: after.1 - processor.1,
        kinds,
        series,
        verified: core.findings.verified,
        sentences: core.findings.sentences,
        notes,
        clock: clock_name.to_owned(),
    }
}
