//! Cells and tasks without a figure, and why.

pub(crate) mod find;
pub(crate) mod page;
pub(crate) mod say;
