//! Samples that do not fit the others.

pub(crate) mod find;
pub(crate) mod say;
