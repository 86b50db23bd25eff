//! What makes a change.

use serde::Serialize;

/// What makes a change of one task on one configuration, by one metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    pub task: String,
    pub configuration: String,
    /// Its id.
    pub metric: &'static str,
    pub sentence: String,
}
