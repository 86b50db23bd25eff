//! Limits of what was found.

pub(crate) mod find;
pub(crate) mod say;
