//! All tasks beside all configurations, by one metric.

pub(crate) mod page;
pub(crate) mod say;
pub(crate) mod show;
