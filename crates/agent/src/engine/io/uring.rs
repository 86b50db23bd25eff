//! io_uring: registered files and buffers, submitted in batches. If the kernel supports it, completions run only when
//! this thread asks for them (DEFER_TASKRUN, Linux 6.1) and the ring has one submitter (SINGLE_ISSUER, 6.0).

use std::ffi::c_int;
use std::io;

use io_uring::{IoUring, opcode, squeue, types};

use super::{Action, Engine, Queued, Request};

/// One thread's ring.
pub(in crate::engine) struct Uring {
    ring: IoUring,
    /// Registered files by slot; -1 if there is none.
    files: Vec<c_int>,
}

fn build(entries: u32) -> io::Result<IoUring> {
    // From the best setup to the plainest: older kernels refuse unknown flags with EINVAL.
    let best = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(entries);
    let plain = |error: &io::Error| error.raw_os_error() == Some(libc::EINVAL);
    match best {
        Err(ref error) if plain(error) => match IoUring::builder().setup_coop_taskrun().build(entries) {
            Err(ref error) if plain(error) => IoUring::new(entries),
            other => other,
        },
        other => other,
    }
}

/// Why this kernel gives no ring; `None` if it does.
pub(in crate::engine) fn unavailable() -> Option<String> {
    let error = build(2).err()?;
    let disabled = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_default();
    Some(match (error.raw_os_error(), disabled.trim()) {
        (Some(libc::ENOSYS), _) => {
            "this kernel has no io_uring (Linux 5.1 or later, CONFIG_IO_URING): use psync".into()
        }
        (Some(libc::EPERM), "1" | "2") => format!(
            "io_uring is forbidden here: kernel.io_uring_disabled is {}; sysctl kernel.io_uring_disabled=0 allows it",
            disabled.trim()
        ),
        (Some(libc::EPERM), _) => {
            "io_uring is forbidden here, perhaps by a container's seccomp filter: use psync".into()
        }
        (Some(libc::ENOMEM), _) => {
            "io_uring wants more locked memory than ulimit -l allows: raise it, or use psync".into()
        }
        _ => format!("io_uring cannot be set up: {error}"),
    })
}

impl Uring {
    /// A ring for `depth` operations in flight on `files` files, with `buffers` (start and length of each), which must
    /// stay in place as long as the ring lives.
    ///
    /// # Errors
    /// The kernel refuses the ring, the number of files, or the amount of locked memory.
    pub(in crate::engine) fn new(depth: u32, files: usize, buffers: &[(*mut u8, usize)]) -> io::Result<Uring> {
        let ring = build(depth.next_power_of_two())?;
        let vectors: Vec<libc::iovec> =
            buffers.iter().map(|(start, length)| libc::iovec { iov_base: start.cast(), iov_len: *length }).collect();
        // SAFETY: the caller keeps the buffers for as long as the ring lives.
        unsafe { ring.submitter().register_buffers(&vectors) }?;
        let files = vec![-1; files];
        ring.submitter().register_files(&files)?;
        Ok(Uring { ring, files })
    }
}

/// Operations of a ring are unordered unless a flag asks for order.
fn after(request: &Request) -> squeue::Flags {
    if request.drain { squeue::Flags::IO_DRAIN } else { squeue::Flags::empty() }
}

impl Engine for Uring {
    fn opened(&mut self, slot: u32, file: c_int, _size: u64, _writable: bool) -> i64 {
        let Some(entry) = self.files.get_mut(slot as usize) else { return -i64::from(libc::EMFILE) };
        *entry = file;
        match self.ring.submitter().register_files_update(slot, &[file]) {
            Ok(_) => 0,
            Err(error) => -i64::from(error.raw_os_error().unwrap_or(libc::EIO)),
        }
    }

    fn closing(&mut self, slot: u32) -> i64 {
        if let Some(entry) = self.files.get_mut(slot as usize) {
            *entry = -1;
            // A ring that is dropped releases its files in any case.
            let _ = self.ring.submitter().register_files_update(slot, &[-1]);
        }
        0
    }

    #[inline(always)]
    unsafe fn queue(&mut self, request: &Request) -> Queued {
        let file = types::Fixed(request.slot);
        let length = request.length as u32;
        let index = request.tag as u16;
        let entry = match request.action {
            Action::Read => opcode::ReadFixed::new(file, request.buffer, length, index).offset(request.offset).build(),
            Action::Write => {
                opcode::WriteFixed::new(file, request.buffer.cast_const(), length, index).offset(request.offset).build()
            }
            Action::Sync => opcode::Fsync::new(file).build().flags(after(request)),
            Action::SyncData => {
                opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build().flags(after(request))
            }
        };
        let entry = entry.user_data(u64::from(request.tag));
        // SAFETY: the caller keeps the buffer until the operation is reaped, and the file open.
        match unsafe { self.ring.submission().push(&entry) } {
            Ok(()) => Queued::Waiting,
            // The queue has room for the whole depth, so the caller has more in flight.
            Err(_) => Queued::Done(-i64::from(libc::EBUSY)),
        }
    }

    #[inline]
    fn commit(&mut self, wait: u32) -> i64 {
        loop {
            match self.ring.submit_and_wait(wait as usize) {
                Ok(submitted) => return submitted as i64,
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(error) => return -i64::from(error.raw_os_error().unwrap_or(libc::EIO)),
            }
        }
    }

    #[inline(always)]
    fn reap(&mut self) -> Option<(u32, i64)> {
        let entry = self.ring.completion().next()?;
        Some((entry.user_data() as u32, i64::from(entry.result())))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_sync_of_the_policy_waits_for_what_was_queued_before() {
        if let Some(reason) = unavailable() {
            eprintln!("skipped: {reason}");
            return;
        }
        let (empty, mut full) = io::pipe().unwrap();
        let file = tempfile::tempfile().unwrap();
        let mut buffer = [0u8; 512];
        let buffer = (buffer.as_mut_ptr(), buffer.len());
        let mut ring = Uring::new(2, 2, &[buffer, buffer]).unwrap();
        assert_eq!((ring.opened(0, empty.as_raw_fd(), 0, false), ring.opened(1, file.as_raw_fd(), 0, true)), (0, 0));
        // A read from the pipe waits until something is written to it; a sync of an empty file takes no time.
        let slow = Request {
            action: Action::Read,
            slot: 0,
            file: empty.as_raw_fd(),
            offset: u64::MAX,
            buffer: buffer.0,
            length: 1,
            tag: 0,
            drain: false,
        };
        let sync = Request { action: Action::Sync, slot: 1, file: file.as_raw_fd(), length: 0, tag: 1, ..slow };
        for drain in [false, true] {
            for request in [slow, Request { drain, ..sync }] {
                // SAFETY: the buffer lives as long as the ring, and no other code uses it.
                assert!(matches!(unsafe { ring.queue(&request) }, Queued::Waiting));
            }
            if !drain {
                assert!(ring.commit(1) >= 0);
                assert_eq!(ring.reap(), Some((1, 0)), "a sync was in order without being told");
            }
            assert!(ring.commit(0) >= 0);
            std::thread::sleep(Duration::from_millis(100));
            full.write_all(b"x").unwrap();
            assert!(ring.commit(if drain { 2 } else { 1 }) >= 0);
            assert_eq!(ring.reap(), Some((0, 1)));
            assert_eq!(ring.reap(), drain.then_some((1, 0)));
        }
    }
}
