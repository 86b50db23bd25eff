//! Empties caches, so that the next reads come from the disk.
//!
//! Unmounting drops a file system's own pages, inodes and names. The kernel's cache of the block device itself
//! (superblocks, tables and folders of many file systems, and everything mkfs wrote) is dropped with the last close of
//! the device, whose time is part of umount and mkfs. If another process holds the device open, as the host lab does to
//! keep its loop devices, that cache stays: so it is dropped here, between steps and before the measurement.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use anyhow::{Context, Result};
use mountmark_job::Device;
use rustix::fs::Advice;
use rustix::mm::{MapFlags, ProtFlags};

use super::Agent;

/// include/uapi/linux/fs.h
const BLKFLSBUF: libc::Ioctl = 0x1261;
/// Bytes of a file examined per mapping.
const WINDOW: u64 = 1 << 30;

impl Agent<'_> {
    /// Drops the cache of an unmounted device and of the file below it. Notes what stays cached.
    pub(super) fn forget(&mut self, device: &Device) {
        let path = &device.path;
        if self.cell.is_mounted && *device == self.devices.test {
            return;
        }
        match forget(device) {
            Ok(0) => {}
            // Without the number of bytes, so that the remark is sent once.
            Ok(_) => self.note(format!(
                "the file that stands for {path} stays in this machine's page cache, in whole or in part: what a cold \
                 task reads may come from memory"
            )),
            Err(error) => self.note(format!("what a cold task reads of {path} may come from memory: {error:#}")),
        }
    }
}

/// Makes a file system cold that stays mounted: what can be dropped of this machine's caches is dropped.
///
/// # Errors
/// Without rights to /proc/sys/vm.
pub(super) fn drop_caches() -> Result<()> {
    rustix::fs::sync();
    std::fs::write("/proc/sys/vm/drop_caches", "3").context("cannot drop the caches of this machine")
}

/// Returns how many bytes of the file below stay cached.
fn forget(device: &Device) -> Result<u64> {
    let file = File::open(&device.path).with_context(|| format!("cannot open {}", device.path))?;
    // SAFETY: takes no argument.
    if unsafe { libc::ioctl(file.as_raw_fd(), BLKFLSBUF, 0) } < 0 {
        return Err(io::Error::last_os_error()).context("its cache cannot be dropped");
    }
    device.backing.as_deref().map_or(Ok(0), forget_file)
}

/// Writes a file back and drops its pages; returns how many bytes stay cached.
fn forget_file(path: &Path) -> Result<u64> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    file.sync_data().context("the file below it cannot be written out")?;
    rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).context("the file below it cannot be dropped")?;
    cached(&file).context("the page cache cannot be asked for the file below it")
}

/// How many bytes of a file are in the page cache.
fn cached(file: &File) -> Result<u64> {
    // SAFETY: takes a number; every kernel supports it.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let length = file.metadata()?.len();
    let mut pages = 0;
    for offset in (0..length).step_by(WINDOW as usize) {
        let size = (length - offset).min(WINDOW) as usize;
        let mut states = vec![0u8; size.div_ceil(page)];
        // SAFETY: a new mapping that nothing reads or writes; mincore fills one byte for each of its pages.
        unsafe {
            let start = rustix::mm::mmap(std::ptr::null_mut(), size, ProtFlags::READ, MapFlags::SHARED, file, offset)?;
            let result = libc::mincore(start, size, states.as_mut_ptr());
            let error = io::Error::last_os_error();
            rustix::mm::munmap(start, size)?;
            if result < 0 {
                return Err(error.into());
            }
        }
        pages += states.iter().filter(|state| *state & 1 == 1).count();
    }
    Ok((pages * page) as u64)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_files_pages_are_seen_and_dropped() {
        let mut file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        file.write_all(&[1; 1 << 20]).unwrap();
        assert_eq!(cached(file.as_file()).unwrap(), 1 << 20, "what was just written is there");
        let left = forget_file(file.path()).unwrap();
        if left == 1 << 20 {
            return eprintln!("skipped: /var/tmp is memory");
        }
        assert_eq!(left, 0);
        assert_eq!(cached(file.as_file()).unwrap(), 0);
    }

    #[test]
    fn what_is_no_device_is_said() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().display().to_string();
        let error = forget(&Device { path, name: String::new(), size: 0, server: None, backing: None }).unwrap_err();
        assert!(format!("{error:#}").starts_with("its cache cannot be dropped: "), "{error:#}");
    }
}
