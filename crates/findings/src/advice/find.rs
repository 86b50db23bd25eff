//! What a search over configurations found, and how it decides.

pub(super) mod before;
pub(super) mod decide;
pub(super) mod gains;
pub(super) mod speeds;

use std::collections::BTreeMap;

use mountmark_crash::campaign::{Campaign, Standing};
use mountmark_model::promises::Level;
use serde::Serialize;

use crate::effects::find::Gain;
use crate::robustness::find::corner::Survival;

/// The least difference that matters: below it the simpler configuration is better.
pub const MATTERS: f64 = 0.01;

/// How much faster an answer is said to be than another configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Foretold {
    /// As `--fs` takes it.
    pub name: String,
    /// Its speed over that of the other.
    pub ratio: f64,
    /// Whether a difference was shown.
    pub shown: bool,
}

/// A configuration that is searched: a file system and the options that are added to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// As `--fs` takes it.
    pub name: String,
    /// As the catalogue has it.
    pub filesystem: String,
    /// The options that are not its defaults.
    pub options: Vec<String>,
}

/// What an option does on a file system, as the screening found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Screened {
    /// The file system.
    pub filesystem: String,
    /// The option.
    pub option: String,
    /// Speed with it over speed without, over all combinations that were tried; `None` if it could not be tried.
    pub ratio: Option<f64>,
    /// What it costs when something goes wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<String>,
}

/// Whether an order still stands elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The answer is faster there too.
    Holds,
    /// The other one is faster there.
    Turns,
    /// No difference is shown there.
    Open,
}

/// The answer beside another configuration in another situation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Turn {
    /// The situation: `memory 1 GiB`.
    pub situation: String,
    /// The other configuration.
    pub beside: String,
    /// How much faster the answer is there.
    pub gain: Gain,
    /// What became of the order.
    pub order: Order,
}

/// The order that a gain shows.
pub fn order(gain: &Gain) -> Order {
    match gain {
        Gain { shown: false, .. } => Order::Open,
        Gain { ratio, .. } if *ratio > 1.0 => Order::Holds,
        _ => Order::Turns,
    }
}

/// A configuration that the search measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// As `--fs` takes it.
    pub configuration: String,
    /// Repeats that it was measured in.
    pub repeats: usize,
    /// Its speed over that of the answer, in their common repeats.
    pub gain: Gain,
    /// Its speed in the first repeat: the geometric mean over the tasks, of rates, and of 1 over seconds. What was measured with
    /// the same seed at the same scale can be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
}

/// What power cuts showed of a configuration while a guest did what the work does, in small.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PowerCuts {
    /// As `--fs` takes it.
    pub configuration: String,
    /// What the guest did, as `crash --workload` takes it.
    pub workloads: Vec<String>,
    /// Different images of the disk that the cuts left.
    pub images: usize,
    /// Whether its time was over before all images were made.
    pub cut_short: bool,
    /// Promises that some image breaks.
    pub broken: Vec<Broken>,
    /// The campaign in the store.
    pub campaign: String,
}

/// A promise that a power cut broke.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// The promise.
    pub level: Level,
    /// The workload during which the power was cut.
    pub workload: String,
    /// Images that show it.
    pub images: usize,
}

impl PowerCuts {
    /// What a campaign of this name with these workloads found.
    pub fn of(campaign: &str, workloads: &[String], found: &Campaign) -> PowerCuts {
        let causes = found.causes();
        let broken = causes.iter().filter(|cause| cause.standing() == Standing::Broken).map(|cause| Broken {
            level: cause.finding.fault.level(),
            workload: cause.workload.to_string(),
            images: cause.images,
        });
        PowerCuts {
            configuration: found.configuration.clone(),
            workloads: workloads.to_vec(),
            images: found.chosen().map(|tried| tried.explored.states).sum(),
            cut_short: found.cut_short || found.chosen().any(|tried| tried.explored.cut_short),
            broken: broken.collect(),
            campaign: campaign.to_owned(),
        }
    }
}

/// Something that was not measured, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// A file system or configuration.
    pub what: String,
    /// A sentence's end: "it has no snapshots".
    pub why: String,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The suite, or the command.
    pub work: String,
    /// The guests' machine.
    pub machine: String,
    /// The disk under test.
    pub disk: String,
    /// The scale of the work: 1 is its own size.
    pub scale: String,
    /// The seed of the search.
    pub seed: u64,
    /// How full the file system is when the work begins; `None` if nobody asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room: Option<String>,
    /// Its history, as of the fill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age: Option<String>,
    /// The release of the kernel.
    pub kernel: String,
    /// What the user needs: `--survive fsync`.
    pub needs: Vec<String>,
    /// The configuration to take.
    pub answer: Candidate,
    /// How it is made and mounted.
    #[serde(flatten)]
    pub recipe: Recipe,
    /// What its options risk, a sentence's end each.
    pub risks: Vec<String>,
    /// The configuration that is taken if nothing is better.
    pub simplest: String,
    /// What would be taken in its place, and why it is left out; `None` if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<LeftOut>,
    /// How much faster the answer is than that; `None` if it is that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_simplest: Option<Gain>,
    /// How much faster than its own defaults; `None` if it has no other options.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_defaults: Option<Gain>,
    /// The fastest on another file system, and how much faster the answer is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second: Option<Tried>,
    /// What a power cut takes, a sentence.
    pub after_cut: String,
    /// Promises of the answer that are known to be broken, sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub known_faults: Vec<String>,
    /// What power cuts showed of the answer and of others.
    pub power_cuts: Vec<PowerCuts>,
    /// Why it is faster, sentences.
    pub why: Vec<String>,
    /// When the answer would be another.
    pub turns: Vec<Turn>,
    /// Whether it is faster on every machine, whatever work costs there beside what the clock counts.
    pub costs: Vec<OnMachines>,
    /// What options do.
    pub screened: Vec<Screened>,
    /// All that was measured, the fastest first.
    pub tried: Vec<Tried>,
    /// What was not measured.
    pub left_out: Vec<LeftOut>,
    /// What was not asked, a sentence's end each.
    pub not_asked: Vec<String>,
    /// Cells of the search.
    pub cells: usize,
    /// The runs of the search in the store.
    pub runs: Vec<String>,
    /// The command that measures the answer on a disk of one's own; `None` if the lab on real disks does not take it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<String>,
    /// Versions of what was measured with: the kernel's release, packages, the emulator.
    pub versions: BTreeMap<String, String>,
    /// What was asked, as words behind `advise`.
    pub words: Vec<String>,
    /// The answer of before, if it was asked again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<before::Before>,
}

/// How a configuration is made and mounted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recipe {
    /// Commands by which the guest made what it stands on; all of them, with those that mount it, where it has commands of its
    /// own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guest: Vec<String>,
    /// The command that makes it, with DEVICE; `None` where the guest's commands have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mkfs: Option<String>,
    /// Its line of /etc/fstab, with UUID and FOLDER; `None` where the guest's commands mount it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fstab: Option<String>,
}

/// The answer beside another configuration on machines that pay other costs for classes of work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OnMachines {
    /// The other configuration.
    pub beside: String,
    /// Whether the order holds for all costs, or what turns it.
    pub survival: Survival,
}
