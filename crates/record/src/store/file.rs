//! Checks the store's file before SQLite sees it, and names it for read-only access.

use std::fs;
use std::io::Read;
use std::path::Path;

use super::open::{APPLICATION, VERSION};
use crate::error::StoreError;

/// Result of a look at the file's first bytes.
#[derive(PartialEq)]
pub(super) enum Inspected {
    /// No file, or an empty one.
    Empty,
    /// An SQLite database, which may be a store.
    Database,
}

/// Rejects files that are certainly not a store of this version, without SQLite, which writes files beside the one that
/// it reads. The header is described in SQLite's "Database File Format", section 1.3.
pub(super) fn inspect(path: &Path) -> Result<Inspected, StoreError> {
    let failed = |source: std::io::Error| StoreError::Open { path: path.to_owned(), reason: source.to_string() };
    let mut file = match mountmark_input::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Inspected::Empty),
        Err(error) => return Err(failed(error)),
    };
    let mut header = Vec::new();
    file.by_ref().take(100).read_to_end(&mut header).map_err(failed)?;
    if header.is_empty() {
        return Ok(Inspected::Empty);
    }
    if header.len() < 100 || !header.starts_with(b"SQLite format 3\0") {
        return Err(StoreError::NotADatabase { path: path.to_owned() });
    }
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (found, application) = (word(60), word(68));
    if application == APPLICATION && found > VERSION {
        return Err(StoreError::Newer { path: path.to_owned(), found, known: VERSION });
    }
    if application != APPLICATION && application != 0 {
        return Err(StoreError::Foreign { path: path.to_owned() });
    }
    Ok(Inspected::Database)
}

pub(super) fn has_wal(path: &Path) -> bool {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    fs::metadata(name).is_ok_and(|metadata| metadata.len() > 0)
}

/// `file:` URI for a file that no process changes; see SQLite's "Uniform Resource Identifiers".
pub(super) fn immutable_uri(path: &Path) -> String {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => uri.push(*byte as char),
            _ => write!(uri, "%{byte:02X}").expect("a String takes every write"),
        }
    }
    uri + "?immutable=1"
}
