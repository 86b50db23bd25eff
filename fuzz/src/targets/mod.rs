//! The parsers, each as a function of bytes.

mod brought;
mod definitions;
mod files;
mod kept;
mod power;
mod profiler;
mod said;
mod show;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A parser and its inputs.
pub struct Target {
    /// The name in `TARGET=`.
    pub name: &'static str,
    /// Parses the bytes, and does everything with the result that the program would do.
    pub run: fn(&[u8]),
    /// Number of changed inputs in `cargo test`: some seconds for each target.
    pub changes: u64,
    /// First inputs from the repository, in addition to those in `corpus/`.
    pub seeds: fn() -> Vec<(String, Vec<u8>)>,
}

/// All targets.
pub const TARGETS: [Target; 22] = [
    Target { name: "suite", run: definitions::suite, changes: 300, seeds: definitions::suites },
    Target { name: "fio_job", run: definitions::fio_job, changes: 300, seeds: definitions::fio_jobs },
    Target { name: "catalogue", run: definitions::catalogue, changes: 300, seeds: definitions::entries },
    Target { name: "study", run: definitions::study, changes: 200, seeds: definitions::studies },
    Target { name: "figures", run: definitions::figures, changes: 200, seeds: definitions::tables },
    Target { name: "words", run: definitions::words, changes: 300, seeds: definitions::plan_files },
    Target { name: "events", run: said::events, changes: 100, seeds: said::streams },
    Target { name: "programs", run: said::programs, changes: 300, seeds: said::outputs },
    Target { name: "store", run: kept::store, changes: 200, seeds: kept::stores },
    Target { name: "forged", run: kept::forged, changes: 200, seeds: kept::edits },
    Target { name: "tar", run: files::tar, changes: 300, seeds: files::tars },
    Target { name: "kernel", run: files::kernel, changes: 300, seeds: files::kernels },
    Target { name: "scenario", run: power::scenario, changes: 300, seeds: power::scenarios },
    Target { name: "log", run: power::log, changes: 300, seeds: power::logs },
    Target { name: "recording", run: profiler::recording, changes: 300, seeds: Vec::new },
    Target { name: "symbols", run: profiler::symbols, changes: 300, seeds: Vec::new },
    Target { name: "profiles", run: profiler::profiles, changes: 300, seeds: Vec::new },
    Target { name: "disk", run: profiler::disk, changes: 300, seeds: profiler::disks },
    Target { name: "health", run: said::health, changes: 300, seeds: said::healths },
    Target { name: "module", run: files::module, changes: 300, seeds: files::modules },
    Target { name: "program", run: brought::program, changes: 300, seeds: brought::programs },
    Target { name: "image", run: brought::image, changes: 300, seeds: brought::images },
];

/// Bytes as text: invalid UTF-8 is rejected before any parser sees it.
fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// A folder in memory for input that must be a file, one per process; removes those of ended processes.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    const NAME: &str = "mountmark-fuzz-";
    FOLDER.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        for entry in fs::read_dir(&base).expect("a folder for files of a target").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let process = name.strip_prefix(NAME).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
            if process.is_some_and(|number| !Path::new("/proc").join(number).exists()) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let folder = base.join(format!("{NAME}{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for files of a target");
        folder
    })
}
