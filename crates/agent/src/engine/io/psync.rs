//! pread and pwrite: one system call per operation.

use super::{Action, Engine, Queued, Request};
use crate::engine::sys;

pub(in crate::engine) struct Psync;

impl Engine for Psync {
    #[inline(always)]
    unsafe fn queue(&mut self, request: &Request) -> Queued {
        Queued::Done(match request.action {
            Action::Read => {
                // SAFETY: the caller guarantees pointer and length, and that no other code uses them.
                let buffer = unsafe { std::slice::from_raw_parts_mut(request.buffer, request.length) };
                sys::pread(request.file, buffer, request.offset)
            }
            Action::Write => {
                // SAFETY: as above.
                let buffer = unsafe { std::slice::from_raw_parts(request.buffer, request.length) };
                sys::pwrite(request.file, buffer, request.offset)
            }
            Action::Sync => sys::fsync(request.file),
            Action::SyncData => sys::fdatasync(request.file),
        })
    }
}
