//! What power cuts showed of one configuration: workloads, how far each was explored, and what was found.

mod cause;
mod repairs;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use mountmark_model::FileOutcome;
use serde::{Deserialize, Serialize};

use crate::application::{End, Verdict};
use crate::moment::Moment;
use crate::oracle::{self, Fates, History, Level, Promises, Violation};
use crate::order::Order;
pub use crate::seen::{Check, Repaired, Seen};
use crate::stateless;
use crate::states::{Device, Extent, ImageId, Tested, Tier};
use crate::trace::{Policy, Trace};
use crate::workload::Workload;
pub use cause::{Cause, Reason, Standing};
pub use repairs::Repairs;

/// All that was tried on one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Campaign {
    pub configuration: String,
    /// The guest's kernel.
    pub kernel: String,
    /// The same, as the command line takes it.
    #[serde(default)]
    pub kernel_option: String,
    /// Size of each disk in bytes.
    pub disk_size: u64,
    /// How many there are; 0 of a record of a version that had one.
    #[serde(default)]
    pub disks: u32,
    pub device: Device,
    pub promises: Promises,
    /// Why these are the least that any file system owes, if nothing is documented of the configuration.
    pub undocumented: Option<String>,
    /// Whether there is a check of the file system, which images must pass.
    #[serde(default = "yes")]
    pub has_check: bool,
    /// Of everything random.
    pub seed: u64,
    pub tried: Vec<Tried>,
    /// Wall time in seconds.
    pub seconds: f64,
    /// Of that, until the first guest was ready: it is not part of the budget.
    #[serde(default)]
    pub prepared: f64,
    /// Whether the budget or the user ended it before all workloads were tried.
    pub cut_short: bool,
}

/// A workload under one policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    pub workload: Workload,
    /// When the disk replied.
    pub policy: Policy,
    /// Whether it was tried only to find a smaller one that shows the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shrunk: bool,
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
    /// Recoveries in which the power was cut again, and images of them.
    #[serde(default)]
    pub recoveries: [usize; 2],
    /// Of a fault that is of each request in turn: requests, and those of which a promise was broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_turn: Option<[usize; 2]>,
    /// Beside these requests, those whose fault left no recording: nothing is known of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unrecorded: usize,
    /// [`History::failed`]: of what hangs on these operations nothing is judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<(u16, i32)>,
    /// [`History::strange`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strange: Option<u16>,
    /// Sums over epochs, T0 first; a tier is complete if it is in every epoch.
    pub tested: [Tested; 5],
    /// One of each signature, those that break promises first.
    pub findings: Vec<Finding>,
    /// What became of each file, over the images of the first power cut, and over those that were repaired.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fates: Vec<Fates>,
    #[serde(default)]
    pub repaired: Repairs,
    /// What is suspicious in the recording itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspicious: Vec<stateless::Finding>,
    /// Wall time in seconds, of the recording and of all.
    pub seconds: [f64; 2],
    /// Whether its time ended before all images were made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
    /// Why the workload was not explored.
    pub error: Option<String>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn yes() -> bool {
    true
}

/// Something that is wrong after a power cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The first image that shows it, one without torn requests if there is one.
    pub state: ImageId,
    /// The disk that left the image, where the campaign's fault is of each request in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    pub moment: Moment,
    pub fault: Fault,
    /// Whether the configuration promises that this cannot be; otherwise it shows what the configuration gives up.
    pub promised: bool,
    /// What it is called, where the same image shows nothing of it when the disk that is gone is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hole: Option<String>,
    /// Images of the workload that show it.
    pub images: usize,
    /// What led to the image.
    pub order: Order,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A promise of the file system.
    Broken(Violation),
    /// What must go before a mount ends with damage left.
    Recovery(Check),
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

/// One state, made again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Replay {
    pub trace: Trace,
    pub id: ImageId,
    /// All that differs from the image before the workload.
    pub extents: Vec<Extent>,
    pub order: Order,
    pub moment: Moment,
    /// What was seen; `None` if looking ended the guest.
    pub seen: Option<Seen>,
    pub faults: Vec<Told>,
}

/// A fault, and whether it breaks a promise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    pub fault: Fault,
    pub promised: bool,
}

impl Finding {
    pub fn new(state: ImageId, device: Option<Device>, moment: Moment, Told { fault, promised }: Told) -> Finding {
        Finding { state, device, moment, fault, promised, hole: None, images: 1, order: Order::default() }
    }

    /// Whether its image has a part of a request.
    pub fn is_torn(&self) -> bool {
        let is_torn = |tier| matches!(tier, Tier::Torn | Tier::Sectors);
        is_torn(self.state.state.tier) || self.state.recovery.as_ref().is_some_and(|state| is_torn(state.tier))
    }
}

impl Fault {
    /// Whether the file system itself is damaged, and not only what it holds.
    pub fn is_damage(&self) -> bool {
        !matches!(self, Fault::Broken(_) | Fault::Application(_))
    }

