//! Limits of time and memory for every target.

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::{MOST_MEMORY, MOST_SECONDS, Target};

/// The system's allocator, with a count and a limit of the bytes in use.
pub struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

fn taken(size: usize) {
    let live = LIVE.fetch_add(size, Relaxed) + size;
    if live > LIMIT.load(Relaxed) {
        // The message needs memory too. Unwinding through an allocator is not allowed, so this ends the process;
        // libFuzzer and the test's own report name the input.
        LIMIT.store(usize::MAX, Relaxed);
        eprintln!("memory: {size} bytes more make it {live} in use\n{}", Backtrace::force_capture());
        std::process::abort();
    }
}

// SAFETY: all calls are passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        taken(size.saturating_sub(layout.size()));
        LIVE.fetch_sub(layout.size().saturating_sub(size), Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// The cost of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Processor time of all threads in seconds.
    pub seconds: f64,
    /// Bytes by which the process exceeded its previous peak; includes memory of C libraries.
    pub grown: usize,
}

/// Runs `target` on `data`; one at a time, since time and memory are measured for the process.
///
/// # Panics
/// If the target panics, or takes more time or memory than allowed. `seconds` is for builds that are not optimised.
pub fn run_within(target: &Target, data: &[u8], seconds: f64) -> Cost {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (begin, size) = (processor_seconds(), resident());
    LIMIT.store(LIVE.load(Relaxed).saturating_add(MOST_MEMORY), Relaxed);
    let _limit = Unlimited;
    (target.run)(data);
    let cost = Cost { seconds: processor_seconds() - begin, grown: resident().saturating_sub(size) };
    let (name, length) = (target.name, data.len());
    assert!(cost.seconds <= seconds, "{name}: {length} bytes took {:.2} s of processor time", cost.seconds);
    assert!(cost.grown <= MOST_MEMORY, "{name}: {length} bytes took {} MB of memory", cost.grown >> 20);
    cost
}

/// Like [`run_within`] with the default limit.
pub fn run(target: &Target, data: &[u8]) -> Cost {
    run_within(target, data, MOST_SECONDS)
}

/// Removes the limit, however a target ends.
struct Unlimited;

impl Drop for Unlimited {
    fn drop(&mut self) {
        LIMIT.store(usize::MAX, Relaxed);
    }
}

fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Peak memory of the process, in bytes.
fn resident() -> usize {
    // SAFETY: rusage is plain data; the pointer outlives the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    usage.ru_maxrss as usize * 1024
}
