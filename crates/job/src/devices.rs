//! The disks of a cell, as the agent has them in every lab.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::job::Share;
use crate::trace::DeviceTrace;

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
    /// Further disks below the file system under test.
    pub more: Vec<Member>,
    /// The second disk, if the suite has a source.
    pub source: Option<Device>,
    /// Contents of the second disk.
    pub corpus: Option<CorpusData>,
    /// The operations that age the file system, if the cell has an age.
    pub history: Option<CorpusData>,
    /// What of the cell is done on them.
    pub share: Share,
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

/// A further disk below the file system under test.
pub struct Member {
    pub device: Device,
    /// Records the requests at it.
    pub trace: Box<dyn DeviceTrace>,
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
    /// Further disks below the file system under test.
    pub more: Vec<String>,
    pub source: String,
    pub test_folder: PathBuf,
    pub source_folder: PathBuf,
}

impl Places {
    /// Where the file system is mounted on whose folder the one under test lies.
    pub fn below_folder(&self) -> PathBuf {
        below(&self.test_folder)
    }

    /// All disks below the file system under test.
    pub fn disks(&self) -> Vec<String> {
        std::iter::once(&self.test).chain(&self.more).cloned().collect()
    }
}

/// The mount point of the file system below one that is mounted at `test`.
pub fn below(test: &Path) -> PathBuf {
    let mut name = test.as_os_str().to_owned();
    name.push("-below");
    name.into()
}

/// The corpus, a plain tar file, or a history.
pub enum CorpusData {
    /// In memory outside the guest's RAM.
    Mapped(&'static [u8]),
    /// A file of this machine.
    File(PathBuf),
}
