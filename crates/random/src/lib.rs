//! Random numbers that stay the same for years, and the functions that they are made with.
//!
//! A corpus made from a seed today must be the same bytes when somebody repeats a figure in ten years, on another
//! processor and with another compiler. Crates of random numbers do not promise that, and neither does the C
//! library's `log`. So everything here is made of 64-bit integers and of `+ - * /` and `sqrt` on `f64`, which IEEE 754
//! rounds in one way only, and Rust neither fuses nor reorders them.
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
