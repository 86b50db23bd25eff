//! Ways to read and write blocks of open files: one trait, one file each.
//!
//! The trait is that of an asynchronous device: operations are queued, committed together, and reaped when they are
//! done. Engines that do an operation at once answer so when it is queued. This folder does not know which block comes
//! next, what is timed, or what the bytes mean.

mod mmap;
mod null;
mod psync;
mod stdio;
mod uring;

use std::ffi::c_int;

pub(super) use mmap::Mmap;
pub(super) use null::Null;
pub(super) use psync::Psync;
pub(super) use stdio::Stdio;
pub(super) use uring::{Uring, unavailable as uring_unavailable};

/// What is to be done with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Read,
    Write,
    /// fsync; neither offset nor buffer is used.
    Sync,
    /// fdatasync.
    SyncData,
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) action: Action,
    /// Which of the thread's files: engines may keep something for each.
    pub(super) slot: u32,
    pub(super) file: c_int,
    pub(super) offset: u64,
    /// Room for `length` bytes.
    pub(super) buffer: *mut u8,
    pub(super) length: usize,
    /// Which operation in flight this is: the caller's own number, below its queue depth.
    pub(super) tag: u32,
    /// Of a sync: it begins when all that was queued before it is done, as it is to cover that, and what is queued after
    /// it waits for it.
    pub(super) drain: bool,
}

impl Request {
    /// A sync of the policy: it covers what was queued before it.
    pub(super) fn sync(action: Action, slot: u32, file: c_int, tag: u32) -> Request {
        Request { action, slot, file, offset: 0, buffer: std::ptr::null_mut(), length: 0, tag, drain: true }
    }
}

/// What became of a queued operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Queued {
    /// It is done: bytes, or a negative error number.
    Done(i64),
    /// It will be reaped.
    Waiting,
}

/// A way to read and write.
pub(super) trait Engine {
    /// A file was opened as `slot`; `size` is the length that the work needs it to have.
    ///
    /// 0, or a negative error number.
    fn opened(&mut self, slot: u32, file: c_int, size: u64, writable: bool) -> i64 {
        let _ = (slot, file, size, writable);
        0
    }

    /// The file will be closed. 0, or the negative error number of what was still to be written.
    fn closing(&mut self, slot: u32) -> i64 {
        let _ = slot;
        0
    }

    /// Takes one operation.
    ///
    /// # Safety
    /// `request.buffer` points to `request.length` bytes that nobody else uses until the operation is done or reaped,
    /// and `request.file` is the open file of `request.slot`.
    unsafe fn queue(&mut self, request: &Request) -> Queued;

    /// The same, each byte by a call of its own. Only for engines that do an operation at once.
    ///
    /// # Safety
    /// As [`Engine::queue`].
    unsafe fn queue_characters(&mut self, request: &Request) -> Queued {
        for at in 0..request.length {
            // SAFETY: `at` is below the length, so the byte lies in the buffer.
            let buffer = unsafe { request.buffer.add(at) };
            let one = Request { offset: request.offset + at as u64, buffer, length: 1, ..*request };
            // SAFETY: one byte of a buffer that the caller vouches for.
            match unsafe { self.queue(&one) } {
                Queued::Done(1) => {}
                Queued::Done(0) => return Queued::Done(at as i64),
                other => return other,
            }
        }
        Queued::Done(request.length as i64)
    }

    /// Hands all queued operations on and waits until `wait` of those in flight are done. A negative error number, or 0
    /// or more.
    fn commit(&mut self, wait: u32) -> i64 {
        let _ = wait;
        0
    }

    /// One operation that is done: its tag, and its bytes or negative error number.
    fn reap(&mut self) -> Option<(u32, i64)> {
        None
    }

    /// Writes out what the engine itself still holds. 0, or a negative error number.
    fn drain(&mut self) -> i64 {
        0
    }
}
