//! What is in the folders of a shelf. What cannot be listed is no empty folder: the error says where.

use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::MARKER;
use crate::entry::hashes;

/// What is in a folder; nothing if there is none by now, and of a file of this name.
pub(super) fn entries(folder: &Path) -> io::Result<Vec<DirEntry>> {
    let is_none = |error: &io::Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    match fs::read_dir(folder).and_then(Iterator::collect) {
        Err(error) if is_none(&error) => Ok(Vec::new()),
        found => found.map_err(|error| at(folder, &error)),
    }
}

/// An error with its place.
pub(super) fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The folders of cells in a shelf.
pub(super) fn parts(shelf: &Path) -> io::Result<Vec<PathBuf>> {
    let is_part = |name: &OsStr| name.len() == 2 && name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit);
    Ok(entries(shelf)?.iter().filter(|entry| is_part(&entry.file_name())).map(DirEntry::path).collect())
}

/// Names of the cells in a part; other files are none of ours.
pub(super) fn names(part: &Path) -> io::Result<Vec<String>> {
    let prefix = part.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_of_part = |name: &String| hashes(name).is_some_and(|(key, _)| key.starts_with(&prefix));
    let names = entries(part)?.into_iter().filter_map(|entry| entry.file_name().into_string().ok());
    Ok(names.filter(is_of_part).collect())
}

/// What a folder without a marker holds.
pub(super) enum Contents {
    Shelf,
    /// The name of one.
    Others(String),
    Nothing,
}

/// What is in a folder that had no marker. Hidden files are nobody's work: a repository's, a snapshot's, one in the making.
pub(super) fn contents(path: &Path) -> io::Result<Contents> {
    let names = match fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Contents::Nothing),
        names => names?,
    };
    let mut others = None;
    for name in names {
        let name = name?.file_name().to_string_lossy().into_owned();
        match name.as_str() {
            MARKER => return Ok(Contents::Shelf),
            "lost+found" => {}
            hidden if hidden.starts_with('.') => {}
            _ => others = Some(name),
        }
    }
    Ok(others.map_or(Contents::Nothing, Contents::Others))
}
