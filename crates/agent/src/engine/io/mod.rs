//! I/O engines, which read and write blocks of open files: one trait, one file each.
//!
//! The trait is that of an asynchronous device: operations are queued, committed together, and reaped when they
//! complete. Synchronous engines complete an operation when it is queued. This folder does not know which block comes
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Read,
    Write,
    /// fsync; neither offset nor buffer is used.
    Sync,
    /// fdatasync.
    SyncData,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) action: Action,
    /// Index of the file in the thread; engines may keep state for each.
    pub(super) slot: u32,
    pub(super) file: c_int,
    pub(super) offset: u64,
    /// Has room for `length` bytes.
    pub(super) buffer: *mut u8,
    pub(super) length: usize,
    /// The caller's number of this operation in flight, below the queue depth.
    pub(super) tag: u32,
    /// For a sync: it starts when everything queued before it is done, and everything queued later waits for it.
    pub(super) drain: bool,
}

impl Request {
    /// A sync of the policy; it covers everything queued before it.
    pub(super) fn sync(action: Action, slot: u32, file: c_int, tag: u32) -> Request {
        Request { action, slot, file, offset: 0, buffer: std::ptr::null_mut(), length: 0, tag, drain: true }
    }
}

/// State of a queued operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Queued {
    /// Done: bytes, or a negative error number.
    Done(i64),
    /// In flight; will be reaped.
    Waiting,
}

pub(super) trait Engine {
    /// A file was opened as `slot`; `size` is the length that the work needs it to have. Returns 0 or a negative error
    /// number.
    fn opened(&mut self, slot: u32, file: c_int, size: u64, writable: bool) -> i64 {
        let _ = (slot, file, size, writable);
        0
    }

    /// The file is about to be closed. Returns 0, or the negative error number of data that was still to be written.
    fn closing(&mut self, slot: u32) -> i64 {
        let _ = slot;
        0
    }

    /// Queues one operation.
    ///
    /// # Safety
    /// `request.buffer` points to `request.length` bytes that no other code uses until the operation is done or reaped,
    /// and `request.file` is the open file of `request.slot`.
    unsafe fn queue(&mut self, request: &Request) -> Queued;

    /// As [`Engine::queue`], with one call per byte. Only for synchronous engines.
    ///
    /// # Safety
    /// As [`Engine::queue`].
    unsafe fn queue_characters(&mut self, request: &Request) -> Queued {
        for at in 0..request.length {
            // SAFETY: `at` is below the length, so the byte lies in the buffer.
            let buffer = unsafe { request.buffer.add(at) };
            let one = Request { offset: request.offset + at as u64, buffer, length: 1, ..*request };
            // SAFETY: one byte of a buffer that the caller guarantees to be valid.
            match unsafe { self.queue(&one) } {
                Queued::Done(1) => {}
                Queued::Done(0) => return Queued::Done(at as i64),
                other => return other,
            }
        }
        Queued::Done(request.length as i64)
    }

    /// Submits all queued operations and waits until `wait` of those in flight are done. Returns a negative error
    /// number on failure.
    fn commit(&mut self, wait: u32) -> i64 {
        let _ = wait;
        0
    }

    /// Takes one completed operation: its tag, and its bytes or negative error number.
    fn reap(&mut self) -> Option<(u32, i64)> {
        None
    }

    /// Writes out data that the engine itself holds. Returns 0 or a negative error number.
    fn drain(&mut self) -> i64 {
        0
    }
}
