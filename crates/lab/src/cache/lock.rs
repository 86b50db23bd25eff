//! Locks (flock(2)) that show which things are in use. They end with their process: process ids mean nothing in another
//! PID namespace, and ages nothing on a slow machine.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tempfile::{NamedTempFile, TempDir};

use super::{is_barred, make_folder};
use crate::child;

/// The lock file in a temporary folder.
const INSIDE: &str = ".lock";

/// Held while an entry of the cache is made, so that two runs do not make it twice. In a read-only cache nothing is
/// made, and it may hold no lock.
#[derive(Debug)]
pub struct Lock(Option<File>);

impl Lock {
    /// Waits for the lock file beside `path`, or until the user interrupts.
    pub fn take(path: &Path) -> Result<Lock> {
        let lock = Lock::take_unless(path, &mut child::is_interrupted)?;
        lock.with_context(|| format!("interrupted while another run held {}", path.with_extension("lock").display()))
    }

    /// Waits for the lock file beside `path`, or until `stops`, which is asked twenty times a second: `None` then.
    pub(crate) fn take_unless(path: &Path, stops: &mut dyn FnMut() -> bool) -> Result<Option<Lock>> {
        if let Some(folder) = path.parent().filter(|folder| !folder.is_dir())
            && let Err(error) = make_folder(folder)
        {
            return if is_barred(&error) { Ok(Some(Lock(None))) } else { Err(error) };
        }
        let path = path.with_extension("lock");
        loop {
            let file = match open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(Lock(None))),
                Err(error) => return Err(error).with_context(|| format!("cannot write {}", path.display())),
            };
            match try_lock(&file) {
                Ok(true) if is_at(&file, &path) => return Ok(Some(Lock(Some(file)))),
                Ok(true) => {}
                Ok(false) if stops() => return Ok(None),
                Ok(false) => std::thread::sleep(Duration::from_millis(50)),
                Err(error) => return Err(error).with_context(|| format!("cannot lock {}", path.display())),
            }
        }
    }

    /// As [`Lock::take`], or `None` if another process holds it.
    pub(crate) fn try_take(path: &Path) -> Result<Option<Lock>> {
        let path = path.with_extension("lock");
        // What lies there under this name may be somebody else's: it is neither emptied nor followed.
        let options = &mut File::options();
        let file = options.write(true).create(true).truncate(false).custom_flags(libc::O_NOFOLLOW).open(&path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        let is_ours = try_lock(&file).with_context(|| format!("cannot lock {}", path.display()))?;
        Ok((is_ours && is_at(&file, &path)).then_some(Lock(Some(file))))
    }

    /// The lock of a temporary folder or file; `None` if its owner lives or it is gone. Held until the thing is
    /// removed, so that no other process takes it meanwhile.
    pub(crate) fn of_orphan(path: &Path) -> Option<Lock> {
        let lock = of(path);
        let file = File::options().write(true).open(&lock).ok()?;
        // Without locks the owner's state is unknown.
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        is_at(&file, &lock).then_some(Lock(Some(file)))
    }
}

// Unlocked, and not only closed: a program that another thread starts has a copy of the file until it is executed.
impl Drop for Lock {
    fn drop(&mut self) {
        self.0.as_ref().map(unlock);
    }
}

fn unlock(file: &File) {
    // What cannot be unlocked is unlocked when the file is closed.
    let _ = flock(file, FlockOperation::Unlock);
}

/// Opens a lock file. If it cannot be created, an existing one can still be locked.
fn open(path: &Path) -> io::Result<File> {
    match File::options().write(true).create(true).truncate(false).open(path) {
        Err(error) if super::bars(&error) => File::open(path),
        other => other,
    }
}

/// Whether this process has the lock now. On a file system without locks, always.
fn try_lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) | Err(Errno::NOTSUP | Errno::NOSYS | Errno::NOLCK) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether a locked file still has its name: the previous holder may have removed it.
fn is_at(file: &File, path: &Path) -> bool {
    let id = |data: fs::Metadata| (data.dev(), data.ino());
    file.metadata().map(id).ok() == fs::metadata(path).map(id).ok()
}

/// Whether a process holds the lock on a file; false if the file does not exist.
pub fn is_held(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let is_held = flock(&file, FlockOperation::NonBlockingLockExclusive).is_err();
    unlock(&file);
    is_held
}

/// Whether a temporary folder has a lock, which shows whether its owner lives. Those of older versions have none.
pub fn has_lock(folder: &Path) -> bool {
    folder.join(INSIDE).exists()
}

