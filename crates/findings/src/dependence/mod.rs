//! Figures that depend on conditions which were not chosen.

pub(crate) mod find;
pub(crate) mod say;
