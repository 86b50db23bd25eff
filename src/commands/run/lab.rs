//! The lab on the command line: its options, checks, and how it is opened.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mountmark_lab::emulator::Profiler;
use mountmark_lab::image::kernel;
use mountmark_lab::{LabKind, OpenLab, Options, Place};
use mountmark_model::{Bytes, Lab, Machine, Nature, Plan, Precondition, Target};

use crate::common::WrongUse;

/// The computer of guests unless `--machine` names another.
const DEFAULT_MACHINE: &str = "modern";

/// In seconds. Long, because a command that works on gigabytes prints nothing meanwhile.
pub const SILENCE_LIMIT: u64 = 1800;

/// Seconds of a round of preconditioning, as SNIA has it.
const ROUND: &str = "60";

/// A lab that is open.
pub enum Opened {
    Plain(Box<dyn OpenLab>),
    Profiled(Box<Profiler>),
}

impl Opened {
    pub fn lab(&self) -> &dyn OpenLab {
        match self {
            Opened::Plain(lab) => lab.as_ref(),
            Opened::Profiled(profiler) => profiler.as_ref(),
        }
    }

    pub fn profiler(&self) -> Option<&Profiler> {
        match self {
            Opened::Plain(_) => None,
            Opened::Profiled(profiler) => Some(profiler),
        }
    }
}

/// Where cells run.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct LabOptions {
    /// Where cells run
    #[arg(long, value_name = "LAB", value_parser = labs(), default_value = Lab::DEFAULT.name())]
    pub lab: Lab,
    /// The computer of the virtual lab; `mountmark list machines` [default: modern]
    #[arg(long, value_name = "MACHINE")]
    pub machine: Option<String>,
    /// The guest's kernel: a Debian version such as 6.12 or 6.1, a package name, PATH[,MODULES] of a vmlinux, a vmlinuz or
    /// a build tree, or `host`
    #[arg(long, value_name = "KERNEL", default_value = kernel::DEFAULT)]
    pub kernel: String,
    /// Seconds of wall time that a guest may be silent before it counts as hung
    #[arg(long, value_name = "SECONDS", default_value_t = SILENCE_LIMIT, value_parser = clap::value_parser!(u64).range(1..))]
    pub silence_limit: u64,
    /// Host lab: the file that stands for the disk under test, empty or not there yet, or a folder in which to make it
    /// [default: /var/tmp]. A file that is made here has no name and is gone afterwards; yours is given back empty
    #[arg(long, value_name = "PATH")]
    pub image: Option<PathBuf>,
    /// Host lab: overwrite what the file after --image holds
    #[arg(long, requires = "image")]
    pub force_image: bool,
    /// Host lab: real disks, partitions, volumes or arrays to make the file systems on, separated by commas; each
    /// configuration visits each. All that they hold is lost; one that is in use is refused, whatever else is said
    #[arg(long, value_name = "DEVICE", value_delimiter = ',', conflicts_with = "image")]
    pub device: Vec<PathBuf>,
    /// Host lab: give up what the devices hold, each by its serial number or a UUID on it, separated by commas; a refusal
    /// shows these names
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "device")]
    pub wipe: Vec<String>,
    /// Host lab: a folder of a file system that is mounted already. Tasks alone run, in a new folder below it: nothing is
    /// made, mounted or checked, and --fs has no effect
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["image", "device"])]
    pub dir: Option<PathBuf>,
    /// Host lab: the most memory that a cell's programs and the pages they cache may take together, so that large files
    /// leave the cache as on a small machine; needs cgroup v2
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Bytes>,
    /// Host lab, with --device: bring flash disks into steady state before the first cell, as SNIA's PTS 2.0.1 has it:
    /// discard, write twice from end to end, then at random in rounds of so many seconds until five of them are alike, 25
    /// at most [default: 60]. Nothing is discarded before mkfs then
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = ROUND, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub precondition: Option<u32>,
}

pub fn labs() -> impl TypedValueParser<Value = Lab> {
    let names = Lab::ALL.iter().map(|lab| PossibleValue::new(lab.name()).help(lab.nature().about));
    PossibleValuesParser::new(names).map(|name| Lab::find(&name).expect("one of the possible values"))
}

impl LabOptions {
    /// The defaults of the options.
    pub fn usual() -> LabOptions {
        LabOptions {
            lab: Lab::DEFAULT,
            machine: None,
            kernel: kernel::DEFAULT.into(),
            silence_limit: SILENCE_LIMIT,
            image: None,
            force_image: false,
            device: Vec::new(),
            wipe: Vec::new(),
            dir: None,
            memory: None,
            precondition: None,
        }
    }

