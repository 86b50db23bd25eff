//! The engine's allocations: none in its loops, and few for millions of files.
//!
//! A counting allocator replaces the whole program's, so these tests are a program of their own.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use mountmark_agent::engine::{History, Options, run};
use mountmark_model::workload::Workload;

struct Counting;

static CALLS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);
/// Runs one test at a time, as the counter is global.
static ALONE: Mutex<()> = Mutex::new(());

// SAFETY: every call is passed unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        let bytes = BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed) + layout.size() as u64;
        PEAK.fetch_max(bytes, Ordering::Relaxed);
        // SAFETY: the caller's guarantee.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's guarantee.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn done(text: &str, folder: &Path) -> u64 {
    let workload: Workload = toml::from_str(text).unwrap();
    let before = CALLS.load(Ordering::Relaxed);
    let result = run(&workload, folder, &Options::default(), &mut History::default()).unwrap();
    for phase in &result.phases {
        assert!(phase.errors.is_empty(), "{:?}", phase.errors);
    }
    CALLS.load(Ordering::Relaxed) - before
}

#[test]
fn more_operations_allocate_nothing_more() {
    let _alone = ALONE.lock().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let set = "files = { count = 16, directories = 4, size = \"64 KiB\" }\n";
    done(&format!("{set}[[phases]]\nname = \"put\"\nwhat = \"write\"\nverify = true\n"), folder.path());
    // Half of these exist, so that a mix that creates and removes equally often does not run out of files.
    let half = "files = { folder = \"half\", count = 4000, size = 4096 }";
    let setup = "what = \"write-file\"\npattern = \"shuffled\"\nrun = { operations = 2000 }";
    done(&format!("{half}\n[[phases]]\nname = \"put\"\n{setup}\n"), folder.path());
    let mix = "what = { write-file = 1, unlink = 1, chmod = 1, readdir = 1 }\npattern = \"random\"";
    let mix = format!("{half}\n{mix}");
    for phase in [
        "what = \"read\"\nengine = \"null\"",
        "what = \"read\"\npattern = \"random\"",
        "what = \"read\"\npattern = { zipf = 0.9 }\nverify = true",
        "what = { read = 2, rewrite = 1, stat = 1, read-file = 1 }\npattern = \"random\"",
        "what = \"write\"\nsync = { every = 5000 }",
        "what = \"read\"\nengine = \"uring\"\nqueue_depth = 8\npattern = \"random\"",
        "what = \"read\"\nengine = \"stdio\"",
        "what = \"read\"\nengine = \"mmap\"\npattern = \"shuffled\"",
        &mix,
    ] {
        let with = |operations: u64| {
            let run = format!("run = {{ operations = {operations} }}");
            done(&format!("{set}[[phases]]\nname = \"it\"\n{phase}\n{run}\n"), folder.path())
        };
        with(1000);
        let (few, many) = (with(1000), with(21_000));
        // Results of more operations fill more steps of a histogram, whose list then grows a few times.
        assert!(many < few + 100, "{phase}: {few} allocations for 1,000 operations, {many} for 21,000");
    }
}

#[test]
fn ten_million_files_fit_into_200_megabytes() {
    let _alone = ALONE.lock().unwrap();
    let folder = tempfile::tempdir().unwrap();
    for sizes in ["size = 4096", "sizes = { uniform = { min = 1, max = 100_000 } }"] {
        let text = format!(
            "files = {{ count = 10_000_000, {sizes} }}\n[[phases]]\nname = \"it\"\nwhat = \"read\"\nengine = \"null\"\n\
             pattern = \"shuffled\"\nrun = {{ operations = 10_000 }}\n"
        );
        PEAK.store(BYTES.load(Ordering::Relaxed), Ordering::Relaxed);
        done(&text, folder.path());
        let peak = PEAK.load(Ordering::Relaxed);
        assert!(peak < 200_000_000, "{sizes}: {peak} bytes");
    }
}