pub(crate) fn is_owned(path: &Path) -> bool {
    is_held(&of(path))
}

/// The file to lock for a temporary folder or file.
fn of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(INSIDE) } else { path.to_owned() }
}

/// A temporary folder with a lock in it, removed on drop. `mountmark clean` removes it if the owner was killed.
pub struct Scratch {
    folder: TempDir,
    _lock: Lock,
}

impl Scratch {
    /// A new folder in `parent`; its name begins with `prefix`.
    pub fn new_in(parent: &Path, prefix: &str) -> Result<Scratch> {
        let failed = || format!("cannot make a temporary folder in {}", parent.display());
        loop {
            let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(parent).with_context(failed)?;
            let path = folder.path().join(INSIDE);
            let file = match File::create(&path) {
                Ok(file) => file,
                // `mountmark clean` found it before it had a lock.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error).with_context(failed),
            };
            if try_lock(&file).with_context(failed)? && is_at(&file, &path) {
                return Ok(Scratch { folder, _lock: Lock(Some(file)) });
            }
        }
    }

    /// For the files of one guest of this process. The process id in the name is for people.
    pub(crate) fn for_guest() -> Result<Scratch> {
        Scratch::new_in(&std::env::temp_dir(), &format!("{GUEST_PREFIX}{}-", std::process::id()))
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Prefix of guests' folders; the process id of their run follows.
pub(crate) const GUEST_PREFIX: &str = "mountmark-guest-";

/// A new file in `folder`, locked while it is written. `mountmark clean` removes it if the writer was killed.
pub(crate) fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    loop {
        let file = NamedTempFile::new_in(folder)?;
        if try_lock(file.as_file())? && is_at(file.as_file(), file.path()) {
            return Ok(file);
        }
    }
}

/// Held by each run for its lifetime, so that `mountmark clean --cache` refuses the cache.
#[derive(Debug)]
pub struct InUse(Lock);

impl InUse {
    /// Shares the cache folder with other runs; waits while it is being removed.
    pub fn share(cache: &Path) -> InUse {
        // On a file system that cannot lock folders, only this protection is lost.
        InUse(Lock(File::open(cache).ok().filter(|file| flock(file, FlockOperation::LockShared).is_ok())))
    }

    /// Whether the lock is on the folder that is now there.
    pub(super) fn is_of(&self, cache: &Path) -> bool {
        self.0.0.as_ref().is_none_or(|file| is_at(file, cache))
    }

    /// Locks the cache folder for this process alone; `None` while a run uses it.
    pub fn alone(cache: &Path) -> Option<InUse> {
        let Ok(file) = File::open(cache) else { return Some(InUse(Lock(None))) };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => None,
            _ => Some(InUse(Lock(Some(file)))),
        }
    }
}

/// The lock file of an entry.
pub fn beside(path: &Path) -> PathBuf {
    path.with_extension("lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_by_one_and_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub/thing");
        let lock = Lock::take(&path).unwrap();
        assert!(is_held(&beside(&path)));
        assert!(Lock::try_take(&path).unwrap().is_none());
        drop(lock);
        assert!(!is_held(&beside(&path)));
        assert!(Lock::try_take(&path).unwrap().is_some());
    }

    #[test]
    fn temporary_folders_and_files_have_an_owner_until_they_are_dropped() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::new_in(parent.path(), ".tmp").unwrap();
        assert!(has_lock(scratch.path()) && is_owned(scratch.path()));
        assert!(Lock::of_orphan(scratch.path()).is_none());
        let file = new_file(parent.path()).unwrap();
        assert!(is_owned(file.path()) && Lock::of_orphan(file.path()).is_none());
        // The state after a kill.
        let Scratch { folder, _lock } = scratch;
        let left = folder.keep();
        drop(_lock);
        assert!(!is_owned(&left));
        let held = Lock::of_orphan(&left).unwrap();
        assert!(Lock::of_orphan(&left).is_none(), "one cleans, and no other");
        drop(held);
    }

    #[test]
    fn a_cache_in_use_is_nobodys_alone() {
        let cache = tempfile::tempdir().unwrap();
        let (one, two) = (InUse::share(cache.path()), InUse::share(cache.path()));
        assert!(InUse::alone(cache.path()).is_none());
        drop(one);
        assert!(InUse::alone(cache.path()).is_none());
        drop(two);
        assert!(InUse::alone(cache.path()).is_some());
    }
}
