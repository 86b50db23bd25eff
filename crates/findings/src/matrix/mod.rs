//! All tasks beside all configurations, by one metric.

pub(crate) mod data;
pub(crate) mod find;
pub(crate) mod page;
pub(crate) mod picture;
pub(crate) mod say;
