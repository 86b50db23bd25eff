//! When the power failed.

use serde::{Deserialize, Serialize};

/// How far the workload had come when the power failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The operations before this one have begun.
    pub begun: u16,
    /// The operations before this one have returned.
    pub returned: u16,
}
