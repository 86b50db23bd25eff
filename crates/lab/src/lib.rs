//! Provides the disks of a cell: in an emulated guest, in a guest under KVM, or on this machine.
//!
//! A lab decides where a cell runs, on which disk and under which clock. The agent (`mountmark-run`), the same code in
//! every lab, works with the disks; this crate does not measure or store anything.

pub mod cache;
pub mod child;
pub mod emulator;
pub mod guest;
pub mod host;
pub mod image;
pub mod kernel_log;
pub mod leftovers;
mod loops;
pub mod mark;
pub mod memory;
pub mod needs;
#[doc(hidden)]
pub mod parsers;
pub mod plain;
pub mod profile;
mod question;
mod sitting;
mod trace;
mod voice;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Result;
use mountmark_model::{
    Bytes, Cell, Configuration, Environment, Event, Lab, Machine, Outcome, OwnComputer, Precondition, Program,
};
use serde::{Deserialize, Serialize};

pub use host::mountinfo;
pub use host::tools::PATH;
pub use mountmark_trace::Times;
pub use sitting::sitting;
pub use trace::{DeviceTrace, Unseen};
pub use voice::Token;

/// Guest-physical address of the disks' media: above all RAM.
pub(crate) const MEDIA_START: u64 = 4 << 30;

/// A part of the media, relative to [`MEDIA_START`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// In bytes.
    pub offset: u64,
    /// In bytes.
    pub size: u64,
}

/// A guest's input: its cell and the places of the media.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Authenticates the agent's lines.
    pub token: Token,
    pub cell: Cell,
    /// Medium of the disk under test.
    pub test: Region,
    /// Medium of the second disk.
    pub source: Option<Region>,
    /// A plain tar file.
    pub corpus: Option<Region>,
    /// Where the disk under test keeps what a power cut takes back, as large as the disk; `None` if no task cuts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Region>,
    /// If the guest only has to write down its kernel's symbols: where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbols: Option<Region>,
    /// If the guest is a witness of power cuts, and runs no cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<CrashRegions>,
}

/// What a witness of power cuts has beside its disk's medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrashRegions {
    /// Copies of what was written to the disk.
    pub log: Region,
    /// Questions and answers.
    pub exchange: Region,
    /// What its disk offers, and where it fails.
    pub device: mountmark_crash::states::Device,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Such as `/dev/nbd0`.
    pub path: String,
    /// The name in /sys/block, such as `nbd0`; below a loop device, the drive's: its counters are the ones of figures.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// The process that serves it, whose processor time does not count as the machine's work.
    pub server: Option<u32>,
    /// The file below it, whose pages may be in this machine's page cache.
    pub backing: Option<PathBuf>,
}

pub struct Devices {
    pub test: Device,
    /// The second disk, if the suite has a source.
    pub source: Option<Device>,
    /// Contents of the second disk.
    pub corpus: Option<CorpusData>,
    /// Called with `true` before a measurement and `false` before inputs are laid out: modelled disks keep time only
    /// while measuring.
    pub measuring: Box<dyn Fn(bool)>,
    /// Records the requests at the disk under test.
    pub trace: Box<dyn DeviceTrace>,
    /// Cuts the power of the disk under test; `None` if no task of the cell asks for it, or the lab cannot.
    pub power: Option<Box<dyn Power>>,
    pub test_folder: PathBuf,
    pub source_folder: PathBuf,
    /// Keeps others from a real disk under test; `None` if only this run can reach it.
    pub hold: Option<Box<dyn Hold>>,
    /// Whether no other program uses this kernel, so that all its dirty pages belong to the cell.
    pub exclusive: bool,
}

/// Keeps other programs from a real disk. Programs that want it for themselves, such as mkfs and mount, get it in turns.
pub trait Hold {
    /// An error if it is not the disk that was looked at, or is gone.
    fn check(&self) -> Result<()>;

    /// Lets the next program have it.
    fn let_go(&self);

    /// Takes it back, or keeps it.
    ///
    /// # Errors
    /// Another program has it, it is gone, or it is another one.
    fn take(&self) -> Result<()>;
}

/// The power of the disk under test.
pub trait Power {
    /// From now on the disk remembers what a cut takes away; everything before is on the medium.
    fn watch(&self) -> Result<()>;

    /// Cuts the power: requests under way are lost, and nothing after them reaches the medium. The disk still answers,
    /// at once, so that the file system can be taken away.
    fn cut(&self);

    /// Turns the power on again: the medium holds what it held at the cut, without what was not durable if the cache is
    /// lost. Nothing may have the disk open.
    fn restore(&self, cache_lost: bool) -> Result<()>;
}

/// Paths of a cell's disks, known before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Such as `/dev/nbd0`. N stands for a number that is only known later.
    pub test: String,
    pub source: String,
    pub test_folder: PathBuf,
    pub source_folder: PathBuf,
}

/// The corpus: a plain tar file.
pub enum CorpusData {
    /// In memory outside the guest's RAM.
    Mapped(guest::MappedCorpus),
    /// A file of this machine.
    File(PathBuf),
}

