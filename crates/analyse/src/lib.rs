//! Records in, findings out: estimates with intervals, verdicts, doubtful samples, what has changed between runs, and
//! what of the old studies still holds.
//!
//! Everything here is a pure function of records, options and a seed: the same run gives the same findings to the last
//! bit. This crate does not know where runs lie, how findings are shown, or how anything was measured.

mod findings;

pub use findings::*;
