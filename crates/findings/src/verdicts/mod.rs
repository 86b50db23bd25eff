//! Which differences between configurations are shown, task by task.

pub(crate) mod contrast;
pub(crate) mod estimate;
pub(crate) mod find;
pub(crate) mod judged;
pub(crate) mod page;
pub(crate) mod rule;
pub(crate) mod say;
pub(crate) mod show;
pub(crate) mod verdict;
pub(crate) mod worded;
