//! Operations on blocks of open files, through the I/O engine.

use std::ffi::c_int;

use super::Pick;
use crate::engine::access_pattern::Place;
use crate::engine::clock::monotonic;
use crate::engine::io::{Action, Engine, Queued, Request};
use crate::engine::worker::{SHORT, Worker};

/// Runs one request to its end; returns bytes or a negative error number.
#[inline(always)]
fn at_once<E: Engine>(engine: &mut E, request: &Request) -> i64 {
    // SAFETY: every caller below passes a buffer of its worker, as long as the place, and waits here for the end.
    match unsafe { engine.queue(request) } {
        Queued::Done(answer) => answer,
        // Asynchronous engines are driven by another loop.
        Queued::Waiting => -i64::from(libc::EINPROGRESS),
    }
}

/// A short count becomes an error.
#[inline(always)]
fn whole(answer: i64, length: usize) -> i64 {
    if answer == length as i64 { answer } else { part(answer) }
}

#[cold]
fn part(answer: i64) -> i64 {
    if answer < 0 { answer } else { SHORT }
}

#[inline(always)]
fn request(action: Action, place: Place, file: i64, buffer: *mut u8) -> Request {
    Request {
        action,
        slot: place.slot,
        file: file as c_int,
        offset: place.offset,
        buffer,
        length: place.length,
        tag: 0,
        drain: false,
    }
}

pub(super) fn read<E: Engine>(worker: &mut Worker<'_, E>, _: Pick) -> i64 {
    let place = worker.core.walk.blocks.place();
    let file = worker.file(place.slot);
    if file < 0 {
        return file;
    }
    let buffer = worker.core.memory.buffers.as_mut_ptr();
    whole(at_once(&mut worker.engine, &request(Action::Read, place, file, buffer)), place.length)
}

pub(super) fn read_characters<E: Engine>(worker: &mut Worker<'_, E>, _: Pick) -> i64 {
    let place = worker.core.walk.blocks.place();
    let buffer = worker.core.memory.buffers.as_mut_ptr();
    characters(worker, Action::Read, place, buffer)
}

pub(super) fn write_characters<E: Engine>(worker: &mut Worker<'_, E>, _: Pick) -> i64 {
    let place = worker.core.walk.blocks.place();
    let buffer = worker.core.memory.pool.take();
    characters(worker, Action::Write, place, buffer)
}

fn characters<E: Engine>(worker: &mut Worker<'_, E>, action: Action, place: Place, buffer: *mut u8) -> i64 {
    let file = worker.file(place.slot);
    if file < 0 {
        return file;
    }
    // SAFETY: the buffer is the worker's, one block long, and unused until this returns.
    match unsafe { worker.engine.queue_characters(&request(action, place, file, buffer)) } {
        Queued::Done(answer) => whole(answer, place.length),
        Queued::Waiting => -i64::from(libc::EINPROGRESS),
    }
}

pub(super) fn read_checked<E: Engine>(worker: &mut Worker<'_, E>, _: Pick) -> i64 {
    let place = worker.core.walk.blocks.place();
    let file = worker.file(place.slot);
    if file < 0 {
        return file;
    }
    // Data left by an earlier operation must not pass for data that was read.
    let begin = monotonic();
    worker.core.memory.buffers[..place.length].fill(0xa5);
    worker.core.aside = monotonic() - begin;
    let buffer = worker.core.memory.buffers.as_mut_ptr();
    let answer = whole(at_once(&mut worker.engine, &request(Action::Read, place, file, buffer)), place.length);
    if answer < 0 {
        return answer;
    }
    check(worker, place)
}

/// Checks the first buffer, outside the measured time.
fn check<E: Engine>(worker: &mut Worker<'_, E>, place: Place) -> i64 {
    let begin = monotonic();
    let core = &mut worker.core;
    // SAFETY: the buffer is as long as a block and lives as long as the core; checking changes only counts and texts.
    let bytes = unsafe { std::slice::from_raw_parts(core.memory.buffers.as_ptr(), place.length) };
    let answer = core.check(bytes, place.slot, place.offset);
    core.aside += monotonic() - begin;
    answer
}

pub(super) fn write<E: Engine>(worker: &mut Worker<'_, E>, _: Pick) -> i64 {
    let place = worker.core.walk.blocks.place();
    let file = worker.file(place.slot);
    if file < 0 {
        return file;
    }
    let buffer = worker.core.memory.pool.take();
    whole(at_once(&mut worker.engine, &request(Action::Write, place, file, buffer)), place.length)
}

pub(super) fn write_tagged<E: Engine>(worker: &mut Worker<'_, E>, _: Pick) -> i64 {
    let place = worker.core.walk.blocks.place();
    let file = worker.file(place.slot);
    if file < 0 {
        return file;
    }
    worker.core.aside = 0;
    write_tags(worker, place, file)
}

fn write_tags<E: Engine>(worker: &mut Worker<'_, E>, place: Place, file: i64) -> i64 {
    let begin = monotonic();
    let core = &mut worker.core;
    let number = core.walk.first + u64::from(place.slot);
    core.contents.tags.fill(&mut core.memory.buffers[..place.length], number, place.offset, core.contents.generation);
    core.aside += monotonic() - begin;
    let buffer = core.memory.buffers.as_mut_ptr();
    whole(at_once(&mut worker.engine, &request(Action::Write, place, file, buffer)), place.length)
}

pub(super) fn rewrite<E: Engine>(worker: &mut Worker<'_, E>, _: Pick) -> i64 {
    let place = worker.core.walk.blocks.place();
    let file = worker.file(place.slot);
    if file < 0 {
        return file;
    }
    let buffer = worker.core.memory.buffers.as_mut_ptr();
    let answer = whole(at_once(&mut worker.engine, &request(Action::Read, place, file, buffer)), place.length);
    if answer < 0 {
        return answer;
    }
    worker.core.memory.buffers[0] = worker.core.memory.buffers[0].wrapping_add(1);
    whole(at_once(&mut worker.engine, &request(Action::Write, place, file, buffer)), place.length)
}

pub(super) fn rewrite_checked<E: Engine>(worker: &mut Worker<'_, E>, _: Pick) -> i64 {
    let place = worker.core.walk.blocks.place();
    let file = worker.file(place.slot);
    if file < 0 {
        return file;
    }
    worker.core.aside = 0;
    let buffer = worker.core.memory.buffers.as_mut_ptr();
    let answer = whole(at_once(&mut worker.engine, &request(Action::Read, place, file, buffer)), place.length);
    if answer < 0 {
        return answer;
    }
    let checked = check(worker, place);
    if checked < 0 {
        return checked;
    }
    write_tags(worker, place, file)
}

pub(super) fn fallocate<E: Engine>(worker: &mut Worker<'_, E>, _: Pick) -> i64 {
    let place = worker.core.walk.blocks.place();
    let file = worker.file(place.slot);
    if file < 0 {
        return file;
    }
    let answer = crate::engine::sys::fallocate(file as c_int, place.offset, place.length as u64);
    if answer < 0 { answer } else { place.length as i64 }
}

pub(super) fn sync<E: Engine, const DATA_ONLY: bool>(worker: &mut Worker<'_, E>, _: Pick) -> i64 {
    let place = worker.core.walk.blocks.place();
    let file = worker.file(place.slot);
    if file < 0 {
        return file;
    }
    let action = if DATA_ONLY { Action::SyncData } else { Action::Sync };
    at_once(&mut worker.engine, &request(action, place, file, std::ptr::null_mut())).min(0)
}
