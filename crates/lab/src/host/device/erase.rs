//! Empties a device between cells, and leaves a mark that it holds nothing but tests.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use super::look;
use crate::host::contents;

/// include/uapi/linux/fs.h
const BLKDISCARD: libc::Ioctl = 0x1277;
/// Bytes at each end that are overwritten: beyond them lie copies alone, which are searched for.
const ENDS: u64 = 4 << 20;
/// Length of the mark, at the device's start.
pub(super) const LENGTH: usize = 4096;
/// The mark's beginning; zeros follow it.
const MARK: &[u8] = b"Mountmark: a disk for tests. It holds nothing that is wanted.\n";

/// Whether a device begins with the mark, and nothing else.
pub(super) fn is_marked(file: &File) -> bool {
    let mut start = [0; LENGTH];
    file.read_exact_at(&mut start, 0).is_ok()
        && start.starts_with(MARK)
        && start[MARK.len()..].iter().all(|byte| *byte == 0)
}

/// Discards a device of `size` bytes; returns whether it takes discards.
pub(super) fn discard(file: &File, size: u64) -> bool {
    let range = [0, size];
    // SAFETY: the argument points to the two numbers that the kernel reads.
    unsafe { libc::ioctl(file.as_raw_fd(), BLKDISCARD, range.as_ptr()) == 0 }
}

/// Empties a device of `size` bytes: discards it where it can be, unless it `keeps` what was written there, overwrites
/// both ends, every mark of contents and all that the next run will look at, and writes its own mark. Returns whether it was
/// discarded.
///
/// # Errors
/// A device that cannot be written.
pub(super) fn empty(file: &File, size: u64, keeps: bool) -> io::Result<bool> {
    let discarded = !keeps && discard(file, size);
    let zeros = vec![0; ENDS as usize];
    let ends = ENDS.min(size);
    file.write_all_at(&zeros[..ends as usize], 0)?;
    file.write_all_at(&zeros[..ends as usize], size - ends)?;
    for (_, at) in contents::all(file)? {
        let page = at & !(LENGTH as u64 - 1);
        let length = (2 * LENGTH as u64).min(size - page);
        file.write_all_at(&zeros[..length as usize], page)?;
    }
    if !keeps {
        look::clear(file, size)?;
    }
    let mut mark = vec![0; LENGTH];
    mark[..MARK.len()].copy_from_slice(MARK);
    file.write_all_at(&mark, 0)?;
    file.sync_all()?;
    Ok(discarded)
}

/// Takes the mark away: some layers format only what begins with zeros.
///
/// # Errors
/// A device that cannot be written.
pub(super) fn unmark(file: &File) -> io::Result<()> {
    file.write_all_at(&[0; LENGTH], 0)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_emptied_is_marked_and_holds_nothing_known() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let size = 80 << 20;
        file.as_file().set_len(size).unwrap();
        let write = |at: u64, bytes: &[u8]| file.as_file().write_all_at(bytes, at).unwrap();
        write(1080, &[0x53, 0xef]);
        write(0x400_0040, b"_BHRfS_M");
        write(size - 512, b"EFI PART");
        assert_eq!(contents::all(file.as_file()).unwrap().len(), 3);
        assert!(!is_marked(file.as_file()));
        assert!(!empty(file.as_file(), size, false).unwrap(), "a file cannot be discarded");
        assert_eq!(contents::all(file.as_file()).unwrap(), []);
        assert!(is_marked(file.as_file()));
        write(2000, b"x");
        assert!(!is_marked(file.as_file()), "somebody wrote there");
        unmark(file.as_file()).unwrap();
        let mut start = [1; LENGTH];
        file.as_file().read_exact_at(&mut start, 0).unwrap();
        assert_eq!(start, [0; LENGTH]);
    }
}
