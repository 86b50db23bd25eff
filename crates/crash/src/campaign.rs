//! What power cuts showed of one configuration: workloads, how far each was explored, and what was found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::application::{End, Verdict};
use crate::oracle::{Moment, Promises, Violation};
use crate::states::{Device, State, StateId, Tested, Tier};
use crate::trace::Trace;
use crate::tree::Tree;
use crate::workload::Workload;

/// All that was tried on one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Campaign {
    pub configuration: String,
    /// The guest's kernel.
    pub kernel: String,
    /// Size of the disk in bytes.
    pub disk_size: u64,
    pub device: Device,
    pub promises: Promises,
    /// Of everything random.
    pub seed: u64,
    pub tried: Vec<Tried>,
    /// Wall time in seconds.
    pub seconds: f64,
    /// Whether the budget or the user ended it before all workloads were tried.
    pub cut_short: bool,
}

/// A workload under one policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    pub workload: Workload,
    /// When the disk replied, as on the command line.
    pub policy: String,
    pub explored: Explored,
}

/// How far a workload was explored, and what was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Explored {
    /// Images; those of one epoch differ from each other.
    pub states: usize,
    /// Images that a guest was shown; the others are known by these.
    pub shown: usize,
    pub epochs: usize,
    /// Sums over epochs, T0 first; a tier is complete if it is in every epoch.
    pub tested: [Tested; 5],
    pub findings: Vec<Finding>,
    /// Wall time in seconds, of the recording and of all.
    pub seconds: [f64; 2],
    /// Why the workload was not explored.
    pub error: Option<String>,
}

/// Something that no power cut may leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub state: StateId,
    pub moment: Moment,
    pub fault: Fault,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A promise of the file system.
    Broken(Violation),
    /// It cannot be mounted; the kernel's reason.
    Mount(String),
    /// The file system's own check finds errors after a mount and an unmount.
    Check(Check),
    /// An application's own check finds something wrong, or does not end.
    Application(Verdict),
    /// Nothing can be written; the kernel's reason.
    Write(String),
    /// It cannot be unmounted; the kernel's reason.
    Umount(String),
    /// The guest's kernel panicked or hung.
    Gone { reason: String, log: String },
}

/// How a file system's own check ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Exit status.
    pub status: i32,
    /// The end of what it said; empty if its status is that of a sound file system.
    pub said: String,
}

/// What one image holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Why the image cannot be mounted.
    pub mount: Option<String>,
    /// What was found, if it could be mounted.
    pub tree: Option<Tree>,
    /// What the application's own check said, if an application ran and the image could be mounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Verdict>,
    /// Why a new file could not be written and removed.
    pub write: Option<String>,
    /// Why it could not be unmounted.
    pub umount: Option<String>,
    /// The file system's own check after that; `None` if it has none, or if the image cannot be mounted.
    pub check: Option<Check>,
    /// Parts of the disk that all this has read, in bytes: offset and length, in the order of their first reads.
    pub reads: Vec<(u64, u64)>,
}

/// One state, made again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Again {
    pub trace: Trace,
    pub state: State,
    /// Number of events before the power cut.
    pub end: usize,
    pub moment: Moment,
    /// What was seen; `None` if looking ended the guest.
    pub seen: Option<Seen>,
    pub faults: Vec<Fault>,
}

impl Finding {
    /// Whether its image has a part of a request.
    pub fn is_torn(&self) -> bool {
        matches!(self.state.tier, Tier::Torn | Tier::Sectors)
    }
}

impl Fault {
    /// Equal for faults that likely have one cause.
    pub fn signature(&self, workload: &Workload) -> String {
        match self {
            Fault::Broken(violation) => violation.signature(workload),
            Fault::Mount(reason) => format!("L0 mount: {reason}"),
            Fault::Check(check) => format!("L0 check: status {}", check.status),
            Fault::Application(verdict) => match verdict.end {
                End::Status(status) => format!("{workload} check: status {status}"),
                End::Signal(signal) => format!("{workload} check: signal {signal}"),
                End::Limit(_) => format!("{workload} check: no end"),
            },
            Fault::Write(reason) => format!("L0 write: {reason}"),
            Fault::Umount(reason) => format!("L0 umount: {reason}"),
            Fault::Gone { reason, .. } => format!("L0 kernel: {reason}"),
        }
    }
}

