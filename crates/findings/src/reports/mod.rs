//! Several runs as one report.

pub(crate) mod page;
pub(crate) mod picture;
pub(crate) mod show;
