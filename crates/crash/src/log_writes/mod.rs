//! The log of the kernel's device-mapper target log-writes, read and written.
//!
//! The target logs a plain write when a flush is replied to that arrived after the write's reply, a write with FUA when it
//! is replied to, and marks at once. So a log is shorter than a recording: it does not say when a request arrived, nor
//! what was under way at the same time. Read as a recording, each request is replied to before the next one arrives, but
//! for writes whose order the log does not tell.
//!
//! A log is a sector with its size, and for each entry a sector that describes it and its data.

mod export;
mod import;

#[cfg(test)]
mod tests;

pub use export::export;
pub use import::{Imported, LogError, Problem, import};

const MAGIC: u64 = 0x006a_7366_7773_6872;
const VERSION: u64 = 1;
/// Bytes of an entry's description; behind them is the text of a mark.
const HEADER: usize = 32;

const FLUSH: u64 = 1;
const FUA: u64 = 2;
const DISCARD: u64 = 4;
const MARK: u64 = 8;
const METADATA: u64 = 16;