/// What the host lab works on, as the user named it.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// A file, over a loop device.
    Image {
        /// The argument of `--image`.
        path: Option<PathBuf>,
        /// Whether what it holds may be overwritten.
        force: bool,
    },
    Devices {
        /// The arguments of `--device`.
        paths: Vec<PathBuf>,
        /// The arguments of `--wipe`.
        wipe: Vec<String>,
    },
    /// The argument of `--dir`.
    Folder(PathBuf),
}

/// Options that the user may set for cells; each lab uses those that apply to it.
#[derive(Clone, Debug)]
pub struct Options {
    pub cache: PathBuf,
    /// The argument of `--kernel`.
    pub kernel: String,
    /// The guests' machine.
    pub machine: Machine,
    /// What the host lab works on.
    pub place: Place,
    /// The most memory that a cell of the host lab may take.
    pub memory: Option<Bytes>,
    /// How the host lab brings real disks into steady state, if it is to.
    pub precondition: Option<Precondition>,
    /// Wall time without an event after which an agent counts as hung.
    pub silence_limit: Duration,
}

/// A lab that is not open: its methods fetch, create and change nothing, except [`LabKind::open`].
pub trait LabKind: Sync {
    /// Opens the lab; an error if something that it needs is missing.
    fn open(&self, options: Options) -> Result<Box<dyn OpenLab>>;

    fn places(&self, cell: &Cell) -> Result<Places>;

    /// An error if this user lacks the rights, with the remedy.
    fn check_rights(&self) -> Result<()> {
        Ok(())
    }

    /// The lab's computer, if no profile chooses one; refuses targets that must not be touched.
    fn own_computer(&self, _: &Place) -> Result<Option<OwnComputer>> {
        Ok(None)
    }

    /// What is on the targets and is lost, for people: a line each.
    fn about(&self, _: &Place) -> Vec<String> {
        Vec::new()
    }

    /// Why a configuration cannot run, in a sentence, as far as known before the lab is opened.
    fn unavailable(&self, _: &Configuration) -> Option<String> {
        None
    }

    /// Why a benchmark program is not available, as far as known before the lab is opened.
    fn lacks(&self, _: &Program) -> Option<String> {
        None
    }

    /// The place of a cell's disk under test on this machine, if any, in a few words. Refuses what `open` and
    /// [`OpenLab::prepare`] would refuse, except a user without rights.
    fn foresee(&self, _: &Options, _: &Cell) -> Result<Option<String>> {
        Ok(None)
    }
}

pub fn kind(lab: Lab) -> &'static dyn LabKind {
    match lab {
        Lab::Virtual => &emulator::Guests(Lab::Virtual),
        Lab::Kvm => &emulator::Guests(Lab::Kvm),
        Lab::Host => &host::ThisMachine,
    }
}

pub trait OpenLab: Sync {
    /// Lab and kernel, for the heads of lists.
    fn title(&self) -> String;

    /// Why a configuration cannot run here, in a sentence; `None` if it can.
    fn unavailable(&self, configuration: &Configuration) -> Result<Option<String>>;

    /// Why a benchmark program is not available here, in a sentence; `None` if it is.
    fn lacks(&self, program: &Program) -> Result<Option<String>>;

    /// Makes everything that a cell needs before it can start, so that the wait is not part of the run.
    fn prepare(&self, cell: &Cell) -> Result<()>;

    /// Brings real disks into steady state, if the user wants that: once, before the first cell. `tell` gets lines about
    /// how far it is.
    ///
    /// # Errors
    /// A disk that cannot be written, and `stop`.
    fn precondition(&self, _stop: &AtomicBool, _tell: &mut dyn FnMut(&str)) -> Result<()> {
        Ok(())
    }

    /// Runs one cell to its end, or until `stop` is set. A guest that fails is an outcome; an error is a lab that
    /// cannot work.
    fn run(&self, cell: &Cell, stop: &AtomicBool, on_event: &mut dyn FnMut(Event)) -> Result<Ended>;

    /// The environment in which a cell is measured.
    fn environment(&self, cell: &Cell) -> Result<Environment>;
}

#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    Outcome {
        outcome: Outcome,
        /// The kernel log.
        log: String,
    },
    /// Some of what was received cannot come from the agent; all of it is discarded.
    Refused {
        reason: String,
        /// The kernel log.
        log: String,
    },
    /// The user stopped it; all of it is discarded.
    Interrupted,
}

/// SHA-256 of this program's own file, in hexadecimal.
pub(crate) fn own_sha256() -> Result<&'static str> {
    static HASH: OnceLock<String> = OnceLock::new();
    if let Some(hash) = HASH.get() {
        return Ok(hash);
    }
    let hash = cache::sha256_file(Path::new("/proc/self/exe"))?;
    Ok(HASH.get_or_init(|| hash))
}

/// The part that every lab's environment shares: this program and this machine.
pub(crate) fn host_environment() -> Environment {
    Environment {
        mountmark: env!("CARGO_PKG_VERSION").to_owned(),
        build: own_sha256().unwrap_or_default().to_owned(),
        host_kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        host_cpu: host_cpu(),
        ..Environment::default()
    }
}

/// The name of this machine's processor; empty if the kernel gives none.
pub(crate) fn host_cpu() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).and_then(|line| line.split_once(": "));
    model.map(|(_, name)| name.to_owned()).unwrap_or_default()
}
