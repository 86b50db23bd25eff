//! Resolves names in an archive, and rejects those that would leave it.

use std::collections::HashMap;

/// Maximum length of a name in bytes: the longest path that Linux accepts.
pub(crate) const LONGEST_NAME: usize = 4096;

/// Maximum length of a part of a name in bytes (NAME_MAX).
const LONGEST_PART: usize = 255;

/// Directories of an archive as a tree: memory for a name depends on its own parts, not on its depth.
#[derive(Default)]
pub(crate) struct Places {
    /// The place of a name in another place.
    places: HashMap<(usize, Box<[u8]>), usize>,
}

impl Places {
    /// The folder in which the archive is unpacked.
    pub(crate) const ROOT: usize = 0;

    /// The place of the directory `name` in another; new if not seen before.
    pub(crate) fn below(&mut self, place: usize, name: &[u8]) -> usize {
        let next = self.count() + 1;
        *self.places.entry((place, name.into())).or_insert(next)
    }

    /// The same, if it was seen before.
    pub(crate) fn find(&self, place: usize, name: &[u8]) -> Option<usize> {
        self.places.get(&(place, name.into())).copied()
    }

    /// Directories, without the folder in which the archive is unpacked.
    pub(crate) fn count(&self) -> usize {
        self.places.len()
    }
}

/// The parts of a name without `.`; an error if the name would leave the folder.
pub(crate) fn components(path: &[u8]) -> Result<Vec<&[u8]>, &'static str> {
    if path.len() > LONGEST_NAME {
        return Err("its name is longer than 4096 bytes, the longest that Linux takes");
    }
    if path.starts_with(b"/") {
        return Err("its name is absolute, and unpacking must not leave the file system under test");
    }
    if path.contains(&0) {
        return Err("its name has a zero byte in it");
    }
    let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".").collect();
    if parts.iter().any(|part| part.len() > LONGEST_PART) {
        return Err("a part of its name is longer than 255 bytes, the longest that Linux takes");
    }
    if parts.contains(&&b".."[..]) {
        return Err("its name goes up with \"..\", and unpacking must not leave the file system under test");
    }
    Ok(parts)
}
