//! What each factor of a plan changes: kernels, machines, disks, builds and options that were crossed.

pub(crate) mod find;
pub(crate) mod page;
pub(crate) mod say;
pub(crate) mod show;
#[cfg(test)]
mod tests;
