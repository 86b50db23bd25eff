//! Memory that process 1 and the disk servers share: files in /run, mapped by each.

use std::cell::UnsafeCell;
use std::fs::OpenOptions;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};
use mountmark_model::DeviceRecord;
use mountmark_trace::{Completed, Recorder, Times};
use rustix::mm::{MapFlags, ProtFlags};

use super::nbd;
use crate::DeviceTrace;

const SETUP_FLAG: &str = "/run/setup";
const TRACE: &str = "/run/trace";

/// Removes both names: processes that have the files mapped keep them, and no other can open them.
pub(super) fn forget_names() {
    for path in [SETUP_FLAG, TRACE] {
        // Without a served disk there is no trace.
        let _ = std::fs::remove_file(path);
    }
}

/// Maps the file `path` until the process ends, and creates it if it is missing.
///
/// # Safety
/// Zeroes must be a valid `T`, and `T` must be fit to be used by several processes.
unsafe fn map<T>(path: &str) -> Result<&'static T> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    let file = file.with_context(|| format!("cannot make {path}"))?;
    let size = size_of::<T>().next_multiple_of(4096);
    file.set_len(size as u64)?;
    // Populated now, so that no page fault occurs during a measurement.
    let flags = MapFlags::SHARED | MapFlags::POPULATE;
    // SAFETY: a new shared mapping of a file that is never shortened; it is aligned to pages, holds zeroes or what
    // another process of this program wrote into it, and stays until the process ends.
    unsafe {
        let start = rustix::mm::mmap(std::ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, flags, &file, 0)?;
        Ok(&*start.cast::<T>())
    }
}

/// Whether inputs are being laid out (disk servers answer at once) or a task is measured (they keep time).
pub(super) struct SetupFlag(&'static AtomicU32);

impl SetupFlag {
    pub(super) fn open() -> Result<SetupFlag> {
        // SAFETY: zero is a valid atomic number, and atomics may be shared between processes.
        Ok(SetupFlag(unsafe { map(SETUP_FLAG)? }))
    }

    pub(super) fn set(&self, setup: bool) {
        self.0.store(setup.into(), Ordering::SeqCst);
    }
}

impl nbd::Instant for SetupFlag {
    fn instant(&self) -> bool {
        self.0.load(Ordering::SeqCst) != 0
    }
}

/// The recorder of the disk under test: its server writes while `on` is set, process 1 while it is not.
#[repr(C)]
struct Shared {
    on: AtomicU32,
    recorder: UnsafeCell<Recorder>,
}

/// Either end of the trace. A guest has one processor, and the server has the highest priority: it is never interrupted
/// between reading `on` and writing.
pub(super) struct ServedTrace {
    shared: &'static Shared,
    size: u64,
}

impl ServedTrace {
    /// For the disk under test, of `size` bytes.
    pub(super) fn open(size: u64) -> Result<ServedTrace> {
        // SAFETY: zeroes are a valid recorder and a flag that is not set; `Shared` says who may write when.
        Ok(ServedTrace { shared: unsafe { map(TRACE)? }, size })
    }

    /// Writes into the recorder while process 1 has recording on.
    fn write(&self, act: impl FnOnce(&mut Recorder)) {
        if self.shared.on.load(Ordering::SeqCst) != 0 {
            // SAFETY: while the flag is set only the server uses the recorder, and the server has one thread, in which
            // no other reference lives.
            act(unsafe { &mut *self.shared.recorder.get() });
        }
    }
}

impl nbd::Observer for ServedTrace {
    fn arrive(&self, at: u64) {
        self.write(|recorder| recorder.arrive(at));
    }

    fn complete(&self, at: u64, request: &Completed) {
        self.write(|recorder| recorder.complete(at, request));
    }
}

impl DeviceTrace for ServedTrace {
    fn begin(&self, at: u64) {
        self.shared.on.store(0, Ordering::SeqCst);
        // SAFETY: the flag is not set, so the server does not use the recorder; this process has one thread.
        unsafe { (*self.shared.recorder.get()).reset(at, self.size) };
        self.shared.on.store(1, Ordering::SeqCst);
    }

    fn end(&self, times: Times) -> Result<DeviceRecord, String> {
        self.shared.on.store(0, Ordering::SeqCst);
        // SAFETY: as in `begin`.
        Ok(unsafe { (*self.shared.recorder.get()).record(times) })
    }
}
