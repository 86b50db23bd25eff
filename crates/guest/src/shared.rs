//! Memory that process 1 and the disk servers share: files in /run, mapped by each.

use std::cell::UnsafeCell;
use std::fs::{File, OpenOptions};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, bail};
use mountmark_job::{DeviceTrace, Power};
use mountmark_model::DeviceRecord;
use mountmark_trace::{Completed, Recorder, Times};
use rustix::mm::{MapFlags, ProtFlags};

use super::nbd;

const SETUP_FLAG: &str = "/run/setup";
const TRACE: &str = "/run/trace";

/// Removes all names, those of traces by their disks: processes that have the files mapped keep them, and no other can open
/// them.
pub(super) fn forget_names(disks: impl Iterator<Item = usize>) {
    for path in std::iter::once(SETUP_FLAG.to_owned()).chain(disks.map(trace_of)) {
        // Without a served disk there is no trace.
        let _ = std::fs::remove_file(path);
    }
}

/// The file that has the trace of a disk.
fn trace_of(disk: usize) -> String {
    if disk == 0 { TRACE.to_owned() } else { format!("{TRACE}{disk}") }
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

/// What process 1 wants of the disk servers. All zeroes when it is made.
#[repr(C)]
struct Orders {
    /// Whether inputs are being laid out (disk servers answer at once) or a task is measured (they keep time).
    setup: AtomicU32,
    /// A number of [`POWER`], from 1; 0 if it is done.
    power: AtomicU32,
}

const POWER: [nbd::Power; 4] = [
    nbd::Power::Watch,
    nbd::Power::Cut,
    nbd::Power::Restore { cache_lost: false },
    nbd::Power::Restore { cache_lost: true },
];

/// Orders of process 1, in all servers.
pub(super) struct SetupFlag(&'static Orders);

impl SetupFlag {
    pub(super) fn open() -> Result<SetupFlag> {
        // SAFETY: zero is a valid atomic number, and atomics may be shared between processes.
        Ok(SetupFlag(unsafe { map(SETUP_FLAG)? }))
    }

    pub(super) fn set(&self, setup: bool) {
        self.0.setup.store(setup.into(), Ordering::SeqCst);
    }

    /// The power of the disk at `path`.
    pub(super) fn switch(&self, path: &str) -> Switch {
        Switch { orders: self.0, path: path.to_owned() }
    }
}

/// A server's view of the orders; the power is the business of the disk under test alone.
pub(super) struct Ordered {
    pub flag: SetupFlag,
    pub has_power: bool,
}

impl nbd::Orders for Ordered {
    fn instant(&self) -> bool {
        self.flag.0.setup.load(Ordering::SeqCst) != 0
    }

    fn power(&self) -> Option<nbd::Power> {
        let number = if self.has_power { self.flag.0.power.load(Ordering::SeqCst) } else { 0 };
        POWER.get((number as usize).checked_sub(1)?).copied()
    }

    fn obeyed(&self) {
        self.flag.0.power.store(0, Ordering::SeqCst);
    }
}

/// The power switch of the disk under test, in process 1.
pub(super) struct Switch {
    orders: &'static Orders,
    path: String,
}

impl Switch {
    fn order(&self, wanted: nbd::Power) {
        let number = POWER.iter().position(|power| *power == wanted).map_or(0, |at| at as u32 + 1);
        self.orders.power.store(number, Ordering::SeqCst);
    }

    /// Waits until the server has carried out the order, which it does at its next request: a flush.
    fn obeyed(&self) -> Result<()> {
        let device = File::open(&self.path).with_context(|| format!("cannot open {}", self.path))?;
        device.sync_all().with_context(|| format!("cannot flush {}", self.path))?;
        match self.orders.power.load(Ordering::SeqCst) {
            0 => Ok(()),
            _ => bail!("the server of {} did not do what it was told about the power", self.path),
        }
    }
}

impl Power for Switch {
    fn watch(&self) -> Result<()> {
        // What was sent so far is durable before the server begins to remember.
        File::open(&self.path)
            .and_then(|device| device.sync_all())
            .with_context(|| format!("cannot flush {}", self.path))?;
        self.order(nbd::Power::Watch);
        self.obeyed()
    }

    fn cut(&self) {
        // The server has the highest priority and is asleep: whatever it does next, it does after this.
        self.order(nbd::Power::Cut);
    }

    fn restore(&self, cache_lost: bool) -> Result<()> {
        // It may have had nothing to do since the cut.
        self.obeyed()?;
        self.order(nbd::Power::Restore { cache_lost });
        self.obeyed()
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
    /// For a disk under test, of `size` bytes.
    pub(super) fn open(disk: usize, size: u64) -> Result<ServedTrace> {
        // SAFETY: zeroes are a valid recorder and a flag that is not set; `Shared` says who may write when.
        Ok(ServedTrace { shared: unsafe { map(&trace_of(disk))? }, size })
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
