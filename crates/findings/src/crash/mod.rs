//! What power cuts showed: campaigns, workloads, states of a disk.

pub(crate) mod page;
pub(crate) mod say;
pub(crate) mod show;
