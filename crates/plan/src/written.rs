//! A file of a catalogue, as it is written.

use std::path::{Path, PathBuf};

use crate::{Kind, PlanError, Result};

/// A file of a catalogue, or one that a user named: its text, before anybody has understood it.
#[derive(Clone, Debug)]
pub struct Written {
    pub(crate) kind: Kind,
    pub(crate) text: String,
    /// Its name in messages.
    pub(crate) shown: String,
    pub(crate) path: PathBuf,
}

impl Written {
    /// As if read from `path`.
    pub fn new(kind: Kind, text: &str, path: &Path) -> Written {
        Written { kind, text: text.to_owned(), shown: path.display().to_string(), path: path.to_owned() }
    }

    /// A user's file.
    pub(crate) fn file(kind: Kind, path: &Path) -> Result<Written> {
        Ok(Written::new(kind, &text_of(path, mountmark_input::MOST_TEXT)?, path))
    }

    /// The name that the definition must have.
    pub(crate) fn stem(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The text of a user's file, of at most `most` bytes.
pub(crate) fn text_of(path: &Path, most: u64) -> Result<String> {
    mountmark_input::text(path, most).map_err(|source| PlanError::Read { path: path.display().to_string(), source })
}
