//! A file's identity, whatever its names are.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

/// Identifies a file independently of its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileId {
    /// `st_dev`
    pub device: u64,
    /// `st_ino`
    pub inode: u64,
}

impl FileId {
    /// The identity of an open file.
    pub fn of(file: &File) -> io::Result<FileId> {
        file.metadata().map(|data| FileId::from(&data))
    }
}

impl From<&fs::Metadata> for FileId {
    fn from(data: &fs::Metadata) -> FileId {
        FileId { device: data.dev(), inode: data.ino() }
    }
}
