//! The loops: run an operation, read the clock, count.
//!
//! Each loop is compiled for its engine, clock and chooser, so that it never checks its configuration. The clock is
//! read once per operation: the end of one is the start of the next.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use mountmark_model::workload::Operation;
use mountmark_random::Stream;

use super::clock::Clock;
use super::io::{Action, Engine, Queued, Request};
use super::recorder::Recorder;
use super::step::Entry;
use super::worker::Worker;

/// Chooses the next operation of a mix.
pub(super) trait Choose {
    fn next(&mut self) -> usize;
}

/// A mix of one operation.
pub(super) struct Single;

impl Choose for Single {
    #[inline(always)]
    fn next(&mut self) -> usize {
        0
    }
}

/// Draws by weight, from a table with an entry per unit of weight if that is short.
pub(super) struct Weighted {
    stream: Stream,
    table: Vec<u8>,
}

impl Weighted {
    /// `weights` add up to at most 1,000,000; there are at most 24 of them.
    pub(super) fn new(weights: impl Iterator<Item = u32>, stream: Stream) -> Weighted {
        let table = weights.zip(0u8..).flat_map(|(weight, kind)| std::iter::repeat_n(kind, weight as usize)).collect();
        Weighted { stream, table }
    }
}

impl Choose for Weighted {
    #[inline(always)]
    fn next(&mut self) -> usize {
        usize::from(self.table[self.stream.below(self.table.len() as u64) as usize])
    }
}

/// When a loop ends and when it syncs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits<'a> {
    pub(super) operations: u64,
    /// Nanoseconds.
    pub(super) time: u64,
    /// Writes between two syncs; `u64::MAX` for no syncs.
    pub(super) every: u64,
    /// Nanoseconds between two operations' due times; 0 without a rate.
    pub(super) pace: u64,
    /// Set when all phases that it runs beside have ended.
    pub(super) over: Option<&'a AtomicBool>,
}

impl Limits<'_> {
    #[inline(always)]
    pub(super) fn is_over(&self) -> bool {
        self.over.is_some_and(|over| over.load(Ordering::Relaxed))
    }
}

/// Runs one operation after another and times each.
pub(super) fn timed<E: Engine, C: Clock, M: Choose>(
    worker: &mut Worker<'_, E>,
    entries: &[Entry<E>],
    chooser: &mut M,
    recorder: &mut Recorder,
    clock: C,
    limits: Limits<'_>,
) {
    let start = clock.now();
    let mut last = start;
    let mut left = limits.operations;
    let mut until_sync = limits.every;
    while left > 0 {
        let kind = chooser.next();
        let Some(entry) = entries.get(kind) else { return };
        let answer = (entry.step)(worker, entry.pick);
        let now = clock.now();
        if answer >= 0 {
            // The engine's own work within the operation does not count.
            let latency = (now - last).saturating_sub(std::mem::take(&mut worker.core.aside));
            recorder.record(kind, answer as u64, latency, now - start);
        } else if failed(worker, entry, recorder, kind, answer) {
            return;
        }
        last = now;
        left -= 1;
        until_sync -= entry.writes;
        if until_sync == 0 {
            until_sync = limits.every;
            let answer = sync(worker);
            last = clock.now();
            synced(worker, answer, Some(last - now));
        }
        if last - start >= limits.time || limits.is_over() {
            return;
        }
    }
}

/// Runs operations without timing them; the clock is read now and then if the time is limited.
pub(super) fn untimed<E: Engine, C: Clock, M: Choose>(
    worker: &mut Worker<'_, E>,
    entries: &[Entry<E>],
    chooser: &mut M,
    recorder: &mut Recorder,
    clock: C,
    limits: Limits<'_>,
) {
    /// Operations between two readings of the clock.
    const UNSEEN: u64 = 64;
    let start = clock.now();
    let mut left = limits.operations;
    let mut until_sync = limits.every;
    while left > 0 {
        for _ in 0..left.min(UNSEEN) {
            let kind = chooser.next();
            let Some(entry) = entries.get(kind) else { return };
            let answer = (entry.step)(worker, entry.pick);
            if answer >= 0 {
                recorder.count(kind, answer as u64);
            } else if failed(worker, entry, recorder, kind, answer) {
                return;
            }
            until_sync -= entry.writes;
            if until_sync == 0 {
                until_sync = limits.every;
                let answer = sync(worker);
                synced(worker, answer, None);
            }
        }
        left -= left.min(UNSEEN);
        if limits.is_over() || limits.time < u64::MAX && clock.now() - start >= limits.time {
            return;
        }
    }
}

