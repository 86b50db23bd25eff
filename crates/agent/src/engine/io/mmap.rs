//! Copies between buffers and mappings of whole files.
//!
//! Writing beyond the file system's free space ends the process by SIGBUS, as in any program that maps files; the
//! engine checks for room beforehand.

use std::ffi::c_int;

use super::{Action, Engine, Queued, Request};
use crate::engine::sys;

struct Mapping {
    start: *mut u8,
    length: usize,
}

#[derive(Default)]
pub(in crate::engine) struct Mmap {
    mappings: Vec<Option<Mapping>>,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: start and length are those of the mapping, and only this value refers to it.
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}

impl Engine for Mmap {
    fn opened(&mut self, slot: u32, file: c_int, size: u64, writable: bool) -> i64 {
        let slot = slot as usize;
        if self.mappings.len() <= slot {
            self.mappings.resize_with(slot + 1, || None);
        }
        let there = sys::size(file);
        if there < 0 {
            return there;
        }
        if (there as u64) < size {
            // Pages beyond the end cannot be mapped. For readers, an earlier check has found that the file is too
            // short.
            let grown = if writable { sys::ftruncate(file, size) } else { -i64::from(libc::EINVAL) };
            if grown < 0 {
                return grown;
            }
        }
        let length = size as usize;
        if length == 0 {
            return 0;
        }
        let protection = libc::PROT_READ | if writable { libc::PROT_WRITE } else { 0 };
        // SAFETY: the kernel chooses the address, so no memory of ours is replaced.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, file, 0) };
        if start == libc::MAP_FAILED {
            return -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO));
        }
        self.mappings[slot] = Some(Mapping { start: start.cast(), length });
        0
    }

    fn closing(&mut self, slot: u32) -> i64 {
        if let Some(mapping) = self.mappings.get_mut(slot as usize) {
            *mapping = None;
        }
        0
    }

    #[inline(always)]
    unsafe fn queue(&mut self, request: &Request) -> Queued {
        let Some(Some(mapping)) = self.mappings.get(request.slot as usize) else {
            return Queued::Done(0);
        };
        let offset = request.offset as usize;
        let length = request.length.min(mapping.length.saturating_sub(offset));
        // SAFETY: offset and length lie within the mapping.
        let place = unsafe { mapping.start.add(offset.min(mapping.length)) };
        match request.action {
            // SAFETY: both ranges are `length` long, and a mapping never overlaps a buffer.
            Action::Read => unsafe { std::ptr::copy_nonoverlapping(place, request.buffer, length) },
            // SAFETY: as above; files that are written were opened for writing, so the mapping is writable.
            Action::Write => unsafe { std::ptr::copy_nonoverlapping(request.buffer, place, length) },
            Action::Sync | Action::SyncData => {
                // SAFETY: start and length are those of the whole live mapping.
                let answer = unsafe { libc::msync(mapping.start.cast(), mapping.length, libc::MS_SYNC) };
                if answer < 0 {
                    let error = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
                    return Queued::Done(-i64::from(error));
                }
                // msync writes data; the file's length and attributes need fsync.
                let synced = if request.action == Action::Sync {
                    sys::fsync(request.file)
                } else {
                    sys::fdatasync(request.file)
                };
                return Queued::Done(synced);
            }
        }
        Queued::Done(length as i64)
    }
}
