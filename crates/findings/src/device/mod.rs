//! What a task asked of its device.

pub(crate) mod find;
pub(crate) mod page;
pub(crate) mod show;
