//! The lab on the command line: its options, checks, and how it is opened.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mountmark_lab::image::kernel;
use mountmark_lab::{LabKind, OpenLab, Options};
use mountmark_model::{Lab, Machine, Nature, Plan};

use crate::common::WrongUse;

/// The computer of guests unless `--machine` names another.
const DEFAULT_MACHINE: &str = "modern";

/// In seconds. Long, because a command that works on gigabytes prints nothing meanwhile.
pub const SILENCE_LIMIT: u64 = 1800;

/// Where cells run.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct LabOptions {
    /// Where cells run
    #[arg(long, value_name = "LAB", value_parser = labs(), default_value = Lab::DEFAULT.name())]
    pub lab: Lab,
    /// The computer of the virtual lab; `mountmark list machines`
    #[arg(long, value_name = "MACHINE", default_value = DEFAULT_MACHINE)]
    pub machine: String,
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
}

fn labs() -> impl TypedValueParser<Value = Lab> {
    let names = Lab::ALL.iter().map(|lab| PossibleValue::new(lab.name()).help(lab.nature().about));
    PossibleValuesParser::new(names).map(|name| Lab::find(&name).expect("one of the possible values"))
}

impl LabOptions {
    /// The defaults of the options.
    pub fn usual() -> LabOptions {
        LabOptions {
            lab: Lab::DEFAULT,
            machine: DEFAULT_MACHINE.into(),
            kernel: kernel::DEFAULT.into(),
            silence_limit: SILENCE_LIMIT,
            image: None,
            force_image: false,
        }
    }

    /// The options with which a plan for guests was made.
    pub fn of(plan: &Plan, silence_limit: u64) -> LabOptions {
        LabOptions {
            lab: plan.lab,
            machine: plan.machine.name.clone(),
            kernel: plan.kernel.clone(),
            silence_limit,
            ..LabOptions::usual()
        }
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

    /// The lab's own options, with `machine` for guests.
    pub fn options(&self, machine: &Machine) -> Options {
        Options {
            cache: mountmark_lab::cache::default_folder(),
            kernel: self.kernel.clone(),
            machine: machine.clone(),
            image: self.image.clone(),
            force_image: self.force_image,
            silence_limit: Duration::from_secs(self.silence_limit),
        }
    }

    /// Rejects options that have no effect in the lab.
    pub fn check(&self) -> Result<()> {
        let is_guest = self.nature().guest;
        if is_guest && self.image.is_some() {
            bail!(WrongUse("--image is an option of --lab host; the other labs need no image".into()));
        }
        if !is_guest && (self.machine != DEFAULT_MACHINE || self.kernel != kernel::DEFAULT) {
            bail!(WrongUse(
                "--machine and --kernel choose a guest; the host lab runs on this machine and its kernel".into()
            ));
        }
        Ok(())
    }
}
