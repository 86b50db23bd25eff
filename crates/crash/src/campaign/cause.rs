//! Findings that likely have one cause, and what they say of their configuration.

use serde::Serialize;

use super::{Fault, Finding};
use crate::trace::Policy;
use crate::workload::{Op, Workload};

/// What a cause says of its configuration, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It breaks a promise.
    Broken,
    /// The same, and it was seen only where a request was torn between its sectors.
    Torn,
    /// An application's check failed which does not count on what returned: the file system owes it nothing.
    Application,
    /// The medium had lost data before, of which nothing is promised.
    AfterLoss,
    /// It shows what the configuration does not promise.
    GivenUp,
}

/// Why something is wrong: of two workloads that break a promise for one reason the level, the kind of what is wrong and
/// the kinds of operations are the same ([`Fault::signature`]), and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    pub signature: String,
    pub(super) path: Option<String>,
}

/// Findings that likely have one cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause<'a> {
    pub signature: String,
    /// Whether it breaks a promise.
    pub promised: bool,
    /// Whether it was seen only where a request was torn at sectors. The kernel may not rely on more, but most disks do
    /// not tear most requests.
    pub torn: bool,
    /// Images that show it.
    pub images: usize,
    /// Workloads, each under each policy, that show it.
    pub workloads: usize,
    /// The shortest workload that shows it, without torn requests if one does.
    pub workload: &'a Workload,
    pub policy: Policy,
    /// The first finding in that workload.
    pub finding: &'a Finding,
}

impl Cause<'_> {
    pub fn standing(&self) -> Standing {
        let has_lost = || self.workload.ops.iter().any(|op| matches!(op, Op::Lose { .. }));
        match self.finding.fault {
            _ if self.promised => {
                if self.torn {
                    Standing::Torn
                } else {
                    Standing::Broken
                }
            }
            Fault::Application(_) => Standing::Application,
            _ if has_lost() => Standing::AfterLoss,
            _ => Standing::GivenUp,
        }
    }
}
