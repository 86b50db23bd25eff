//! What a workload is explored by.

use std::time::Instant;

use mountmark_crash::oracle::Promises;
use mountmark_crash::states::{Budget, Device};
use mountmark_crash::trace::Policy;

/// Seconds after the last operation of a recording, in which the kernel writes back and commits by itself.
pub(super) const IDLE: u32 = 40;

/// What to explore, and how far.
#[derive(Clone, Debug)]
pub struct ExploreOptions {
    pub device: Device,
    pub policy: Policy,
    pub budget: Budget,
    /// Of samples.
    pub seed: u64,
    pub promises: Promises,
    /// After this moment no further images are made.
    pub deadline: Instant,
    /// In how many recoveries the power is cut again.
    pub recoveries: usize,
}
