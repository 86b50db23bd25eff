//! Operations on names: one or two system calls each.

use std::ffi::c_int;
use std::os::unix::ffi::OsStrExt;

use super::{Pick, choose};
use crate::engine::io::Engine;
use crate::engine::sys;
use crate::engine::worker::{Core, Worker};

/// Runs `act` on the next file's name.
#[inline(always)]
fn on_next<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick, act: impl FnOnce(&mut Core<'_>, u64) -> i64) -> i64 {
    match choose(&mut worker.core, pick) {
        Ok(file) => act(&mut worker.core, file),
        Err(error) => error,
    }
}

#[inline(always)]
fn opened_and_closed(core: &Core<'_>, flags: c_int) -> i64 {
    let file = sys::openat(core.set.folder(), &core.name, flags);
    if file < 0 { file } else { sys::close(file as c_int) }
}

pub(super) fn create<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    on_next(worker, pick, |core, _| opened_and_closed(core, libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY))
}

pub(super) fn open<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    on_next(worker, pick, |core, _| opened_and_closed(core, libc::O_RDONLY))
}

pub(super) fn stat<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    // A stat returns a size, but moves no data.
    on_next(worker, pick, |core, _| sys::stat(core.set.folder(), &core.name).min(0))
}

pub(super) fn unlink<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    on_next(worker, pick, |core, _| sys::unlink(core.set.folder(), &core.name))
}

pub(super) fn mkdir<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    on_next(worker, pick, |core, _| sys::mkdir(core.set.folder(), &core.name))
}

pub(super) fn rmdir<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    on_next(worker, pick, |core, _| sys::rmdir(core.set.folder(), &core.name))
}

pub(super) fn chmod<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    on_next(worker, pick, |core, file| {
        // Two modes in turn, so that each call changes something; the owner can always read and write.
        let mode = if file & 1 == 0 { 0o600 } else { 0o640 };
        sys::chmod(core.set.folder(), &core.name, mode | (core.contents.generation & 1) << 2)
    })
}

/// Runs `act` on the old and the new name.
#[inline(always)]
fn to_target<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick, act: fn(c_int, &sys::Name, &sys::Name) -> i64) -> i64 {
    on_next(worker, pick, |core, file| {
        core.set.name(core.work.target.as_bytes(), file, &mut core.other);
        act(core.set.folder(), &core.name, &core.other)
    })
}

pub(super) fn rename<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    to_target(worker, pick, sys::rename)
}

pub(super) fn link<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    to_target(worker, pick, sys::link)
}

pub(super) fn symlink<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    to_target(worker, pick, sys::symlink)
}

/// Writes the next file's absolute path to `other`.
#[inline(always)]
fn whole_path(core: &mut Core<'_>) {
    core.other.clear();
    core.other.push(core.set.path().as_os_str().as_bytes());
    core.other.push(b"/");
    core.other.push(core.name.as_bytes());
}

pub(super) fn setxattr<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    on_next(worker, pick, |core, file| {
        whole_path(core);
        let mut value = [0x5a; 64];
        value[..8].copy_from_slice(&file.to_le_bytes());
        value[8..12].copy_from_slice(&core.contents.generation.to_le_bytes());
        sys::setxattr(&core.other, &value)
    })
}

pub(super) fn getxattr<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    on_next(worker, pick, |core, _| {
        whole_path(core);
        let mut value = [0; 64];
        sys::getxattr(&core.other, &mut value).min(0)
    })
}

pub(super) fn readdir<E: Engine>(worker: &mut Worker<'_, E>, pick: Pick) -> i64 {
    let core = &mut worker.core;
    let number = pick(core);
    let directory = if core.set.directories() > 0 { number % core.set.directories() } else { 0 };
    core.set.directory_name(directory, &mut core.name);
    let file = sys::openat(core.set.folder(), &core.name, libc::O_RDONLY | libc::O_DIRECTORY);
    if file < 0 {
        return file;
    }
    let answer = loop {
        let answer = sys::getdents(file as c_int, &mut core.memory.entries);
        if answer <= 0 {
            break answer;
        }
    };
    let closed = sys::close(file as c_int);
    if answer < 0 { answer } else { closed }
}
