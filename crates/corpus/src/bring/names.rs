//! Names of an archive's entries.

use anyhow::{Result, bail, ensure};

use crate::places::LONGEST_NAME;

/// A name without `.`, empty parts and slashes around it.
pub(super) fn plain(name: &[u8]) -> Result<Vec<u8>> {
    ensure!(
        name.len() <= LONGEST_NAME,
        "an entry is refused: its name is longer than {LONGEST_NAME} bytes, the longest that Linux takes"
    );
    let parts: Vec<&[u8]> = name.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".").collect();
    if parts.contains(&&b".."[..]) {
        bail!("the entry {:?} is refused: it would leave the tree", String::from_utf8_lossy(name));
    }
    Ok(parts.join(&b'/'))
}

/// A name's folder and its last part.
pub(super) fn split(name: &[u8]) -> (&[u8], &[u8]) {
    match name.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&name[..at], &name[at + 1..]),
        None => (b"", name),
    }
}

/// The folders above a name, the nearest first.
pub(super) fn above(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = name.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    slashes.map(|at| &name[..at])
}
