//! Cells and tasks without a figure, and why.

pub(crate) mod find;
pub(crate) mod say;
pub(crate) mod show;
