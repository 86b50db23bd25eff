//! How a task or a cell ended.

use serde::{Deserialize, Serialize};

/// How a task or a cell ended: a failure is a result too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Outcome {
    /// It did what it should.
    Ok,
    /// It was not tried, and why.
    Skipped {
        /// A sentence.
        reason: String,
    },
    /// It was tried and did not succeed.
    Failed {
        /// A sentence that names the thing and the reason.
        reason: String,
        /// What it printed and what the kernel said, the last lines.
        detail: String,
    },
}

impl Outcome {
    /// Whether it did what it should.
    pub fn is_ok(&self) -> bool {
        *self == Outcome::Ok
    }

    /// Whether it was tried and did not succeed.
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

    /// The sentence, where there is one.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Outcome::Ok => None,
            Outcome::Skipped { reason } | Outcome::Failed { reason, .. } => Some(reason),
        }
    }
}
