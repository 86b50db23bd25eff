//! Where a task's time went, from profiles: a ledger for each configuration, and what makes one slower than another.
//!
//! Every nanosecond of a ledger is counted once, so its lines add up to the task's time.

mod difference;
mod kernels;
mod largest;
mod ledger;
mod without;

pub use difference::{Caller, Cause, Explanation, Line, explain};
pub use kernels::{Callee, Kernels, Rerouted};
pub use largest::{Gap, largest};
pub use ledger::{Account, Count, Ledger, Time, ledger};
pub use without::{Without, without};

#[cfg(test)]
mod tests;
