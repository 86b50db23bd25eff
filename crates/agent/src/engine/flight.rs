//! The loop for engines with many operations in flight.
//!
//! The clock is read once per batch: operations that are reaped together end at that time, and those that replace them
//! begin at it.

use std::ffi::c_int;

use mountmark_model::workload::Operation;

use super::clock::Clock;
use super::drive::{self, Choose, Limits};
use super::io::{Action, Engine, Queued, Request};
use super::recorder::Recorder;
use super::step::Entry;
use super::worker::{SHORT, Worker};

#[derive(Clone, Copy)]
struct Flying {
    kind: usize,
    /// A sync of the policy, not an operation of the mix.
    sync: bool,
    slot: u32,
    offset: u64,
    length: usize,
    begin: u64,
}

/// The loop's state besides the worker.
struct Sky<'r, C> {
    flying: Vec<Flying>,
    free: Vec<u32>,
    recorder: &'r mut Recorder,
    clock: C,
    start: u64,
    until_sync: u64,
    every: u64,
    sync_due: bool,
}

/// Keeps the phase's queue depth in flight.
///
/// `CAREFUL`: contents carry tags, or operations have due times; both are rare, and slow the loop.
pub(super) fn flying<E: Engine, C: Clock, M: Choose, const CAREFUL: bool>(
    worker: &mut Worker<'_, E>,
    entries: &[Entry<E>],
    chooser: &mut M,
    recorder: &mut Recorder,
    clock: C,
    limits: Limits<'_>,
) {
    let depth = worker.core.work.depth;
    let none = Flying { kind: 0, sync: false, slot: 0, offset: 0, length: 0, begin: 0 };
    let start = clock.now();
    let mut sky = Sky {
        flying: vec![none; depth as usize],
        free: (0..depth).rev().collect(),
        recorder,
        clock,
        start,
        until_sync: limits.every,
        every: limits.every,
        sync_due: false,
    };
    let mut left = limits.operations;
    let mut now = start;
    let mut stopped = false;
    loop {
        stopped |= now - start >= limits.time || limits.is_over();
        // An operation that is not yet due waits; with others in flight it is checked again when one of them ends.
        while !stopped && (left > 0 || sky.sync_due) {
            let Some(tag) = sky.free.pop() else { break };
            let due = if CAREFUL { start + (limits.operations - left).wrapping_mul(limits.pace) } else { 0 };
            if CAREFUL && limits.pace > 0 && due > now {
                if sky.free.len() + 1 < depth as usize {
                    sky.free.push(tag);
                    break;
                }
                std::thread::sleep(std::time::Duration::from_nanos(due - now));
                now = sky.clock.now();
            }
            let begin = if CAREFUL && limits.pace > 0 { due } else { now };
            if sky.sync_due {
                sky.sync_due = false;
                launch_sync(worker, &mut sky, tag, begin);
                continue;
            }
            left -= 1;
            let kind = chooser.next();
            let Some(entry) = entries.get(kind) else { return };
            let answer = launch::<E, C, CAREFUL>(worker, &mut sky, entry, kind, tag, begin);
            if answer < 0 {
                sky.free.push(tag);
                worker.core.explain(entry.operation, answer);
                stopped |= sky.recorder.fail(kind);
            }
        }
        let in_flight = depth - sky.free.len() as u32;
        if in_flight == 0 {
            return;
        }
        let committed = worker.engine.commit(1);
        if committed < 0 {
            worker.core.findings.sentences.push(format!("io_uring: {}", super::sys::error(committed)));
            return;
        }
        now = sky.clock.now();
        while let Some((tag, answer)) = worker.engine.reap() {
            stopped |= land::<E, C, CAREFUL>(worker, &mut sky, entries, tag, answer, now);
            sky.free.push(tag);
        }
    }
}

