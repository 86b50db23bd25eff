//! Locks on runs: a process that works on a run holds one byte of a file beside the store.
//!
//! The kernel releases the lock when the process ends, however it ends, and other containers see it, in which process
//! numbers differ. These are locks of the open file (`F_OFD_SETLK` in fcntl(2)): they do not conflict with SQLite's
//! own, which belong to the process, and a child does not inherit a close-on-exec file.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The locks that this process holds on runs of one store.
#[derive(Debug)]
pub(crate) struct Locks {
    path: PathBuf,
    file: RefCell<Option<File>>,
}

impl Locks {
    /// For the store in the file `store`, without any lock yet.
    pub(crate) fn of(store: &Path) -> Locks {
        Locks { path: beside(store), file: RefCell::default() }
    }

    /// Takes the lock on run `number`; false if another process has it. Fails if the file system has no such locks, or
    /// the file cannot be created.
    pub(crate) fn take(&self, number: i64) -> io::Result<bool> {
        let mut file = self.file.borrow_mut();
        if file.is_none() {
            *file = Some(File::options().create(true).truncate(false).write(true).open(&self.path)?);
        }
        match file.as_ref().map(|file| call(file, libc::F_OFD_SETLK, libc::F_WRLCK, number)) {
            Some(Err(error)) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
            Some(Err(error)) => Err(error),
            Some(Ok(_)) | None => Ok(true),
        }
    }

    /// Releases the lock on run `number`.
    pub(crate) fn give_back(&self, number: i64) {
        if let Some(file) = self.file.borrow().as_ref() {
            // If this fails, the lock is released when the process ends.
            let _ = call(file, libc::F_OFD_SETLK, libc::F_UNLCK, number);
        }
    }
}

/// Read access to the locks of all processes, including this one.
pub(crate) struct Look(Option<File>);

impl Look {
    /// For the store in the file `store`; creates nothing.
    pub(crate) fn at(store: &Path) -> Look {
        Look(File::open(beside(store)).ok())
    }

    /// Whether a process holds the lock on run `number`; `None` if unknown.
    pub(crate) fn is_held(&self, number: i64) -> Option<bool> {
        let found = call(self.0.as_ref()?, libc::F_OFD_GETLK, libc::F_WRLCK, number).ok()?;
        Some(found != libc::F_UNLCK)
    }
}

/// `results.sqlite-runs` beside `results.sqlite`, similar to SQLite's own files.
fn beside(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push("-runs");
    name.into()
}

/// One fcntl call on the byte of run `number`; returns the lock type that the kernel stored.
fn call(file: &File, command: libc::c_int, kind: libc::c_int, number: i64) -> io::Result<libc::c_int> {
    // SAFETY: a flock of zeroes is a valid value; the kernel accesses it only during the call, which it outlives.
    unsafe {
        let mut question: libc::flock = std::mem::zeroed();
        question.l_type = kind as libc::c_short;
        question.l_whence = libc::SEEK_SET as libc::c_short;
        question.l_start = number;
        question.l_len = 1;
        match libc::fcntl(file.as_raw_fd(), command, &raw mut question) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(libc::c_int::from(question.l_type)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_seen_by_all_and_goes_with_its_holder() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("results.sqlite");
        assert_eq!(Look::at(&store).is_held(1), None, "there is no file yet");
        let locks = Locks::of(&store);
        assert!(locks.take(1).unwrap());
        let look = Look::at(&store);
        assert_eq!((look.is_held(1), look.is_held(2)), (Some(true), Some(false)));
        let others = Locks::of(&store);
        assert!(!others.take(1).unwrap());
        assert!(others.take(2).unwrap());
        locks.give_back(1);
        assert_eq!((look.is_held(1), look.is_held(2)), (Some(false), Some(true)));
        drop(others);
        assert_eq!(look.is_held(2), Some(false));
    }
}
