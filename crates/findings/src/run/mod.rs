//! A run: what stands above its figures, its samples and outputs, and the list of runs.

pub(crate) mod say;
pub(crate) mod show;
