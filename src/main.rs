//! Mountmark: which file system, made and mounted how, should this work run on?
//!
//! This program is three things: process 1 of a guest, the agent of the host lab, and the command line.

mod commands;
mod common;
mod progress;

use std::process::ExitCode;

fn main() -> ExitCode {
    if mountmark_lab::guest::is_guest() {
        mountmark_lab::guest::main(mountmark_run::agent::run_cell);
    }
    if mountmark_lab::host::is_agent() {
        mountmark_lab::host::main(mountmark_run::agent::run_cell);
    }
    commands::main()
}
