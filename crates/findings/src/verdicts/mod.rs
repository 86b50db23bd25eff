//! Which differences between configurations are shown, task by task.

pub(crate) mod find;
pub(crate) mod page;
pub(crate) mod say;
pub(crate) mod show;
