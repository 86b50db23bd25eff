//! The files that stand for disks.
//!
//! A file that is made here loses its name at once: its room is free again when the last process that has it open
//! ends, however that happens. A file of the user's is used only if there is nothing in it.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use mountmark_model::Bytes;
use rustix::fs::{FlockOperation, flock};

use super::loops::{self, FileId};
use super::undo::OwnImage;

/// Where images are made unless the user says otherwise: for large files, and on a disk where /tmp may not be.
pub const DEFAULT_FOLDER: &str = "/var/tmp";

/// What is recognised in a file, to tell the user what was nearly lost: name, offset, bytes.
const SIGNATURES: &[(&str, u64, &[u8])] = &[
    ("an ext2, ext3 or ext4 file system", 1080, &[0x53, 0xef]),
    ("an XFS file system", 0, b"XFSB"),
    ("a Btrfs file system", 0x1_0040, b"_BHRfS_M"),
    ("a JFS file system", 0x8000, b"JFS1"),
    ("a ReiserFS file system", 0x1_0034, b"ReIsEr"),
    ("an F2FS file system", 1024, &[0x10, 0x20, 0xf5, 0xf2]),
    ("a NILFS2 file system", 1030, &[0x34, 0x34]),
    ("a bcachefs file system", 0x1018, &[0xc6, 0x85, 0x73, 0xf6]),
    ("an NTFS file system", 3, b"NTFS    "),
    ("an exFAT file system", 3, b"EXFAT   "),
    ("a LUKS container", 0, b"LUKS\xba\xbe"),
    ("a LVM volume", 536, b"LVM2"),
    ("swap space", 4086, b"SWAPSPACE2"),
    ("a qcow2 image", 0, b"QFI\xfb"),
    ("a partition table or a FAT file system", 510, &[0x55, 0xaa]),
];

/// Where the image under test lies.
#[derive(Debug)]
pub enum Place {
    /// Made there for each cell.
    Folder(PathBuf),
    /// A file of the user's, locked while this lives.
    Own {
        /// It.
        file: File,
        /// What must be put back.
        image: OwnImage,
    },
}

impl Place {
    /// Looks at what the user wrote after `--image`. `force`: data in it may be overwritten.
    pub fn find(given: Option<&Path>, force: bool) -> Result<Place> {
        let path = given.unwrap_or(Path::new(DEFAULT_FOLDER));
        let data = match fs::metadata(path) {
            Ok(data) => data,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                return Place::folder(parent.unwrap_or(Path::new(".")));
            }
            Err(error) => return Err(error).with_context(|| format!("cannot look at {}", path.display())),
        };
        if data.is_dir() {
            return Place::folder(path);
        }
        let kind = data.file_type();
        if kind.is_block_device() {
            bail!(
                "--image {}: real disks and partitions cannot be tested yet; name a file or a folder on that disk",
                path.display()
            );
        }
        if kind.is_char_device() || !data.is_file() {
            bail!("--image {} is no file; name a file or a folder", path.display());
        }
        Place::own(path, force)
    }

    fn folder(path: &Path) -> Result<Place> {
        let folder = fs::canonicalize(path)
            .with_context(|| format!("--image: there is no folder {}; make it, or name another", path.display()))?;
        if folder.starts_with("/dev") && !folder.starts_with("/dev/shm") {
            bail!("--image {}: there are devices, not files; name a file or a folder on a disk", path.display());
        }
        tempfile::tempfile_in(&folder).with_context(|| {
            format!(
                "cannot make an image in {}; name a file or a folder that can be written with --image",
                path.display()
            )
        })?;
        Ok(Place::Folder(folder))
    }

    fn own(path: &Path, force: bool) -> Result<Place> {
        let name = path.display();
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .with_context(|| format!("cannot write the image {name}; name another with --image"))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            bail!("the image {name} is in use by another program; name another with --image");
        }
        let id = FileId::of(&file)?;
        if let Some(device) = loops::device_of(&id) {
            bail!("the image {name} is in use as /dev/{device}; detach it (losetup -d /dev/{device}) or name another");
        }
        if !force && let Some(offset) = first_data(&mut file).with_context(|| format!("cannot read {name}"))? {
            let what = recognise(&file).unwrap_or("data");
            bail!(
                "the image {name} holds {what} (byte {offset} is not zero), which would be lost; if a killed run left it there, `mountmark clean` empties it; else name a file that does not exist, or say --force-image"
            );
        }
        let image = OwnImage::of(fs::canonicalize(path)?, &file)?;
        Ok(Place::Own { file, image })
    }

    /// The folder in which images lie.
    pub fn parent(&self) -> &Path {
        match self {
            Place::Folder(folder) => folder,
            Place::Own { image, .. } => image.path.parent().unwrap_or(Path::new("/")),
        }
    }

    /// The image under test: `size` bytes of nothing.
    pub fn test_image(&self, size: u64) -> Result<File> {
        let Place::Own { file, image } = self else { return new_image(self.parent(), size) };
        let file = file.try_clone()?;
        // Every cell finds it as the first one did.
        file.set_len(0).and_then(|()| file.set_len(size)).with_context(|| {
            format!("cannot make {} of {} bytes; choose a smaller --size", image.path.display(), Bytes(size))
        })?;
        Ok(file)
    }

    /// The image of the second disk.
    pub fn source_image(&self, size: u64) -> Result<File> {
        new_image(self.parent(), size)
    }

    /// An error if there is no room for images of `needed` bytes.
    pub fn has_room(&self, needed: u64) -> Result<()> {
        let folder = self.parent();
        let data =
            rustix::fs::statvfs(folder).with_context(|| format!("cannot ask {} for its room", folder.display()))?;
        let free = data.f_bavail * data.f_frsize;
        if free < needed {
            bail!(
                "{} has {} free and the disks of this plan need {}; name a folder on another disk with --image, or choose a smaller --scale",
                folder.display(),
                Bytes(free),
                Bytes(needed)
            );
        }
        Ok(())
    }
}

