//! The agent's own folder: commands' output, and the job and results of a workload's process.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// Size limit in bytes: a command that prints without end must not exhaust the machine's memory.
pub const ROOM: u64 = 32 << 20;

/// A folder in memory without a place in the folder tree: it is reachable only through its descriptor. So commands'
/// output touches no disk, and no command can write false figures there, or read where others are stored.
pub struct Scratch {
    folder: OwnedFd,
    path: PathBuf,
}

impl Scratch {
    /// A new folder; `base` is one where the agent may create another.
    pub fn new(base: &Path) -> Result<Scratch> {
        let point = base.join(format!("mountmark-{}", std::process::id()));
        let what = || format!("cannot mount a folder for the agent at {}", point.display());
        fs::create_dir_all(&point).with_context(what)?;
        let options = std::ffi::CString::new(format!("size={ROOM},mode=0700"))?;
        mount("mountmark", &point, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(options.as_c_str()))
            .with_context(what)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&point, flags, Mode::empty()).with_context(what);
        // The folder lives on while the descriptor is open.
        unmount(&point, UnmountFlags::DETACH).with_context(what)?;
        let _ = fs::remove_dir(&point);
        let folder = folder?;
        Ok(Scratch { path: format!("/proc/self/fd/{}", folder.as_raw_fd()).into(), folder })
    }

    /// A folder that has a place, for tests in which no command runs.
    #[cfg(test)]
    pub(super) fn of(path: PathBuf) -> Result<Scratch> {
        fs::create_dir_all(&path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Scratch { folder: rustix::fs::open(&path, flags, Mode::empty())?, path })
    }

    /// A path for the agent, and for a process that inherits the descriptor.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl AsFd for Scratch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}
