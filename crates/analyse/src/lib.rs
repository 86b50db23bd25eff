//! Records in, findings out: estimates with intervals, verdicts, doubtful samples, what has changed between runs, and
//! what of the old studies still holds.
//!
//! Everything here is a pure function of records, options and a seed: the same run gives the same findings to the last
//! bit. This crate does not know where runs lie, how findings are shown, or how anything was measured.

mod analysis;
mod change;
pub mod claim;
mod conclude;
mod contrast;
mod doubt;
mod estimate;
mod figures;
mod findings;
mod iostat;
mod missing;
mod options;
mod ranking;
mod rate;
mod remarks;
pub mod stats;
pub mod study;
mod verdict;
mod words;

pub use analysis::{configurations, findings};
pub use change::{Change, ChangeOutcome, Changes, Difference, changes, incomparable};
pub use doubt::{cells_in_doubt, doubts};
pub use findings::*;
pub use iostat::{Iostat, Stream};
pub use options::Options;
pub use rate::rate_of;
