//! Resolves names in an archive, and rejects those that would leave it.

use std::collections::HashMap;

/// Maximum length of a name in bytes: the longest path that Linux accepts.
pub(crate) const LONGEST_NAME: usize = 4096;

/// Directories and links of an archive as a tree: memory for a name depends on its own parts, not on its depth.
pub(crate) struct Places {
    /// The place of a name in another place.
    places: HashMap<(usize, Box<[u8]>), usize>,
    /// By place.
    pub(crate) known: Vec<Known>,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Known {
    pub(crate) directory: bool,
    pub(crate) link: bool,
}

impl Default for Places {
    fn default() -> Places {
        Places { places: HashMap::new(), known: vec![Known::default()] }
    }
}

impl Places {
    /// The folder in which the archive is unpacked.
    pub(crate) const ROOT: usize = 0;

    /// The place of `name` in another; new if not seen before.
    pub(crate) fn below(&mut self, place: usize, name: &[u8]) -> usize {
        let next = self.known.len();
        let found = *self.places.entry((place, name.into())).or_insert(next);
        if found == next {
            self.known.push(Known::default());
        }
        found
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
    if parts.contains(&&b".."[..]) {
        return Err("its name goes up with \"..\", and unpacking must not leave the file system under test");
    }
    Ok(parts)
}
