//! How a run was measured, and where.

pub(crate) mod show;
