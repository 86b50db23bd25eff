//! Locks a user's image in all the ways in which programs lock such files.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use rustix::fs::{FlockOperation, flock};

/// Locks the whole file for this process; false if another program holds a lock on it or a part of it.
///
/// Two kinds of lock ignore each other: flock(2), used by other runs of this program and by losetup, and the byte
/// ranges of fcntl(2), used by QEMU (bytes 100 to 203 of a raw image), virtual machine managers and old programs. Both
/// are taken, so that all of these see this lock. They last until the last copy of the open file is closed; a loop
/// device on the file has a copy, so a dead run's device still holds them.
///
/// # Errors
/// A file system without locks.
pub fn take(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    let mut whole = whole_file();
    // SAFETY: the argument is a valid flock that outlives the call.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw mut whole) } == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EACCES) => Ok(false),
        _ => Err(error),
    }
}

/// Whether another program holds a lock of either kind. Leaves no lock; a file open for reading is enough.
pub fn is_held(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => flock(file, FlockOperation::Unlock)?,
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(true),
        Err(error) => return Err(error.into()),
    }
    let mut found = whole_file();
    // SAFETY: the kernel writes a flock to a valid place.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut found) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(found.l_type != libc::F_UNLCK as libc::c_short)
}

/// A write lock from the first byte to the end, wherever that will be.
fn whole_file() -> libc::flock {
    // SAFETY: flock is plain data for which all zeroes are valid; fields differ between platforms.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_lock_are_seen_and_shown() {
        let path = tempfile::NamedTempFile::new().unwrap();
        let open = || File::options().read(true).write(true).open(path.path()).unwrap();
        let (ours, other) = (open(), open());
        // Shared locks on single bytes, as in QEMU.
        let mut byte = whole_file();
        (byte.l_type, byte.l_start, byte.l_len) = (libc::F_RDLCK as libc::c_short, 201, 1);
        let as_qemu = |file: &File| {
            let mut byte = byte;
            // SAFETY: as in `take`.
            unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw mut byte) == 0 }
        };
        assert!(as_qemu(&other));
        assert!(!take(&ours).unwrap() && is_held(&ours).unwrap(), "a byte is locked");
        drop(other);
        // A failed attempt leaves no lock of the other kind.
        let other = open();
        drop(ours);
        assert!(!is_held(&other).unwrap());
        flock(&other, FlockOperation::LockExclusive).unwrap();
        let ours = open();
        assert!(!take(&ours).unwrap() && is_held(&ours).unwrap(), "flock holds it");
        drop(other);
        assert!(take(&ours).unwrap());
        assert!(!as_qemu(&open()), "QEMU sees that the image is in use");
        assert!(flock(open(), FlockOperation::NonBlockingLockExclusive).is_err());
        assert!(is_held(&File::open(path.path()).unwrap()).unwrap());
    }
}
