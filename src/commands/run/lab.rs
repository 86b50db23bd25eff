//! The lab that the command line names: its options, what is refused, how it is opened.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use mountmark_lab::Lab;
use mountmark_lab::emulator::{self, Emulator};
use mountmark_lab::host::{self, HostLab};
use mountmark_lab::image::kernel;
use mountmark_model::{Lab as LabName, Machine, Plan};

use crate::common::WrongUse;

/// The computer of guests unless `--machine` names another.
const DEFAULT_MACHINE: &str = "modern";

/// In seconds. Long: a command that works on gigabytes says nothing while it does.
pub const SILENCE_LIMIT: u64 = 1800;

/// Where cells run.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct LabOptions {
    /// Where cells run
    #[arg(long, value_name = "LAB", value_enum, default_value_t = LabChoice::Virtual)]
    pub lab: LabChoice,
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

/// The labs there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LabChoice {
    /// An emulated guest whose clock counts instructions
    Virtual,
    /// The same guest under KVM, wall time
    Kvm,
    /// This machine's own kernel, as root, on loop devices, wall time
    Host,
}

impl LabOptions {
    /// What the options are where none is given.
    pub fn usual() -> LabOptions {
        LabOptions {
            lab: LabChoice::Virtual,
            machine: DEFAULT_MACHINE.into(),
            kernel: kernel::DEFAULT.into(),
            silence_limit: SILENCE_LIMIT,
            image: None,
            force_image: false,
        }
    }

    /// The virtual lab that a plan was made for.
    pub fn of(plan: &Plan, silence_limit: u64) -> LabOptions {
        LabOptions {
            machine: plan.machine.name.clone(),
            kernel: plan.kernel.clone(),
            silence_limit,
            ..LabOptions::usual()
        }
    }

    /// The lab.
    pub fn open(&self, machine: &Machine) -> Result<Box<dyn Lab>> {
        if self.lab == LabChoice::Host {
            return Ok(Box::new(HostLab::open(host::Options {
                cache: mountmark_lab::cache::default_folder(),
                image: self.image.clone(),
                force_image: self.force_image,
                silence_limit: Duration::from_secs(self.silence_limit),
            })?));
        }
        Ok(Box::new(Emulator::open(emulator::Options {
            cache: mountmark_lab::cache::default_folder(),
            kernel: self.kernel.clone(),
            machine: machine.clone(),
            kvm: self.lab == LabChoice::Kvm,
            silence_limit: Duration::from_secs(self.silence_limit),
        })?))
    }

    /// The lab's name in plans.
    pub fn name(&self) -> LabName {
        match self.lab {
            LabChoice::Virtual => LabName::Virtual,
            LabChoice::Kvm => LabName::Kvm,
            LabChoice::Host => LabName::Host,
        }
    }

    /// Refuses options that mean nothing in the lab.
    pub fn check(&self) -> Result<()> {
        if self.lab != LabChoice::Host {
            if self.image.is_some() {
                bail!(WrongUse("--image is an option of --lab host; the other labs need no image".into()));
            }
            return Ok(());
        }
        if self.machine != DEFAULT_MACHINE || self.kernel != kernel::DEFAULT {
            bail!(WrongUse(
                "--machine and --kernel choose a guest; the host lab runs on this machine and its kernel".into()
            ));
        }
        Ok(())
    }

    /// Refuses a lab that this user may not use.
    pub fn check_rights(&self) -> Result<()> {
        if self.lab == LabChoice::Host { host::check_rights() } else { Ok(()) }
    }
}
