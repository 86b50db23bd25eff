//! A user's own image file: its identity and original state, emptying it for a cell, giving it back.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use mountmark_job::FileId;
use rustix::fs::FallocateFlags;
use serde::{Deserialize, Serialize};

/// Changes when a file is written; times in nanoseconds since 1970, by the clock of its file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    /// Can be set by any program.
    pub modified: i64,
    /// Set only by the kernel: when the file was written, or `modified` set.
    pub changed: i64,
}

impl Stamp {
    /// The stamp of an open file.
    pub fn of(file: &File) -> io::Result<Stamp> {
        let data = file.metadata()?;
        let time = |seconds: i64, nanoseconds: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
        Ok(Stamp {
            size: data.len(),
            modified: time(data.mtime(), data.mtime_nsec()),
            changed: time(data.ctime(), data.ctime_nsec()),
        })
    }
}

/// A user's image file, which is given back empty and in its original size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnImage {
    pub path: PathBuf,
    pub id: FileId,
    /// Creation time in nanoseconds since 1970, if the file system has it: a file created anew under its name may get
    /// its inode.
    pub born: Option<u128>,
    /// Its original stamp.
    pub found: Stamp,
    /// Whether all its blocks were allocated, so that writing to it allocates none.
    pub allocated: bool,
}

impl OwnImage {
    /// Records the open file at `path`.
    pub fn of(path: PathBuf, file: &File) -> io::Result<OwnImage> {
        let found = Stamp::of(file)?;
        let allocated = found.size > 0 && file.metadata()?.blocks() * 512 >= found.size;
        Ok(OwnImage { path, id: FileId::of(file)?, born: born(file), found, allocated })
    }

    /// Opens the file at its path, if that is still this very file.
    ///
    /// # Errors
    /// As `open(2)`; also if the path leads nowhere.
    pub fn open(&self, write: bool) -> io::Result<Option<File>> {
        // Check before opening: opening a pipe or a device can do harm.
        if !fs::symlink_metadata(&self.path)?.is_file() {
            return Ok(None);
        }
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = OpenOptions::new().read(true).write(write).custom_flags(flags).open(&self.path)?;
        Ok(self.is(&file)?.then_some(file))
    }

    /// Whether an open file is this one.
    fn is(&self, file: &File) -> io::Result<bool> {
        let (id, born) = (FileId::of(file)?, born(file));
        // A file system may get another device number after a reboot.
        Ok(id.inode == self.id.inode && born == self.born && (born.is_some() || id == self.id))
    }

    /// Whether the blocks of a disk of `size` bytes are allocated already: then they stay allocated.
    pub fn is_allocated_for(&self, size: u64) -> bool {
        self.allocated && size <= self.found.size
    }

    /// Empties it for a disk of `size` bytes. False if it should stay allocated and its file system does not support
    /// that.
    pub fn empty(&self, file: &File, size: u64) -> io::Result<bool> {
        match self.is_allocated_for(size) {
            true => clear(file, self.found.size, true),
            false => clear(file, size, false),
        }
    }

    /// Restores its original state: only zeroes. False if its blocks could not stay allocated.
    pub fn give_back(&self, file: &File) -> io::Result<bool> {
        clear(file, self.found.size, self.allocated)
    }
}

/// Sets a file to `size` zero bytes, allocated or as one hole; false if allocation is wanted and failed.
fn clear(file: &File, size: u64, allocated: bool) -> io::Result<bool> {
    if allocated
        && file.metadata()?.len() == size
        && rustix::fs::fallocate(file, FallocateFlags::ZERO_RANGE, 0, size).is_ok()
    {
        return Ok(true);
    }
    file.set_len(0)?;
    file.set_len(size)?;
    Ok(!allocated || rustix::fs::fallocate(file, FallocateFlags::empty(), 0, size).is_ok())
}

/// Nanoseconds since 1970, for names that no other run has.
pub fn wall_clock() -> u128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos()
}