    /// The options with which a plan was made, without what was given up for it.
    pub fn of(plan: &Plan, silence_limit: u64) -> LabOptions {
        let mut options = LabOptions {
            lab: plan.lab,
            machine: Some(plan.machine.name.clone()),
            kernel: plan.kernel.clone(),
            silence_limit,
            memory: plan.memory_limit,
            precondition: plan.precondition.map(|how| how.round_seconds),
            ..LabOptions::usual()
        };
        for target in &plan.targets {
            match target {
                Target::Image { path, .. } => options.image = Some(path.into()),
                Target::Device(identity) => options.device.push(identity.path.clone().into()),
                Target::Folder { path, .. } => options.dir = Some(path.into()),
            }
        }
        options
    }

    /// The computer of guests.
    pub fn machine(&self) -> &str {
        self.machine.as_deref().unwrap_or(DEFAULT_MACHINE)
    }

    pub fn nature(&self) -> &'static Nature {
        self.lab.nature()
    }

    /// The lab, before it is opened.
    pub fn kind(&self) -> &'static dyn LabKind {
        mountmark_lab::kind(self.lab)
    }

    /// The lab, with `machine` for guests.
    pub fn open(&self, machine: &Machine) -> Result<Box<dyn OpenLab>> {
        self.kind().open(self.options(machine))
    }

    /// The same, with the profiler if asked for.
    pub fn open_with(&self, machine: &Machine, profile: bool) -> Result<Opened> {
        match profile {
            true => Ok(Opened::Profiled(Box::new(Profiler::open(self.options(machine), true)?))),
            false => Ok(Opened::Plain(self.open(machine)?)),
        }
    }

    /// Rejects the profiler in a lab that has none.
    pub fn check_profile(&self, profile: bool) -> Result<()> {
        if profile && !self.nature().exact_clock {
            bail!(WrongUse(format!(
                "--profile: the profiler is in the virtual lab's emulator, and would change what it looks at in the {} lab: \
                 use perf there",
                self.lab.name()
            )));
        }
        Ok(())
    }

    /// The lab's own options, with `machine` for guests.
    pub fn options(&self, machine: &Machine) -> Options {
        Options {
            cache: mountmark_lab::cache::default_folder(),
            kernel: self.kernel.clone(),
            machine: machine.clone(),
            place: self.place(),
            memory: self.memory,
            precondition: self.preconditioning(),
            silence_limit: Duration::from_secs(self.silence_limit),
        }
    }

    /// What the host lab works on.
    pub fn place(&self) -> Place {
        match &self.dir {
            Some(folder) => Place::Folder(folder.clone()),
            None if self.device.is_empty() => Place::Image { path: self.image.clone(), force: self.force_image },
            None => Place::Devices { paths: self.device.clone(), wipe: self.wipe.clone() },
        }
    }

    /// How real disks are brought into steady state.
    pub fn preconditioning(&self) -> Option<Precondition> {
        self.precondition.map(|round_seconds| Precondition { round_seconds })
    }

    /// Rejects preconditioning of what is no disk.
    fn check_precondition(&self) -> Result<()> {
        let reason = match self.precondition {
            None => return Ok(()),
            Some(_) if self.nature().guest => {
                "a guest's disk is a model, which is not flash or has no past; name a real one with --lab host --device"
            }
            Some(_) if self.dir.is_some() => {
                "the disk below --dir is in use, and all that it holds would be lost; name a disk that holds nothing with --device"
            }
            Some(_) if self.device.is_empty() => {
                "an image is a file, in memory or wherever its file system puts it, and each cell gets an empty one; name \
                 the disk itself with --device"
            }
            Some(_) => return Ok(()),
        };
        bail!(WrongUse(format!("--precondition: {reason}")))
    }

    /// Rejects options that have no effect in the lab.
    pub fn check(&self) -> Result<()> {
        let is_guest = self.nature().guest;
        let real = [("--device", !self.device.is_empty()), ("--dir", self.dir.is_some())];
        if let Some((option, _)) = real.iter().find(|(_, is_given)| is_guest && *is_given) {
            bail!(WrongUse(format!("{option} is an option of --lab host; guests have disks of their own")));
        }
        if is_guest && self.memory.is_some() {
            bail!(WrongUse(
                "--memory is an option of --lab host; a guest has the memory of its --machine, and --vary ram=FROM..TO varies it"
                    .into()
            ));
        }
        if let Some(reason) = self.memory.and_then(mountmark_lab::host::too_little) {
            bail!(WrongUse(reason));
        }
        self.check_precondition()?;
        if self.device.iter().any(|path| path.as_os_str().is_empty()) {
            bail!(WrongUse("--device names no device; give a path, such as /dev/sdb".into()));
        }
        if is_guest && self.image.is_some() {
            bail!(WrongUse("--image is an option of --lab host; the other labs need no image".into()));
        }
        if !is_guest && (self.machine.is_some() || self.kernel != kernel::DEFAULT) {
            bail!(WrongUse(
                "--machine and --kernel choose a guest; the host lab runs on this machine and its kernel".into()
            ));
        }
        Ok(())
    }
}
