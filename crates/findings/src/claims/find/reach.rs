//! What this program can measure.

use std::collections::{BTreeMap, BTreeSet};

use mountmark_model::Needs;

/// What this program can measure; used to name commands and reasons for missing figures.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    pub suites: BTreeSet<String>,
    /// The machines of the studies that suites repeat.
    pub machines: BTreeMap<String, String>,
    /// What runs of the suites that repeat studies need to judge their claims.
    pub needs: BTreeMap<String, Needs>,
    /// Configurations that cannot be measured, with the reason.
    pub unavailable: BTreeMap<String, String>,
    /// File systems that need a kernel from the user.
    pub own_kernel: BTreeSet<String>,
}
