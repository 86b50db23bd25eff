//! Figures of a run, by task and configuration.

pub(crate) mod find;
pub(crate) mod say;
