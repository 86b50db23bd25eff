//! Latencies, and rates over time.

pub(crate) mod page;
