//! A cell in, its disks out: in an emulated guest, in a guest under KVM, or on this machine.
//!
//! A lab decides where a cell runs, on which disk and under which clock. What is done with the disks is the agent's
//! business (`mountmark-run`), which is the same code in every lab; this crate measures nothing and stores nothing.

pub mod cache;
pub mod child;
pub mod emulator;
pub mod guest;
pub mod host;
pub mod image;
pub mod kernel_log;
pub mod leftovers;
pub mod memory;
pub mod needs;
mod trace;
mod voice;
mod watch;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Result;
use mountmark_model::{Cell, Configuration, Environment, Event, Lab, Machine, Outcome, OwnComputer, Program};
use serde::{Deserialize, Serialize};

pub use mountmark_trace::Times;
pub use trace::{DeviceTrace, Unseen};
pub use voice::Token;

/// Where the disks' media begin in a guest's physical memory: above everything that is RAM.
pub(crate) const MEDIA_START: u64 = 4 << 30;

/// A part of the media, relative to [`MEDIA_START`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub size: u64,
}

/// What a guest is told: its cell and where the media lie.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// What the agent's lines bear, and nothing else's.
    pub token: Token,
    /// The cell.
    pub cell: Cell,
    /// Medium of the disk under test.
    pub test: Region,
    /// Medium of the second disk.
    pub source: Option<Region>,
    /// The corpus, a plain tar file.
    pub corpus: Option<Region>,
}

/// A block device that a cell may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// `/dev/nbd0`.
    pub path: String,
    /// The name in /sys/block: `nbd0`.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// The process that serves it, whose processor time is not the machine's work.
    pub server: Option<u32>,
    /// The file below it, whose pages may be in this machine's page cache.
    pub backing: Option<PathBuf>,
}

/// The disks of a cell, and its corpus.
pub struct Devices {
    /// The disk under test.
    pub test: Device,
    /// The second disk, where the suite has a source.
    pub source: Option<Device>,
    /// What is laid out on the second disk.
    pub corpus: Option<CorpusData>,
    /// Called with `true` before something is measured and `false` before inputs are laid out: modelled disks keep
    /// time only while measuring.
    pub measuring: Box<dyn Fn(bool)>,
    /// Sees the requests at the disk under test.
    pub trace: Box<dyn DeviceTrace>,
    /// Where the file system under test is mounted.
    pub test_folder: PathBuf,
    /// Where the second disk is mounted.
    pub source_folder: PathBuf,
    /// Whether nothing else uses this kernel, so that its dirty pages are all the cell's.
    pub exclusive: bool,
}

/// Where a cell's disks are, for who wants to know before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The disk under test: `/dev/nbd0`. N stands for a number that is only known later.
    pub test: String,
    /// The second disk.
    pub source: String,
    /// Where the file system under test is mounted.
    pub test_folder: PathBuf,
    /// Where the second disk is mounted.
    pub source_folder: PathBuf,
}

/// Where the corpus's plain tar file is.
pub enum CorpusData {
    /// In memory outside the guest's RAM.
    Mapped(guest::MappedCorpus),
    /// A file of this machine.
    File(PathBuf),
}

/// Parsers of what a kernel and its modules hand over; for tests with bytes that nobody made.
#[doc(hidden)]
pub mod parsers {
    pub use crate::image::kernel::parse as kernel;
    pub use crate::image::modules::modinfo;
}

/// How cells are run, as far as the user chooses it; each lab heeds what means something in it.
#[derive(Clone, Debug)]
pub struct Options {
    /// The cache folder.
    pub cache: PathBuf,
    /// What the user wrote after `--kernel`.
    pub kernel: String,
    /// The computer of guests.
    pub machine: Machine,
    /// What the user wrote after `--image`.
    pub image: Option<PathBuf>,
    /// Whether data in the image may be overwritten.
    pub force_image: bool,
    /// How long an agent may say nothing, in wall time, before it counts as hung.
    pub silence_limit: Duration,
}

/// A lab that nobody has opened: what can be said of it while nothing is fetched, made or changed.
pub trait LabKind: Sync {
    /// Finds what it needs.
    fn open(&self, options: Options) -> Result<Box<dyn OpenLab>>;

    /// Where a cell's disks are.
    fn places(&self, cell: &Cell) -> Result<Places>;

    /// An error if this user may not use it, with what to do.
    fn check_rights(&self) -> Result<()> {
        Ok(())
    }

    /// Its computer, where no profile chooses one.
    fn own_computer(&self) -> Option<OwnComputer> {
        None
    }

    /// Why a configuration cannot run, in a sentence, as far as that is known before the lab is opened.
    fn unavailable(&self, _: &Configuration) -> Option<String> {
        None
    }

    /// Why a benchmark program is not to be had, as far as that is known before the lab is opened.
    fn lacks(&self, _: &Program) -> Option<String> {
        None
    }

    /// What of this machine would hold a cell's disk under test, if anything does, in a few words. Refuses what `open`
    /// and [`OpenLab::prepare`] would refuse, but for a user without rights.
    fn foresee(&self, _: &Options, _: &Cell) -> Result<Option<String>> {
        Ok(None)
    }
}

/// How each lab is opened.
pub fn kind(lab: Lab) -> &'static dyn LabKind {
    match lab {
        Lab::Virtual => &emulator::Guests(Lab::Virtual),
        Lab::Kvm => &emulator::Guests(Lab::Kvm),
        Lab::Host => &host::ThisMachine,
    }
}

/// A lab in which cells can run.
pub trait OpenLab: Sync {
    /// Lab and kernel, for heads of lists.
    fn title(&self) -> String;

    /// Why a configuration cannot run here, in a sentence; nothing if it can.
    fn unavailable(&self, configuration: &Configuration) -> Result<Option<String>>;

    /// Why a benchmark program is not to be had here, in a sentence; nothing if it is.
    fn lacks(&self, program: &Program) -> Result<Option<String>>;

    /// Makes what a cell needs before it can start, so that the wait is not part of the run.
    fn prepare(&self, cell: &Cell) -> Result<()>;

    /// Runs one cell from its beginning to its end, or until `stop` is set. A guest that fails is an outcome; an error
    /// is a lab that cannot work.
    fn run(&self, cell: &Cell, stop: &AtomicBool, on_event: &mut dyn FnMut(Event)) -> Result<Ended>;

    /// With what a cell is measured.
    fn environment(&self, cell: &Cell) -> Result<Environment>;
}

/// How a cell ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// It came to an end.
    Outcome {
        /// Which.
        outcome: Outcome,
        /// The kernel's messages.
        log: String,
    },
    /// What was heard cannot all be its agent's; nothing of it counts.
    Refused {
        /// A sentence.
        reason: String,
        /// The kernel's messages.
        log: String,
    },
    /// It was stopped on the user's wish; nothing of it counts.
    Interrupted,
}

/// What every lab's environment has in common: this program and this machine.
pub(crate) fn host_environment() -> Environment {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).and_then(|line| line.split_once(": "));
    Environment {
        mountmark: env!("CARGO_PKG_VERSION").to_owned(),
        host_kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        host_cpu: model.map(|(_, name)| name.to_owned()).unwrap_or_default(),
        ..Environment::default()
    }
}
