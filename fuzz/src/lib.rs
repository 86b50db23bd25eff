//! All parsers of untrusted input, as functions that take any bytes: [`TARGETS`].
//!
//! A target must return: without a panic (overflow included), within [`MOST_SECONDS`] of processor time, and with at
//! most [`MOST_MEMORY`] more memory than before. [`run`] enforces this. Inputs have at most [`MOST_INPUT`] bytes.
//!
//! * `cargo test` runs all targets on the inputs in the repository (catalogue, outputs of real programs, `corpus/`) and
//!   on a fixed number of changed copies. It needs only a stable compiler; `make test` does it.
//! * `make fuzz MINUTES=10` runs each target for ten minutes under libFuzzer (`TARGETS=suite` only one), and prints a
//!   table. It needs a C++ compiler; instrumentation is LLVM's own and works on stable. Findings are in
//!   `target/fuzz/findings/`; `cargo test` with `FINDING=target:file` runs one input again.
//!
//! An input that broke something becomes a test beside the parser, and stays in `corpus/` if only a target detects it.

pub mod change;
pub mod guard;
pub mod seeds;
pub mod targets;

pub use guard::run;
pub use targets::{TARGETS, Target};

/// Maximum size of an input in bytes.
pub const MOST_INPUT: usize = 1 << 20;
/// Maximum processor time in seconds for one input, in an optimised build with overflow checks.
pub const MOST_SECONDS: f64 = 1.0;
/// Maximum number of bytes of memory that one input may use at once.
pub const MOST_MEMORY: usize = 200 << 20;

#[global_allocator]
static ALLOCATOR: guard::Counting = guard::Counting;
