//! The disks' media: guest-physical memory reserved on the kernel command line, mapped through /dev/mem.

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::ptr;

use anyhow::{Context, Result, bail};

pub const MEMORY: &str = "/dev/mem";

/// A part of the reserved memory, mapped for reading and writing until the process ends.
#[derive(Clone, Copy)]
pub struct Medium {
    start: *mut u8,
    size: usize,
}

// SAFETY: the mapping stays for the process's life, and each medium is used by the one thread that serves it.
unsafe impl Send for Medium {}

impl Medium {
    /// Maps `size` bytes of physical memory from `address`, both multiples of the page size.
    pub fn map(address: u64, size: u64) -> Result<Medium> {
        let file =
            OpenOptions::new().read(true).write(true).open(MEMORY).with_context(|| format!("cannot open {MEMORY}"))?;
        // SAFETY: a new mapping at an address the kernel chooses; the physical range is reserved on the kernel
        // command line, so nothing else in the guest uses it.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                size as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                address as libc::off_t,
            )
        };
        if start == libc::MAP_FAILED {
            bail!("cannot map {size} bytes of physical memory at {address:#x}: {}", std::io::Error::last_os_error());
        }
        // Child processes do not need it, and copying its page tables would take long.
        // SAFETY: the range was just mapped; the advice changes what a child sees of it, and nothing here.
        unsafe { libc::madvise(start, size as usize, libc::MADV_DONTFORK) };
        Ok(Medium { start: start.cast(), size: size as usize })
    }

    /// A part of this process's own memory, never given back.
    #[cfg(test)]
    pub fn in_memory(size: u64) -> Medium {
        let memory: &'static mut [u8] = Box::leak(vec![0; size as usize].into_boxed_slice());
        Medium { start: memory.as_mut_ptr(), size: memory.len() }
    }

    /// The bytes of a range; `None` if it reaches beyond the end.
    pub fn slice(&self, offset: u64, length: u64) -> Option<&[u8]> {
        self.check(offset, length)?;
        // SAFETY: the range is within the mapping; only the one thread that serves the medium touches it.
        Some(unsafe { std::slice::from_raw_parts(self.start.add(offset as usize), length as usize) })
    }

    /// The bytes of a range for writing; `None` if it reaches beyond the end.
    pub fn slice_mut(&mut self, offset: u64, length: u64) -> Option<&mut [u8]> {
        self.check(offset, length)?;
        // SAFETY: as in `slice`; `&mut self` keeps a second slice from existing beside it.
        Some(unsafe { std::slice::from_raw_parts_mut(self.start.add(offset as usize), length as usize) })
    }

    /// The first bytes, of which nothing is ever written.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn bytes(self, length: u64) -> &'static [u8] {
        assert!(length <= self.size as u64, "mapped at this length");
        // SAFETY: the mapping stays until the process ends, and this, the only handle, is gone.
        unsafe { std::slice::from_raw_parts(self.start, length as usize) }
    }

    fn check(&self, offset: u64, length: u64) -> Option<()> {
        (offset.checked_add(length)? <= self.size as u64).then_some(())
    }
}
