//! What a guest is told: its cell, and the places of the media.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use mountmark_model::Cell;
use mountmark_trace::recording::Device;
use serde::{Deserialize, Serialize};

use crate::line_auth::Token;

/// Guest-physical address of the disks' media: above all RAM.
pub const MEDIA_START: u64 = 4 << 30;

/// What of a cell one agent does. A cell whose file system holds something before the tasks may be done by two: what it holds
/// takes minutes to make, is the same for many cells, and can be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Share {
    #[default]
    Whole,
    /// Until the disks hold what they hold before the tasks.
    Contents,
    /// From such disks on.
    Tasks,
}

impl Share {
    fn is_whole(&self) -> bool {
        *self == Share::Whole
    }
}

/// A part of the media, relative to [`MEDIA_START`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// In bytes.
    pub offset: u64,
    /// In bytes.
    pub size: u64,
}

/// A guest's input: its cell and the places of the media.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Authenticates the agent's lines.
    pub token: Token,
    pub cell: Cell,
    /// Medium of the disk under test.
    pub test: Region,
    /// Media of further disks below the file system under test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<Region>,
    /// Medium of the second disk.
    pub source: Option<Region>,
    /// A plain tar file.
    pub corpus: Option<Region>,
    /// Where the disk under test keeps what a power cut takes back, as large as the disk; `None` if no task cuts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Region>,
    /// The operations that age the file system; `None` if the cell has no age.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Region>,
    #[serde(default, skip_serializing_if = "Share::is_whole")]
    pub share: Share,
    /// If the guest only has to write down its kernel's symbols: where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbols: Option<Region>,
    /// If the guest is a witness of power cuts, and runs no cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<CrashRegions>,
}

impl Job {
    /// Writes it for a guest, in the folder of its files.
    pub fn write(&self, path: &Path) -> Result<()> {
        write(path, &serde_json::to_vec(self)?)
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| {
        let file = path.display();
        format!("cannot write {file}, which a guest needs; free some there, or set TMPDIR to a folder with room")
    })
}

/// What a witness of power cuts has beside its disk's medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrashRegions {
    /// Copies of what was written to the disk.
    pub log: Region,
    /// Questions and answers.
    pub exchange: Region,
    /// What its disk offers, and where it fails.
    pub device: Device,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_folder_of_temporary_files_has_a_cure() {
        let error = format!("{:#}", write(Path::new("/dev/full"), b"job").unwrap_err());
        for part in ["cannot write /dev/full", "set TMPDIR to a folder with room", "No space left"] {
            assert!(error.contains(part), "{error}");
        }
    }
}
