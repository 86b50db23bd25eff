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

use std::process::ExitCode;

fn main() -> ExitCode {
    mountmark_agent::become_child();
    if mountmark_lab::host::is_agent() {
        mountmark_lab::host::main(mountmark_agent::run_cell);
    }
    unset_empty_settings();
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