/// Queues the next operation of the mix. Negative error number if it was refused.
#[inline(always)]
fn launch<E: Engine, C: Clock, const CAREFUL: bool>(
    worker: &mut Worker<'_, E>,
    sky: &mut Sky<'_, C>,
    entry: &Entry<E>,
    kind: usize,
    tag: u32,
    begin: u64,
) -> i64 {
    let place = worker.core.walk.blocks.place();
    let file = worker.file(place.slot);
    if file < 0 {
        return file;
    }
    let core = &mut worker.core;
    let at = tag as usize * core.memory.step;
    let action = match entry.operation {
        Operation::Read => Action::Read,
        Operation::Write => {
            let buffer = &mut core.memory.buffers[at..at + place.length];
            if CAREFUL && core.work.verify {
                let number = core.walk.first + u64::from(place.slot);
                core.contents.tags.fill(buffer, number, place.offset, core.contents.generation);
            } else {
                // The kernel knows the buffers by number, so copy the contents into a registered one.
                let contents = core.memory.pool.take();
                // SAFETY: the pool's blocks are a block long, and never overlap the buffers.
                unsafe { std::ptr::copy_nonoverlapping(contents, buffer.as_mut_ptr(), place.length) };
            }
            Action::Write
        }
        _ if core.work.sync.data_only => Action::SyncData,
        _ => Action::Sync,
    };
    sky.until_sync -= entry.writes;
    if sky.until_sync == 0 {
        sky.until_sync = sky.every;
        sky.sync_due = true;
    }
    sky.flying[tag as usize] =
        Flying { kind, sync: false, slot: place.slot, offset: place.offset, length: place.length, begin };
    let buffer = core.memory.buffers[at..at + place.length].as_mut_ptr();
    let (offset, length) = (place.offset, place.length);
    let request = Request { action, slot: place.slot, file: file as c_int, offset, buffer, length, tag, drain: false };
    // SAFETY: this tag owns the buffer until the operation completes, and the worker outlives its engine's operations.
    match unsafe { worker.engine.queue(&request) } {
        Queued::Waiting => 0,
        Queued::Done(answer) => answer.min(-i64::from(libc::EBUSY)),
    }
}

fn launch_sync<E: Engine, C: Clock>(worker: &mut Worker<'_, E>, sky: &mut Sky<'_, C>, tag: u32, begin: u64) {
    let slot = worker.core.slot;
    let action = if worker.core.work.sync.data_only { Action::SyncData } else { Action::Sync };
    let file = worker.open_file(slot).unwrap_or(-1);
    sky.flying[tag as usize] = Flying { kind: 0, sync: true, slot, offset: 0, length: 0, begin };
    // Without draining the kernel may sync before the writes that the sync covers.
    // SAFETY: a sync uses no buffer.
    if let Queued::Done(answer) = unsafe { worker.engine.queue(&Request::sync(action, slot, file, tag)) } {
        drive::synced(worker, answer, None);
        sky.free.push(tag);
    }
}

/// Counts a completed operation; true if the thread should give up.
#[inline(always)]
fn land<E: Engine, C: Clock, const CAREFUL: bool>(
    worker: &mut Worker<'_, E>,
    sky: &mut Sky<'_, C>,
    entries: &[Entry<E>],
    tag: u32,
    answer: i64,
    now: u64,
) -> bool {
    let Some(flying) = sky.flying.get(tag as usize).copied() else { return true };
    let latency = now.saturating_sub(flying.begin);
    if flying.sync {
        let slot = std::mem::replace(&mut worker.core.slot, flying.slot);
        drive::synced(worker, answer, Some(latency));
        worker.core.slot = slot;
        return false;
    }
    let Some(entry) = entries.get(flying.kind) else { return true };
    let moves = matches!(entry.operation, Operation::Read | Operation::Write);
    let mut answer = match answer {
        answer if answer < 0 => answer,
        answer if moves && answer != flying.length as i64 => SHORT,
        answer => answer,
    };
    if CAREFUL && worker.core.work.verify && answer >= 0 && entry.operation == Operation::Read {
        let core = &mut worker.core;
        let at = tag as usize * core.memory.step;
        // SAFETY: the operation has completed, so the buffer is ours again; checking does not change it.
        let bytes = unsafe { std::slice::from_raw_parts(core.memory.buffers.as_ptr().add(at), flying.length) };
        answer = core.check(bytes, flying.slot, flying.offset);
    }
    if answer < 0 {
        worker.core.slot = flying.slot;
        worker.core.explain(entry.operation, answer);
        return sky.recorder.fail(flying.kind);
    }
    sky.recorder.record(flying.kind, answer as u64, latency, now.saturating_sub(sky.start));
    false
}
