//! A run: what stands above its figures, its samples and outputs, and the list of runs.

pub(crate) mod about;
pub(crate) mod again;
pub(crate) mod health;
pub(crate) mod list;
pub(crate) mod outputs;
pub(crate) mod precondition;
pub(crate) mod say;
pub(crate) mod show;
