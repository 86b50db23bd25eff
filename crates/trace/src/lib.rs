//! Requests at a device in, a bounded record of them out: counts over time, sizes, and a map of addresses over time.
//!
//! Whoever serves or watches a device tells a [`Recorder`] of each request's arrival and completion. A recorder has a
//! fixed size, allocates nothing, and makes room for longer spans by joining neighbouring slices, so that neither the
//! length of a task nor its number of requests needs to be known. This crate does not know who watches the device, which
//! clock the times are of, or what task is running.

mod recorder;

pub use recorder::{Completed, Recorder, Times};

#[cfg(test)]
mod tests;
