//! Runs cells and returns samples.
//!
//! `account` checks an agent's events. `pool` is how work is shared among threads; `schedule` runs a plan's cells by it, and
//! does not know how a lab is opened, nor where samples are kept. `crash/` runs the cells of power cuts.

mod account;
pub mod crash;
pub mod pool;
pub mod schedule;

pub use account::fits;
