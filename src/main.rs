//! Mountmark: which file system, made and mounted how, should this work run on?
//!
//! This program has several roles: process 1 of a guest, the agent of the host lab, the child that runs a workload for
//! either, and the command line.

#[macro_use]
mod common;
mod catalogue;
mod commands;
mod next;
mod plan_file;
mod progress;
mod stdout;
mod terminal;

use std::process::ExitCode;

fn main() -> ExitCode {
    if mountmark_run::engine::is_worker() {
        mountmark_run::engine::worker_main();
    }
    if mountmark_run::agent::workload::is_child() {
        mountmark_run::agent::workload::main();
    }
    if mountmark_lab::guest::is_guest() {
        use mountmark_run::{agent::run_cell, crash::witness::answer};
        mountmark_lab::guest::main(mountmark_lab::guest::Roles { agent: run_cell, witness: answer });
    }
    if mountmark_lab::host::is_agent() {
        mountmark_lab::host::main(mountmark_run::agent::run_cell);
    }
    commands::main()
}