/// Findings that likely have one cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause<'a> {
    pub signature: String,
    /// Whether it was seen only where a request was torn at sectors. The kernel may not rely on more, but most disks do
    /// not tear most requests.
    pub torn: bool,
    /// Images that show it.
    pub images: usize,
    /// Workloads, each under each policy, that show it.
    pub workloads: usize,
    /// The shortest workload that shows it, without torn requests if one does.
    pub workload: &'a Workload,
    pub policy: &'a str,
    /// The first finding in that workload.
    pub finding: &'a Finding,
}

impl Campaign {
    /// The findings by cause, in the order of their signatures.
    pub fn causes(&self) -> Vec<Cause<'_>> {
        let mut causes: BTreeMap<String, Cause> = BTreeMap::new();
        for Tried { workload, policy, explored } in &self.tried {
            let mut here: BTreeMap<String, (usize, &Finding)> = BTreeMap::new();
            for finding in &explored.findings {
                let (images, first) = here.entry(finding.fault.signature(workload)).or_insert((0, finding));
                *images += 1;
                if first.is_torn() && !finding.is_torn() {
                    *first = finding;
                }
            }
            for (signature, (images, finding)) in here {
                let torn = finding.is_torn();
                let fresh =
                    Cause { signature: signature.clone(), torn, images: 0, workloads: 0, workload, policy, finding };
                let cause = causes.entry(signature).or_insert(fresh);
                cause.images += images;
                cause.workloads += 1;
                if (torn, workload.ops.len()) < (cause.torn, cause.workload.ops.len()) {
                    (cause.torn, cause.workload, cause.policy, cause.finding) = (torn, workload, policy, finding);
                }
            }
        }
        causes.into_values().collect()
    }

    /// The sum over all that was explored.
    pub fn total(&self, of: impl Fn(&Explored) -> usize) -> usize {
        self.tried.iter().map(|tried| of(&tried.explored)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Op;

    fn tried(ops: usize, faults: &[Fault]) -> Tried {
        let finding = |fault: &Fault| Finding {
            state: "e3.t1.-2".parse().unwrap(),
            moment: Moment { begun: 1, returned: 1 },
            fault: fault.clone(),
        };
        let workload = Workload { name: String::new(), ops: vec![Op::Sync; ops], ..Workload::default() };
        let findings = faults.iter().map(finding).collect();
        Tried { workload, policy: "fifo".into(), explored: Explored { states: 5, findings, ..Explored::default() } }
    }

    #[test]
    fn findings_of_one_cause_are_told_once_with_the_shortest_workload() {
        let mount = Fault::Mount("Structure needs cleaning".into());
        let check = Fault::Check(Check { status: 4, said: "wrong count".into() });
        let campaign = Campaign {
            configuration: "ext4".into(),
            kernel: "6.12".into(),
            disk_size: 1 << 29,
            device: "sector".parse().unwrap(),
            promises: Promises::least(),
            seed: 1,
            tried: vec![tried(5, &[mount.clone(), check.clone(), mount.clone()]), tried(2, &[mount])],
            seconds: 1.0,
            cut_short: false,
        };
        let causes = campaign.causes();
        let told: Vec<_> = causes
            .iter()
            .map(|cause| (cause.signature.as_str(), cause.images, cause.workloads, cause.workload.ops.len()))
            .collect();
        assert_eq!(told, [("L0 check: status 4", 1, 1, 5), ("L0 mount: Structure needs cleaning", 3, 2, 2)]);
        assert_eq!(campaign.total(|explored| explored.states), 10);
    }
}