fn new_image(folder: &Path, size: u64) -> Result<File> {
    let image = || -> std::io::Result<File> {
        let file = tempfile::tempfile_in(folder)?;
        file.set_len(size)?;
        Ok(file)
    };
    image().with_context(|| format!("cannot make an image of {} in {}", Bytes(size), folder.display()))
}

/// The first byte that is not zero; holes are not read.
fn first_data(file: &mut File) -> std::io::Result<Option<u64>> {
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    loop {
        at = match rustix::fs::seek(&*file, rustix::fs::SeekFrom::Data(at)) {
            Ok(at) => at,
            // There is nothing but holes from here on.
            Err(rustix::io::Errno::NXIO) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        file.seek(SeekFrom::Start(at))?;
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(None);
        }
        if let Some(offset) = buffer[..read].iter().position(|byte| *byte != 0) {
            return Ok(Some(at + offset as u64));
        }
        at += read as u64;
    }
}

fn recognise(file: &File) -> Option<&'static str> {
    let found = SIGNATURES.iter().find(|(_, offset, bytes)| {
        let mut buffer = vec![0; bytes.len()];
        file.read_exact_at(&mut buffer, *offset).is_ok() && buffer == *bytes
    });
    found.map(|(name, ..)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(bytes: u64, data: Option<(u64, &[u8])>) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(bytes).unwrap();
        if let Some((offset, data)) = data {
            file.as_file().write_all_at(data, offset).unwrap();
        }
        file
    }

    #[test]
    fn an_empty_file_is_taken_and_data_is_not() {
        for (bytes, data) in [(0, None), (8 << 20, None), (8 << 20, Some((1 << 20, &[0u8; 4096][..])))] {
            let file = image(bytes, data);
            let place = Place::find(Some(file.path()), false).unwrap();
            assert_eq!(place.test_image(1 << 20).unwrap().metadata().unwrap().len(), 1 << 20);
            let error = Place::find(Some(file.path()), false).unwrap_err().to_string();
            assert!(error.contains("in use"), "{error}");
        }
        let file = image(8 << 20, Some((6 << 20, b"x")));
        let error = Place::find(Some(file.path()), false).unwrap_err().to_string();
        assert!(error.contains("byte 6291456 is not zero") && error.contains("--force-image"), "{error}");
        assert!(Place::find(Some(file.path()), true).is_ok());
        let file = image(8 << 20, Some((1080, &[0x53, 0xef])));
        let error = Place::find(Some(file.path()), false).unwrap_err().to_string();
        assert!(error.contains("holds an ext2, ext3 or ext4"), "{error}");
    }

    #[test]
    fn devices_and_missing_folders_are_refused() {
        for (path, words) in [
            ("/dev/null", "is no file"),
            ("/dev/mountmark.img", "devices, not files"),
            ("/nowhere/at/all.img", "there is no folder /nowhere/at"),
        ] {
            let error = format!("{:#}", Place::find(Some(Path::new(path)), true).unwrap_err());
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn images_have_no_name_and_need_room() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::find(Some(&folder.path().join("new.img")), false).unwrap();
        let image = place.test_image(1 << 30).unwrap();
        assert_eq!(image.metadata().unwrap().len(), 1 << 30);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        place.has_room(1).unwrap();
        let error = place.has_room(u64::MAX).unwrap_err().to_string();
        assert!(error.contains("16.0 EiB") || error.contains("TiB"), "{error}");
    }
}