/// Starts each operation when it is due, or as soon afterwards as the previous one is done; latency counts from the due
/// time.
pub(super) fn paced<E: Engine, C: Clock, M: Choose>(
    worker: &mut Worker<'_, E>,
    entries: &[Entry<E>],
    chooser: &mut M,
    recorder: &mut Recorder,
    clock: C,
    limits: Limits<'_>,
) {
    let start = clock.now();
    let mut due = start;
    let mut until_sync = limits.every;
    for _ in 0..limits.operations {
        if due - start >= limits.time || limits.is_over() {
            return;
        }
        let now = clock.now();
        if now < due {
            std::thread::sleep(std::time::Duration::from_nanos(due - now));
            if limits.is_over() {
                return;
            }
        }
        let kind = chooser.next();
        let Some(entry) = entries.get(kind) else { return };
        let answer = (entry.step)(worker, entry.pick);
        let now = clock.now();
        if answer >= 0 {
            let latency = now.saturating_sub(due).saturating_sub(std::mem::take(&mut worker.core.aside));
            recorder.record(kind, answer as u64, latency, now - start);
        } else if failed(worker, entry, recorder, kind, answer) {
            return;
        }
        until_sync -= entry.writes;
        if until_sync == 0 {
            until_sync = limits.every;
            let answer = sync(worker);
            synced(worker, answer, Some(clock.now() - now));
        }
        due += limits.pace;
        // Operations queued behind a stall count it as latency, but all of them end with the phase.
        if now - start >= limits.time {
            return;
        }
    }
}

#[cold]
fn failed<E>(worker: &mut Worker<'_, E>, entry: &Entry<E>, recorder: &mut Recorder, kind: usize, answer: i64) -> bool {
    worker.core.aside = 0;
    worker.core.explain(entry.operation, answer);
    recorder.fail(kind)
}

/// Runs the policy's sync: of the file written last, or of all open files. Negative error number if one failed.
fn sync<E: Engine>(worker: &mut Worker<'_, E>) -> i64 {
    if worker.core.work.sync.all_files {
        return sync_all(worker);
    }
    let slot = worker.core.slot;
    sync_slot(worker, slot).unwrap_or(0)
}

/// Syncs all open files. Returns the first error, or 0.
fn sync_all<E: Engine>(worker: &mut Worker<'_, E>) -> i64 {
    (0..worker.slots()).filter_map(|slot| sync_slot(worker, slot)).fold(0, |first, answer| first.min(answer))
}

/// Counts a sync of the policy and records why it failed: the data it covered may be lost.
pub(super) fn synced<E: Engine>(worker: &mut Worker<'_, E>, answer: i64, latency: Option<u64>) {
    if answer < 0 {
        worker.core.explain(Operation::Fsync, answer);
    }
    worker.core.findings.syncs.sync(answer, latency);
}

/// Syncs the file of a slot: 0 or a negative error number; `None` if it is not open.
pub(super) fn sync_slot<E: Engine>(worker: &mut Worker<'_, E>, slot: u32) -> Option<i64> {
    let action = if worker.core.work.sync.data_only { Action::SyncData } else { Action::Sync };
    let file = worker.open_file(slot)?;
    Some(sync_one(&mut worker.engine, action, slot, file))
}

fn sync_one<E: Engine>(engine: &mut E, action: Action, slot: u32, file: c_int) -> i64 {
    // SAFETY: a sync uses no buffer.
    match unsafe { engine.queue(&Request::sync(action, slot, file, 0)) } {
        Queued::Done(answer) => answer,
        Queued::Waiting => {
            let committed = engine.commit(1);
            if committed < 0 {
                return committed;
            }
            engine.reap().map_or(-i64::from(libc::EIO), |(_, answer)| answer)
        }
    }
}
