//! Opens files of the user without blocking, and reads them within bounds.
//!
//! A name may refer to a pipe without a writer, a device that never ends, or a file that does not fit in memory.
//! [`open`] and [`text`] reject these with a reason; the caller says which file. This crate does not know what is in a
//! file.

mod folders;

pub use folders::{from_environment, own_folder};

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Maximum number of bytes of a definition, a job file or a plan file. The longest of the catalogue has 12 KB.
pub const MOST_TEXT: u64 = 1 << 20;
/// Maximum number of bytes of a table of figures. The longest of the catalogue has 29 KB.
pub const MOST_TABLE: u64 = 16 << 20;

/// Opens a regular file for reading. Opening never blocks, neither on a pipe's writer nor on a device.
///
/// # Errors
/// The system's error, or the type of the file if it is not regular.
pub fn open(path: &Path) -> io::Result<File> {
    // Checked before opening, which has side effects on some devices.
    refuse(fs::metadata(path)?.file_type())?;
    let file =
        OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC).open(path)?;
    // Checked again: the name may refer to another file by now.
    refuse(file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens a file for what is written once: a new one, an empty one, or a pipe. What came to lie there since its name was
/// checked stays as it is.
///
/// # Errors
/// The system's error; a file that holds something, or a device.
pub fn new_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).custom_flags(libc::O_NOCTTY).open(path)?;
    let about = file.metadata()?;
    let kind = about.file_type();
    let is_device = kind.is_block_device() || kind.is_char_device();
    let reason = if is_device { "it is a device" } else { "something else was written there meanwhile" };
    if is_device || about.len() > 0 {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, reason));
    }
    Ok(file)
}

/// The text of a regular file of at most `most` bytes.
///
/// # Errors
/// The errors of [`open`]; a file with more bytes, or not in UTF-8.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    let too_long = || {
        let most = if most >= 1 << 20 { format!("{} MiB", most >> 20) } else { format!("{most} bytes") };
        io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most}, the most that is read of it"))
    };
    let file = open(path)?;
    if file.metadata()?.len() > most {
        return Err(too_long());
    }
    // Files of the kernel have no length, and a file may grow.
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_long());
    }
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Resolves a name in the file `beside`: a relative path below that file's folder, also after following links. A
/// foreign definition thus reaches only files that came with it.
///
/// # Errors
/// A name that leaves the folder, or the system's error.
pub fn beside(beside: &Path, name: &str) -> io::Result<PathBuf> {
    let outside = || {
        let reason = "it does not lie in the folder of the file that names it, or below it; put it there";
        io::Error::new(io::ErrorKind::PermissionDenied, reason)
    };
    let folder = beside.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let plain =
        |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir);
    if !Path::new(name).components().all(plain) {
        return Err(outside());
    }
    let path = folder.join(name);
    if !fs::canonicalize(&path)?.starts_with(fs::canonicalize(folder)?) {
        return Err(outside());
    }
    Ok(path)
}

fn refuse(kind: FileType) -> io::Result<()> {
    let what = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what} and not a regular file")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_came_to_lie_there_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        new_file(&path).unwrap();
        new_file(&path).unwrap();
        fs::write(&path, "mine").unwrap();
        assert_eq!(new_file(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        assert!(new_file(Path::new("/dev/null")).is_err());
    }

    #[test]
    fn only_regular_files_of_a_sane_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("text"), "abc").unwrap();
        assert_eq!(text(&path("text"), 3).unwrap(), "abc");
        let said = |path: &Path, most| text(path, most).unwrap_err().to_string();
        assert!(said(&path("text"), 2).contains("more than 2 bytes"));
        fs::write(path("bytes"), b"\xff").unwrap();
        assert!(said(&path("bytes"), 9).contains("not UTF-8"));
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), kind, mode, 0).unwrap();
        symlink(path("pipe"), path("link")).unwrap();
        assert!(said(&path("pipe"), 9).contains("a pipe") && said(&path("link"), 9).contains("a pipe"));
        assert!(said(Path::new("/dev/zero"), 9).contains("a device"));
        assert!(said(folder.path(), 9).contains("a folder"));
        // No length in advance, but still no end.
        assert!(said(Path::new("/proc/self/maps"), 9).contains("more than 9 bytes"));
    }

    #[test]
    fn what_stands_beside_a_file_does_not_leave_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir_all(inner.join("sub")).unwrap();
        for name in ["outside.fio", "inner/a.fio", "inner/sub/b.fio"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        symlink("../outside.fio", inner.join("link.fio")).unwrap();
        symlink("sub/b.fio", inner.join("near.fio")).unwrap();
        symlink("..", inner.join("up")).unwrap();
        let suite = inner.join("suite.toml");
        for name in ["a.fio", "./sub/b.fio", "near.fio"] {
            assert_eq!(beside(&suite, name).unwrap(), inner.join(name));
        }
        let whole = inner.join("a.fio").to_string_lossy().into_owned();
        for name in ["../outside.fio", "sub/../a.fio", "link.fio", "up/outside.fio", "/etc/shadow", whole.as_str()] {
            assert!(beside(&suite, name).unwrap_err().to_string().contains("does not lie in the folder"), "{name}");
        }
        assert!(beside(&suite, "none.fio").unwrap_err().to_string().contains("No such file"));
    }
}
