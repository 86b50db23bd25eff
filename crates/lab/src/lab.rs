//! What every lab can be asked, closed and open.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Result;
use mountmark_job::Places;
use mountmark_model::{
    Bytes, Cell, Configuration, Environment, Event, Machine, Outcome, OwnComputer, Precondition, Program,
};

use crate::cell_key::CellKey;
use crate::emulator::options as guest;
use crate::host::options as host;
use crate::options::{Given, LabOption};

/// Seconds of wall time. Long, because a command that works on gigabytes prints nothing meanwhile.
pub const SILENCE_LIMIT: u64 = 1800;

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
        /// The arguments of `--device`, each one or several devices.
        paths: Vec<Vec<PathBuf>>,
        /// The arguments of `--wipe`.
        wipe: Vec<String>,
    },
    /// The argument of `--dir`.
    Folder(PathBuf),
}

/// What the user has set for cells; each lab uses what applies to it.
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
    /// Debian's packages of source from which modules may be built on this machine: those that its user's catalogue names.
    pub module_sources: Vec<String>,
    /// Wall time without an event after which an agent counts as hung.
    pub silence_limit: Duration,
}

impl Options {
    /// What the options say, with `machine` for guests and the usual cache.
    pub fn of(given: &Given, machine: &Machine) -> Options {
        Options {
            cache: crate::cache::default_folder(),
            kernel: given.text(&guest::KERNEL).unwrap_or_default(),
            machine: machine.clone(),
            place: host::place(given),
            memory: given.value(&host::MEMORY),
            precondition: given.value(&host::PRECONDITION).map(|round_seconds| Precondition { round_seconds }),
            module_sources: Vec::new(),
            silence_limit: Duration::from_secs(given.value(&guest::SILENCE_LIMIT).unwrap_or(SILENCE_LIMIT)),
        }
    }
}

/// A lab that is not open: its methods fetch, create and change nothing, except [`LabKind::open`].
pub trait LabKind: Sync {
    /// The options that the user may give for it.
    fn options(&self) -> &'static [&'static LabOption];

    /// Refuses values of its options that it cannot use, in a sentence.
    fn check(&self, _: &Given) -> Result<(), String> {
        Ok(())
    }

    /// Opens the lab; an error if something that it needs is missing.
    fn open(&self, options: Options) -> Result<Box<dyn OpenLab>>;

    fn places(&self, cell: &Cell) -> Result<Places>;

    /// The cell as it is shown before it runs, where names in its commands are only known then.
    fn shown(&self, cell: Cell) -> Cell {
        cell
    }

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

pub trait OpenLab: Sync {
    /// Lab and kernel, for the heads of lists.
    fn title(&self) -> String;

    /// Why a configuration cannot run here, in a sentence; `None` if it can.
    fn unavailable(&self, configuration: &Configuration) -> Result<Option<String>>;

    /// The same for a configuration that is to run: what takes minutes to make, as its kernel's module, is made.
    fn make_available(&self, configuration: &Configuration) -> Result<Option<String>> {
        self.unavailable(configuration)
    }

    /// Why a benchmark program is not available here, in a sentence; `None` if it is.
    fn lacks(&self, program: &Program) -> Result<Option<String>>;

    /// Makes everything that a cell needs before it can start, so that the wait is not part of the run.
    fn prepare(&self, cell: &Cell) -> Result<()>;

    /// Names of the programs that a cell's commands find; `None` if that is not known. It can be asked once the cell is
    /// prepared.
    fn programs(&self, _cell: &Cell) -> Result<Option<Vec<String>>> {
        Ok(None)
    }

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

    /// What determines the figures of a cell; `None` if they are wall time, which nothing determines. It can be asked once the
    /// cell is prepared.
    fn key(&self, _cell: &Cell) -> Result<Option<CellKey>> {
        Ok(None)
    }

    /// What a user should know once cells have ended, as sentences.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

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
