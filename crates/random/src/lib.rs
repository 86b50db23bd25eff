//! Random numbers that stay the same for years, and the functions they are computed with.
//!
//! A corpus made from a seed today must have the same bytes in ten years, on another processor and with another
//! compiler. Crates of random numbers do not promise that, nor does the C library's `log`. So this crate uses only
//! 64-bit integers and `+ - * /` and `sqrt` on `f64`, which IEEE 754 rounds in one way only and which Rust neither
//! fuses nor reorders.
//!
//! This crate does not know what the numbers are for.

mod functions;
mod normal;
mod split_mix;
mod stream;

pub use functions::{exp, ln};
pub use normal::{Quantile, normal_quantile};
pub use split_mix::{STEP, SplitMix64, mix};
pub use stream::{STREAM_VERSION, Stream};
