//! Figures over a parameter that the plan varies, and their cliffs.

pub(crate) mod find;
pub(crate) mod page;
pub(crate) mod say;
pub(crate) mod show;
