//! Statistics as pure functions of numbers: summaries, intervals, resampling, distributions, corrections.
//!
//! This crate does not know runs, tasks or file systems. Logarithms, exponentials and the gamma function come from the
//! crate `libm`, which computes them in Rust: those of the C library differ in the last bit between versions and
//! processors, and findings must be the same to the last bit everywhere.

pub mod bootstrap;
pub mod cliff;
pub mod distribution;
pub mod groups;
pub mod holm;
pub mod interval;
pub mod random;
pub mod screening;
pub mod summary;
pub mod trend;
pub mod variance;
