//! Places of configurations, by kind of work and in all.

pub(crate) mod find;
pub(crate) mod page;
pub(crate) mod show;
