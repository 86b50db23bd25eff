//! Mountmark: which file system, made and mounted how, should this work run on?
//!
//! This program is the command line, and the host lab's agent with the children that run its workloads. What runs in guests
//! is `mountmark-guest`.

#[macro_use]
mod common;
mod catalogue;
mod cluster;
mod commands;
mod costs;
mod next;
mod plan_file;
mod progress;
mod stdout;
mod terminal;
mod work_options;
mod written;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::ExitCode;

/// Variables that name files and folders, some of them several with commas between.
const PATHS: [&str; 4] = ["MOUNTMARK_CACHE", "MOUNTMARK_SHELF", "MOUNTMARK_SHELF_KEY", "MOUNTMARK_SHELF_TRUST"];

fn main() -> ExitCode {
    mountmark_agent::become_child();
    if mountmark_lab::host::is_agent() {
        mountmark_lab::host::main(mountmark_agent::run_cell);
    }
    unset_empty_settings();
    settle_paths();
    commands::main()
}

/// An option's variable that is set to nothing, as CI files do, counts as not set. clap would ask for a value.
fn unset_empty_settings() {
    for (name, value) in std::env::vars_os() {
        if value.is_empty() && name.as_encoded_bytes().starts_with(b"MOUNTMARK_") {
            // SAFETY: this is the only thread.
            unsafe { std::env::remove_var(name) };
        }
    }
}

/// A variable's relative path means the folder in which the program was started, also when a command goes on in another one.
fn settle_paths() {
    let Ok(here) = std::env::current_dir() else { return };
    for name in PATHS {
        let Some(value) = std::env::var_os(name) else { continue };
        // SAFETY: this is the only thread.
        unsafe { std::env::set_var(name, absolute(&here, &value, name == "MOUNTMARK_SHELF")) };
    }
}

/// Paths with commas between if there may be `several`, from a folder.
fn absolute(here: &Path, value: &OsStr, several: bool) -> OsString {
    let whole = |path: &[u8]| match path.is_empty() {
        true => Vec::new(),
        false => here.join(OsStr::from_bytes(path)).into_os_string().into_vec(),
    };
    let paths: Vec<Vec<u8>> = value.as_bytes().split(|byte| several && *byte == b',').map(whole).collect();
    OsString::from_vec(paths.join(&b','))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_variables_are_from_the_folder_in_which_the_program_was_started() {
        for (value, several, whole) in [
            ("cells", true, "/home/ann/cells"),
            ("cells:ro,/nfs/all,../bob", true, "/home/ann/cells:ro,/nfs/all,/home/ann/../bob"),
            ("a,", true, "/home/ann/a,"),
            ("key,ann", false, "/home/ann/key,ann"),
            ("/cache", false, "/cache"),
        ] {
            assert_eq!(absolute(Path::new("/home/ann"), OsStr::new(value), several), whole);
        }
    }
}