fn born(file: &File) -> Option<u128> {
    let born = file.metadata().ok()?.created().ok()?;
    Some(born.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_nanos())
}

/// Whether a path leads to this file.
pub fn leads_to(path: &Path, id: &FileId) -> bool {
    fs::metadata(path).is_ok_and(|data| FileId::from(&data) == *id)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    fn file_with(folder: &Path, contents: &[u8]) -> (File, OwnImage) {
        let path = folder.join("image");
        fs::write(&path, contents).unwrap();
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let image = OwnImage::of(path, &file).unwrap();
        (file, image)
    }

    #[test]
    fn a_sparse_image_comes_back_as_a_hole() {
        let folder = tempfile::tempdir().unwrap();
        let (file, _) = file_with(folder.path(), b"");
        file.set_len(1 << 20).unwrap();
        let image = OwnImage::of(folder.path().join("image"), &file).unwrap();
        assert!(!image.allocated);
        assert!(image.empty(&file, 4 << 20).unwrap());
        assert_eq!(file.metadata().unwrap().len(), 4 << 20);
        file.write_all_at(&[1; 1 << 16], 3 << 20).unwrap();
        assert!(image.give_back(&file).unwrap());
        let data = file.metadata().unwrap();
        assert_eq!((data.len(), data.blocks()), (1 << 20, 0));
    }

    /// If the file system can allocate, an image stays allocated while it is emptied and when it is given back, also
    /// after holes were punched and after it was larger.
    #[test]
    fn an_allocated_image_stays_allocated() {
        let folder = tempfile::tempdir().unwrap();
        let (file, _) = file_with(folder.path(), b"");
        if let Err(error) = rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, 4 << 20) {
            return eprintln!("skipped: {} cannot allocate: {error}", folder.path().display());
        }
        file.write_all_at(&[7; 1 << 16], 1 << 20).unwrap();
        let image = OwnImage::of(folder.path().join("image"), &file).unwrap();
        assert!(image.allocated && image.is_allocated_for(4 << 20) && !image.is_allocated_for(5 << 20));
        let state = |size: u64| {
            let data = file.metadata().unwrap();
            assert_eq!(super::super::contents::first_data(&file).unwrap(), None);
            assert_eq!(data.len(), size);
            data.blocks() * 512
        };
        for disk in [1 << 20, 4 << 20] {
            assert!(image.empty(&file, disk).unwrap());
            assert!(state(4 << 20) >= 4 << 20);
        }
        // The effect of a discard by the file system under test.
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&file, hole, 0, 2 << 20).unwrap();
        assert!(state(4 << 20) < 4 << 20);
        assert!(image.give_back(&file).unwrap());
        assert!(state(4 << 20) >= 4 << 20);
        assert!(image.empty(&file, 8 << 20).unwrap());
        assert_eq!(state(8 << 20), 0, "a disk that is larger than the file has no room yet");
        assert!(image.give_back(&file).unwrap());
        assert!(state(4 << 20) >= 4 << 20);
    }

    #[test]
    fn another_file_of_that_name_is_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let (_file, image) = file_with(folder.path(), b"x");
        assert!(image.open(true).unwrap().is_some());
        for another in [
            OwnImage { id: FileId { inode: 1, ..image.id.clone() }, ..image.clone() },
            OwnImage { born: Some(1), ..image.clone() },
            OwnImage { born: None, id: FileId { device: 1, ..image.id.clone() }, ..image.clone() },
        ] {
            assert!(another.open(true).unwrap().is_none());
        }
        // After a reboot its file system may have another device number.
        let moved = OwnImage { id: FileId { device: 1, ..image.id.clone() }, ..image.clone() };
        assert_eq!(moved.open(true).unwrap().is_some(), image.born.is_some());
        // A link to it, and a file that would block whoever opens it.
        fs::rename(&image.path, folder.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &image.path).unwrap();
        assert!(image.open(true).unwrap().is_none());
        fs::remove_file(&image.path).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &image.path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .unwrap();
        assert!(image.open(false).unwrap().is_none());
    }
}
