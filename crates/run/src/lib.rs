//! Runs cells and returns samples.
//!
//! `agent/` measures one cell on the disks that a lab provides, and is the same in every lab; `protocol/` has its steps. `programs/` parses the
//! output of benchmark programs. `account` checks an agent's events. `pool` is how work is shared among threads; `schedule` runs a
//! plan's cells by it, and does not know how a lab is opened, nor where samples are kept.

mod account;
pub mod agent;
pub mod crash;
pub mod engine;
pub mod pool;
pub mod programs;
pub mod protocol;
pub mod schedule;
mod settings;
