//! The engine's own figures.

use std::path::{Path, PathBuf};

use mountmark_agent::engine::{History, Options, run};
use mountmark_model::workload::{PhaseResult, Workload};

use super::Seen;

/// Files of the comparisons of names.
pub const NAMES: u32 = 20_000;
/// Size of the file that is read.
const SIZE: &str = "128 MiB";
/// Seconds of each reading.
pub const SECONDS: &str = "1";

fn phase(folder: &Path, text: &str) -> Option<PhaseResult> {
    let workload: Workload = match toml::from_str(text) {
        Ok(workload) => workload,
        Err(error) => {
            eprintln!("{text}\n{error}");
            return None;
        }
    };
    match run(&workload, folder, &Options::default(), &mut History::default()) {
        Ok(result) => result.phases.into_iter().next_back(),
        Err(error) => {
            eprintln!("{error}");
            None
        }
    }
}

fn seen(phase: &PhaseResult) -> Option<Seen> {
    phase.errors.iter().for_each(|error| eprintln!("{error}"));
    let operation = phase.operations.first()?;
    let cpu = (phase.user_seconds + phase.system_seconds) * 1e9 / operation.count.max(1) as f64;
    Some(Seen { rate: operation.operations_per_second(), cpu: Some(cpu) })
}

/// Writes the file to read, and reads it once to cache it.
pub fn lay_out(folder: &Path) -> PathBuf {
    let text = format!(
        "files = {{ size = \"{SIZE}\" }}\n[[phases]]\nname = \"put\"\nwhat = \"write\"\nblock = \"1 MiB\"\n\
         sync = {{ end = true }}\n[[phases]]\nname = \"get\"\nwhat = \"read\"\nblock = \"1 MiB\"\n"
    );
    phase(folder, &text);
    folder.join("f00000000")
}

/// Random reads for [`SECONDS`].
pub fn reads(folder: &Path, more: &str) -> Option<Seen> {
    let text = format!(
        "files = {{ size = \"{SIZE}\" }}\n[[phases]]\nname = \"get\"\nwhat = \"read\"\npattern = \"random\"\n\
         run = {{ seconds = {SECONDS} }}\n{more}\n"
    );
    seen(&phase(folder, &text)?)
}

/// One of create, stat and unlink, with the phases it needs before and after.
pub fn names(folder: &Path, what: &str) -> Option<Seen> {
    let before = if what == "create" { "" } else { "[[phases]]\nname = \"before\"\nwhat = \"create\"\n" };
    let text = format!(
        "files = {{ folder = \"names\", count = {NAMES} }}\n{before}[[phases]]\nname = \"it\"\nwhat = \"{what}\"\n"
    );
    let seen = seen(&phase(folder, &text)?);
    let _ = std::fs::remove_dir_all(folder.join("names"));
    seen
}
