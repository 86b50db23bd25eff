//! Operations that open, process and close a file. They use plain system calls with every engine.

use std::ffi::c_int;

use super::{Pick, choose};
use crate::engine::clock::monotonic;
use crate::engine::io::Engine;
use crate::engine::sys;
use crate::engine::worker::{Core, SHORT, Worker};

/// An open file, closed on drop.
struct Open(c_int);

impl Open {
    fn new(core: &Core<'_>, flags: c_int) -> Result<Open, i64> {
        let file = sys::openat(core.set.folder(), &core.name, flags);
        if file < 0 { Err(file) } else { Ok(Open(file as c_int)) }
    }

    /// Closes the file and returns an error of that: some file systems report a full disk only then.
    fn close(self, answer: i64) -> i64 {
        let closed = sys::close(self.0);
        std::mem::forget(self);
        if answer < 0 { answer } else { closed.min(0) + answer * i64::from(closed >= 0) }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        sys::close(self.0);
    }
}

/// The phase's sync policy as flags for opening.
fn writing(core: &Core<'_>) -> c_int {
    core.open.flags & (libc::O_SYNC | libc::O_DSYNC)
}

fn answered(result: Result<i64, i64>) -> i64 {
    result.unwrap_or_else(|error| error)
}

pub(super) fn read_file<E: Engine, const CHECKED: bool>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    answered(try_read_file::<CHECKED>(&mut worker.core, pick))
}

fn try_read_file<const CHECKED: bool>(core: &mut Core<'_>, pick: Pick) -> Result<i64, i64> {
    let file = choose(core, pick)?;
    core.aside = 0;
    let open = Open::new(core, libc::O_RDONLY)?;
    let block = core.work.block as usize;
    let mut total = 0;
    loop {
        let answer = sys::read(open.0, &mut core.memory.buffers[..block]);
        if answer <= 0 {
            let answer = if answer < 0 { answer } else { total };
            if CHECKED && answer >= 0 && (total as u64) < core.set.size(file) {
                return Err(SHORT);
            }
            return Ok(open.close(answer));
        }
        if CHECKED {
            let begin = monotonic();
            let slot = (file - core.walk.first) as u32;
            // SAFETY: the buffer is as long as a block and lives as long as the core; checking does not change it.
            let bytes = unsafe { std::slice::from_raw_parts(core.memory.buffers.as_ptr(), answer as usize) };
            let checked = core.check(bytes, slot, total as u64);
            core.aside += monotonic() - begin;
            if checked < 0 {
                return Err(checked);
            }
        }
        total += answer;
    }
}

pub(super) fn write_file<E: Engine, const TAGGED: bool>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    answered(try_write_file::<TAGGED>(&mut worker.core, pick))
}

fn try_write_file<const TAGGED: bool>(core: &mut Core<'_>, pick: Pick) -> Result<i64, i64> {
    let file = choose(core, pick)?;
    core.aside = 0;
    let size = core.set.size(file);
    let open = Open::new(core, libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | writing(core))?;
    let mut total = 0;
    while total < size {
        let length = (size - total).min(core.work.block) as usize;
        let answer = if TAGGED {
            let begin = monotonic();
            core.contents.tags.fill(&mut core.memory.buffers[..length], file, total, core.contents.generation);
            core.aside += monotonic() - begin;
            sys::write(open.0, &core.memory.buffers[..length])
        } else {
            let contents = core.memory.pool.take();
            // SAFETY: the pool's blocks are one block long and stay unchanged until the pool wraps around.
            sys::write(open.0, unsafe { std::slice::from_raw_parts(contents, length) })
        };
        if answer != length as i64 {
            return Err(if answer < 0 { answer } else { SHORT });
        }
        total += length as u64;
    }
    let answer = synced(core, open.0, size as i64);
    Ok(open.close(answer))
}

/// For whole files, `sync.every = 1` is a sync before each is closed: afterwards there is no open file to sync. Its
/// time is part of the operation's, and it is also counted as a sync.
fn synced(core: &mut Core<'_>, file: c_int, answer: i64) -> i64 {
    let sync = &core.work.sync;
    if sync.every != 1 && !sync.end {
        return answer;
    }
    let begin = if core.work.latency { monotonic() } else { 0 };
    let synced = if sync.data_only { sys::fdatasync(file) } else { sys::fsync(file) };
    core.findings.syncs.sync(synced, core.work.latency.then(|| monotonic() - begin));
    if synced < 0 { synced } else { answer }
}

pub(super) fn append_file<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    answered(try_append_file(&mut worker.core, pick))
}

fn try_append_file(core: &mut Core<'_>, pick: Pick) -> Result<i64, i64> {
    choose(core, pick)?;
    let open = Open::new(core, libc::O_WRONLY | libc::O_APPEND | writing(core))?;
    let length = core.work.block as usize;
    let contents = core.memory.pool.take();
    // SAFETY: the pool's blocks are one block long and stay unchanged until the pool wraps around.
    let answer = sys::write(open.0, unsafe { std::slice::from_raw_parts(contents, length) });
    if answer != length as i64 {
        return Err(if answer < 0 { answer } else { SHORT });
    }
    let answer = synced(core, open.0, answer);
    Ok(open.close(answer))
}

/// Opens the next file, and creates the one with the target's name.
fn pair(core: &mut Core<'_>, pick: Pick) -> Result<(Open, Open), i64> {
    let file = choose(core, pick)?;
    let from = Open::new(core, libc::O_RDONLY)?;
    core.set.name(core.work.target.as_bytes(), file, &mut core.other);
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | writing(core);
    let to = sys::openat(core.set.folder(), &core.other, flags);
    if to < 0 { Err(to) } else { Ok((from, Open(to as c_int))) }
}

pub(super) fn copy_file<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    let core = &mut worker.core;
    let copied = pair(core, pick).and_then(|(from, to)| {
        let mut total = 0;
        loop {
            let answer = sys::copy_file_range(from.0, to.0, core.work.block as usize);
            if answer <= 0 {
                let answer = if answer < 0 { answer } else { synced(core, to.0, total) };
                return Ok(to.close(answer));
            }
            total += answer;
        }
    });
    answered(copied)
}

pub(super) fn reflink_file<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    let core = &mut worker.core;
    let linked = pair(core, pick).map(|(from, to)| {
        let answer = sys::reflink(from.0, to.0);
        let size = sys::size(from.0).max(0);
        let answer = if answer < 0 { answer } else { synced(core, to.0, size) };
        to.close(answer)
    });
    answered(linked)
}

pub(super) fn truncate<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    let core = &mut worker.core;
    let truncated = choose(core, pick).and_then(|file| {
        let size = core.set.size(file);
        let open = Open::new(core, libc::O_WRONLY)?;
        let cut = sys::ftruncate(open.0, size / 2);
        let grown = if cut < 0 { cut } else { sys::ftruncate(open.0, size) };
        Ok(open.close(grown))
    });
    answered(truncated)
}
