//! A thread's open files, limited to as many as it may have open at once.

use std::collections::VecDeque;
use std::ffi::c_int;

use mountmark_model::workload::{OpenSync, Operation, Pattern};

use super::error::EngineError;
use super::io::Engine;
use super::resolve::Work;
use super::sys;
use super::worker::Worker;

pub(super) struct OpenFiles {
    /// -1 where the file is not open.
    slots: Vec<c_int>,
    /// Slots in the order of opening; only used where not all can be open at once.
    opened: VecDeque<u32>,
    capacity: usize,
    pub(super) flags: c_int,
    pub(super) writable: bool,
}

impl OpenFiles {
    pub(super) fn new(work: &Work, slots: usize, capacity: u64) -> OpenFiles {
        let writable = work.has(|o| !matches!(o, Operation::Read | Operation::Fsync));
        let capacity = (capacity as usize).max(1);
        OpenFiles {
            slots: vec![-1; slots],
            opened: VecDeque::with_capacity(if slots > capacity { capacity } else { 0 }),
            capacity,
            flags: flags(work, writable),
            writable,
        }
    }
}

/// The flags to open a phase's files with.
fn flags(work: &Work, writable: bool) -> c_int {
    let mut flags = if writable { libc::O_RDWR } else { libc::O_RDONLY };
    if work.has(|o| matches!(o, Operation::Write | Operation::Fallocate)) {
        flags |= libc::O_CREAT;
    }
    if work.direct {
        flags |= libc::O_DIRECT;
    }
    if work.pattern == Pattern::Append {
        flags |= libc::O_APPEND;
    }
    flags
        | match work.sync.open {
            OpenSync::None => 0,
            OpenSync::Dsync => libc::O_DSYNC,
            OpenSync::Sync => libc::O_SYNC,
        }
}

impl<E: Engine> Worker<'_, E> {
    /// The descriptor of a slot, or a negative error number.
    #[inline(always)]
    pub(super) fn file(&mut self, slot: u32) -> i64 {
        self.core.slot = slot;
        let file = self.core.open.slots[slot as usize];
        if file >= 0 { i64::from(file) } else { self.open(slot) }
    }

    /// Opens the thread's files, as many as may be open. Untimed.
    ///
    /// # Errors
    /// The first file that cannot be opened, or that is shorter than what is to be read from it.
    pub(super) fn open_all(&mut self) -> Result<(), EngineError> {
        let slots = self.core.open.slots.len();
        let reads_only = self.core.work.has(|o| matches!(o, Operation::Read | Operation::Rewrite))
            && !self.core.work.has(|o| o == Operation::Write);
        for slot in 0..slots.min(self.core.open.capacity) as u32 {
            let file = self.open(slot);
            let io = |doing, answer| {
                let path = self.core.set.full_path(&self.core.name);
                EngineError::io(doing, path)(sys::error(answer))
            };
            if file < 0 {
                return Err(io("cannot open", file));
            }
            let needed = self.core.set.size(self.core.walk.first + u64::from(slot));
            let there = sys::size(file as c_int);
            if reads_only && there >= 0 && (there as u64) < needed {
                let path = self.core.set.full_path(&self.core.name);
                let reason = format!(
                    "{} has {there} bytes and {needed} are to be read: let a phase before this one write it",
                    path.display()
                );
                return Err(EngineError::cannot_run(&self.core.work.name, reason));
            }
        }
        if slots > self.core.open.capacity {
            self.core.findings.notes.push(format!(
                "{slots} files and room for {} open ones: the others are opened when they are needed, inside the time",
                self.core.open.capacity
            ));
        }
        Ok(())
    }

    /// Replaces [`Worker::open_all`] where no operation touches files; never fails.
    pub(super) fn pretend(&mut self) -> Result<(), EngineError> {
        // No process has a file with this number: closing it does nothing.
        self.core.open.slots.fill(c_int::MAX);
        Ok(())
    }

    #[cold]
    fn open(&mut self, slot: u32) -> i64 {
        let core = &mut self.core;
        if core.open.opened.len() >= core.open.capacity
            && let Some(oldest) = core.open.opened.pop_front()
        {
            let closed = self.close(oldest);
            if closed < 0 {
                return closed;
            }
        }
        let core = &mut self.core;
        core.name_slot(slot);
        let file = sys::openat(core.set.folder(), &core.name, core.open.flags);
        if file < 0 {
            return file;
        }
        let size = core.set.size(core.walk.first + u64::from(slot));
        let ready = self.engine.opened(slot, file as c_int, size, core.open.writable);
        if ready < 0 {
            sys::close(file as c_int);
            return ready;
        }
        core.open.slots[slot as usize] = file as c_int;
        if core.open.slots.len() > core.open.capacity {
            core.open.opened.push_back(slot);
        }
        file
    }

    fn close(&mut self, slot: u32) -> i64 {
        let file = std::mem::replace(&mut self.core.open.slots[slot as usize], -1);
        if file < 0 {
            return 0;
        }
        let mut answer = self.engine.closing(slot);
        // A file that is closed before the end needs its final sync now.
        if self.core.work.sync.end && self.core.open.writable && answer >= 0 {
            answer = if self.core.work.sync.data_only { sys::fdatasync(file) } else { sys::fsync(file) };
        }
        let closed = sys::close(file);
        if answer < 0 { answer } else { closed }
    }

    /// Closes all files and returns the first error, or 0. Untimed, after the final syncs.
    pub(super) fn close_all(&mut self) -> i64 {
        let mut answer = 0;
        let pretended = self.core.open.slots.first() == Some(&c_int::MAX);
        for slot in 0..if pretended { 0 } else { self.core.open.slots.len() as u32 } {
            let file = std::mem::replace(&mut self.core.open.slots[slot as usize], -1);
            if file >= 0 {
                let flushed = self.engine.closing(slot);
                let closed = sys::close(file);
                answer = [answer, flushed, closed].into_iter().find(|answer| *answer < 0).unwrap_or(0);
            }
        }
        answer
    }

    pub(super) fn slots(&self) -> u32 {
        self.core.open.slots.len() as u32
    }

    /// The descriptor of a slot, if its file is open.
    pub(super) fn open_file(&self, slot: u32) -> Option<c_int> {
        self.core.open.slots.get(slot as usize).copied().filter(|file| *file >= 0)
    }
}
