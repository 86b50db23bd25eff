//! Every parser that reads what a stranger can hand over, as functions that take any bytes: [`TARGETS`].
//!
//! A target must come back: without a panic (overflow included), within [`MOST_SECONDS`] of processor time, and with at
//! most [`MOST_MEMORY`] more memory than before. [`run`] holds it to that. Inputs have at most [`MOST_INPUT`] bytes.
//!
//! * `cargo test` runs all targets on what is in the repository (catalogue, outputs of real programs, `corpus/`) and on
//!   a fixed number of changed copies of it. It needs nothing but a stable compiler; `make test` does it.
//! * `make fuzz MINUTES=10` gives each target ten minutes of libFuzzer (`TARGETS=suite` one alone), and prints a table.
//!   It needs a C++ compiler; instrumentation is LLVM's own and works on stable. What is found lies in
//!   `target/fuzz/findings/`; `cargo test` with `FINDING=target:file` runs one input again.
//!
//! An input that broke something becomes a test beside the parser, and stays in `corpus/` where only a target sees it.

pub mod change;
pub mod guard;
pub mod seeds;
pub mod targets;

pub use guard::run;
pub use targets::{TARGETS, Target};

/// The largest input in bytes.
pub const MOST_INPUT: usize = 1 << 20;
/// The most seconds of processor time for one input, in an optimised build with overflow checks.
pub const MOST_SECONDS: f64 = 1.0;
/// The most bytes of memory that one input may take at once.
pub const MOST_MEMORY: usize = 200 << 20;

#[global_allocator]
static ALLOCATOR: guard::Counting = guard::Counting;
