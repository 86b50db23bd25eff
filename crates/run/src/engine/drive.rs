//! The loops: an operation, a look at the clock, a count.
//!
//! Each loop is compiled for its engine, clock and way to choose; nothing in it asks how it was configured. The clock is
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

/// Which operation of a mix is next.
pub(super) trait Choose {
    fn next(&mut self) -> usize;
}

/// There is only one.
pub(super) struct Single;

impl Choose for Single {
    #[inline(always)]
    fn next(&mut self) -> usize {
        0
    }
}

/// Drawn by weight, from a table with an entry for each unit of weight where that is short.
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
    /// Operations at most.
    pub(super) operations: u64,
    /// Nanoseconds at most.
    pub(super) time: u64,
    /// Writes from one sync to the next; `u64::MAX` for none.
    pub(super) every: u64,
    /// Nanoseconds from one operation's due time to the next; 0 without a rate.
    pub(super) pace: u64,
    /// Set when all that it runs beside is over.
    pub(super) over: Option<&'a AtomicBool>,
}

impl Limits<'_> {
    #[inline(always)]
    pub(super) fn is_over(&self) -> bool {
        self.over.is_some_and(|over| over.load(Ordering::Relaxed))
    }
}

/// One operation after another, each timed.
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
            // What the engine did for itself within it is not the operation's.
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

/// The same without a look at the clock, but for now and then where the time is limited.
pub(super) fn untimed<E: Engine, C: Clock, M: Choose>(
    worker: &mut Worker<'_, E>,
    entries: &[Entry<E>],
    chooser: &mut M,
    recorder: &mut Recorder,
    clock: C,
    limits: Limits<'_>,
) {
    /// Operations from one look to the next.
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

/// Each operation at its time, or as soon afterwards as the one before it is done; timed from when it was due.
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
        // A stall is felt by what waited behind it, but the time is over for all of them.
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

/// Syncs what the policy says: the file written last, or all that are open. A negative error number if one failed.
fn sync<E: Engine>(worker: &mut Worker<'_, E>) -> i64 {
    if worker.core.work.sync.all_files {
        return sync_all(worker);
    }
    let slot = worker.core.slot;
    sync_slot(worker, slot).unwrap_or(0)
}

/// Syncs all open files. The first error, or 0.
fn sync_all<E: Engine>(worker: &mut Worker<'_, E>) -> i64 {
    (0..worker.slots()).filter_map(|slot| sync_slot(worker, slot)).fold(0, |first, answer| first.min(answer))
}

/// Counts a sync of the policy, and says why it failed: what it was to make durable may be lost.
pub(super) fn synced<E: Engine>(worker: &mut Worker<'_, E>, answer: i64, latency: Option<u64>) {
    if answer < 0 {
        worker.core.explain(Operation::Fsync, answer);
    }
    worker.core.findings.syncs.sync(answer, latency);
}

/// Syncs the file of a slot, if it is open. 0 or a negative error number.
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
