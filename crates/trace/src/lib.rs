//! What is told of the requests at a device: in bounded space by a [`Recorder`], or each of them in a [`recording`].
//!
//! A recorder has counts over time, sizes, and a map of addresses over time. The server or watcher of a device passes each request's arrival and completion to a [`Recorder`]. It has a fixed size, does
//! not allocate, and makes room for longer spans by joining neighbouring slices, so that neither the length of a task nor its
//! number of requests needs to be known. This crate does not know who watches the device, which clock the times are of, what
//! task is running, or what a recording is for.

mod recorder;
pub mod recording;

pub use recorder::{Completed, Recorder, Times};

#[cfg(test)]
mod tests;
