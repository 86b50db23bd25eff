//! What power cuts showed: campaigns, workloads, states of a disk.

pub(crate) mod explored;
pub(crate) mod list;
pub(crate) mod page;
pub(crate) mod say;
pub(crate) mod show;
pub(crate) mod state;
pub(crate) mod write_order;
