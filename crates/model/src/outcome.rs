//! How a task or a cell ended.

use serde::{Deserialize, Serialize};

/// A failure is a result too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Outcome {
    /// It was done.
    Ok,
    /// Not tried.
    Skipped {
        /// As a sentence.
        reason: String,
    },
    /// Tried without success.
    Failed {
        /// As a sentence that names the thing and the reason.
        reason: String,
        /// The last lines of its output and of the kernel log.
        detail: String,
    },
}

impl Outcome {
    pub fn is_ok(&self) -> bool {
        *self == Outcome::Ok
    }

    pub fn is_failed(&self) -> bool {
        matches!(self, Outcome::Failed { .. })
    }

    /// `ok`, `skipped` or `failed`.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Skipped { .. } => "skipped",
            Outcome::Failed { .. } => "failed",
        }
    }

    /// The reason, unless it is `Ok`.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Outcome::Ok => None,
            Outcome::Skipped { reason } | Outcome::Failed { reason, .. } => Some(reason),
        }
    }
}
