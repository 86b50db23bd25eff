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
    commands::main()
}