    /// The level of the promise that it breaks, if it is promised.
    pub fn level(&self) -> Level {
        match self {
            Fault::Broken(violation) => violation.level,
            Fault::Application(_) => Level::L1,
            _ => Level::L0,
        }
    }

    /// What a smaller workload must show too.
    pub fn reason(&self, workload: &Workload) -> Reason {
        let path = match self {
            Fault::Broken(violation) => Some(violation.path.clone()),
            _ => None,
        };
        Reason { signature: self.signature(workload), path }
    }

    /// Equal for faults that likely have one cause.
    pub fn signature(&self, workload: &Workload) -> String {
        match self {
            Fault::Broken(violation) => violation.signature(workload),
            Fault::Recovery(check) => format!("L0 recovery: status {}", check.status),
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

impl Explored {
    /// Adds what was found in an image to what was found in others.
    pub fn add(&mut self, workload: &Workload, mut fresh: Finding, order: impl FnOnce() -> Order) {
        let signature = fresh.fault.signature(workload);
        let alike =
            |known: &&mut Finding| known.promised == fresh.promised && known.fault.signature(workload) == signature;
        match self.findings.iter_mut().find(alike) {
            Some(known) => {
                let images = known.images + 1;
                if known.is_torn() && !fresh.is_torn() {
                    fresh.order = order();
                    *known = fresh;
                }
                known.images = images;
            }
            None => {
                fresh.order = order();
                self.findings.push(fresh);
            }
        }
    }

    /// Counts what became of files in one image, and in its repair.
    pub fn count(&mut self, history: &History, moment: Moment, seen: Option<&Seen>, whole: FileOutcome) {
        let tree = seen.and_then(|seen| seen.tree.as_ref());
        oracle::count(&mut self.fates, false, history.fates(moment, tree, whole));
        if let Some(repaired) = seen.and_then(|seen| seen.repaired.as_ref()) {
            let whole = if repaired.mount.is_some() { FileOutcome::NotMounted } else { FileOutcome::Mended };
            oracle::count(&mut self.fates, true, history.fates(moment, repaired.tree.as_ref(), whole));
            self.repaired.images += 1;
            self.repaired.not_mounted += usize::from(repaired.mount.is_some());
            self.repaired.lost_and_found += usize::from(repaired.lost > 0);
        }
    }

    /// The finding with this signature that breaks a promise.
    pub fn broken(&self, workload: &Workload, signature: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.promised && finding.fault.signature(workload) == signature)
    }
}

impl Campaign {
    /// The findings by cause, the gravest first ([`Standing`]), then in the order of their signatures.
    pub fn causes(&self) -> Vec<Cause<'_>> {
        let mut causes: BTreeMap<(bool, String), Cause> = BTreeMap::new();
        for &Tried { ref workload, policy, shrunk, ref explored } in &self.tried {
            for finding in &explored.findings {
                let (torn, promised) = (finding.is_torn(), finding.promised);
                let signature = finding.fault.signature(workload);
                let fresh = Cause {
                    signature: signature.clone(),
                    promised,
                    torn,
                    images: 0,
                    workloads: 0,
                    workload,
                    policy,
                    finding,
                };
                let cause = causes.entry((!promised, signature)).or_insert(fresh);
                if !shrunk {
                    cause.images += finding.images;
                    cause.workloads += 1;
                }
                if (torn, workload.length()) < (cause.torn, cause.workload.length()) {
                    (cause.torn, cause.workload, cause.policy, cause.finding) = (torn, workload, policy, finding);
                }
            }
        }
        // What no image of a chosen workload shows was met on the way to something else.
        let mut causes: Vec<Cause> = causes.into_values().filter(|cause| cause.images > 0).collect();
        causes.sort_by_key(Cause::standing);
        causes
    }

    /// Whether no image was made of anything: then nothing is known.
    pub fn is_empty(&self) -> bool {
        self.total(|explored| explored.states) == 0
    }

    /// Whether a promise was broken, or an application was damaged.
    pub fn has_failed(&self) -> bool {
        let damaged = |finding: &Finding| matches!(finding.fault, Fault::Application(_));
        let mut findings = self.tried.iter().flat_map(|tried| &tried.explored.findings);
        self.is_broken() || findings.any(damaged)
    }

    /// Whether a promise was broken.
    pub fn is_broken(&self) -> bool {
        self.tried.iter().any(|tried| tried.explored.findings.iter().any(|finding| finding.promised))
    }

    /// What was tried for its own sake, and not to find a smaller workload.
    pub fn chosen(&self) -> impl Iterator<Item = &Tried> {
        self.tried.iter().filter(|tried| !tried.shrunk)
    }

    /// The sum over all that was chosen.
    pub fn total(&self, of: impl Fn(&Explored) -> usize) -> usize {
        self.chosen().map(|tried| of(&tried.explored)).sum()
    }

    /// Images for each second of wall time that a guest worked, recordings included; `None` if none did.
    pub fn rate(&self) -> Option<f64> {
        let seconds: f64 = self.chosen().map(|tried| tried.explored.seconds[1]).sum();
        (seconds > 0.0).then(|| self.total(|explored| explored.states) as f64 / seconds)
    }
}
