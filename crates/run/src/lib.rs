//! Cells in, samples out.
//!
//! `agent/` measures one cell on the disks that a lab gave it, and is the same in every lab. `programs/` reads what
//! benchmark programs print. `account` believes what an agent says, or does not. `schedule` runs a plan's cells side by side and passes on what the agents say. This crate
//! does not know how a lab comes about, nor where samples are kept.

mod account;
pub mod agent;
pub mod engine;
pub mod programs;
pub mod schedule;
