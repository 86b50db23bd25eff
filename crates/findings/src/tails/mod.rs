//! What remains to be written after a command returned.

pub(crate) mod page;
