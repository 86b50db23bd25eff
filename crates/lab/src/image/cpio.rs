//! The initramfs: an uncompressed `newc` archive (Documentation/driver-api/early-userspace/buffer-format.rst).
//!
//! Entries are written sorted by name with fixed owners and times, so that equal contents give equal archives, and
//! equal archives give equal boots.

use std::collections::BTreeMap;

const MAGIC: &[u8] = b"070701";
/// Bytes before an entry's path.
const HEADER: usize = MAGIC.len() + 13 * 8;

/// Contents of an archive, by path without a leading slash.
#[derive(Default)]
pub struct Archive {
    entries: BTreeMap<String, Entry>,
}

enum Entry {
    Folder,
    File { bytes: Vec<u8>, mode: u32 },
    Link(String),
    Character { major: u32, minor: u32 },
}

impl Archive {
    /// Adds a folder and its parents.
    pub fn folder(&mut self, path: &str) {
        let mut at = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if !at.is_empty() {
                at.push('/');
            }
            at.push_str(part);
            self.entries.entry(at.clone()).or_insert(Entry::Folder);
        }
    }

    /// Adds a file and its parents.
    pub fn file(&mut self, path: &str, bytes: Vec<u8>, mode: u32) {
        self.parents(path);
        self.entries.insert(path.to_owned(), Entry::File { bytes, mode });
    }

    /// Adds a symbolic link and its parents.
    pub fn link(&mut self, path: &str, target: &str) {
        self.parents(path);
        self.entries.insert(path.to_owned(), Entry::Link(target.to_owned()));
    }

    pub fn character(&mut self, path: &str, major: u32, minor: u32) {
        self.parents(path);
        self.entries.insert(path.to_owned(), Entry::Character { major, minor });
    }

    pub fn has(&self, path: &str) -> bool {
        self.entries.contains_key(path)
    }

    /// The names of what lies directly in a folder.
    pub(crate) fn names_in(&self, folder: &str) -> Vec<String> {
        let below = self.entries.keys().filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/'));
        below.filter(|name| !name.contains('/')).map(str::to_owned).collect()
    }

    /// Bytes of memory that the unpacked archive takes, in whole pages.
    pub(crate) fn unpacked_bytes(&self) -> u64 {
        let pages = |entry: &Entry| match entry {
            Entry::File { bytes, .. } => (bytes.len() as u64).div_ceil(4096),
            _ => 0,
        };
        self.entries.values().map(pages).sum::<u64>() * 4096
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, (path, entry)) in self.entries.iter().enumerate() {
            let (mode, data, device) = match entry {
                Entry::Folder => (0o040_755, &[][..], (0, 0)),
                Entry::File { bytes, mode } => (0o100_000 | mode, &bytes[..], (0, 0)),
                Entry::Link(target) => (0o120_777, target.as_bytes(), (0, 0)),
                Entry::Character { major, minor } => (0o020_600, &[][..], (*major, *minor)),
            };
            append(&mut out, number as u32 + 1, path, mode, data, device);
        }
        append(&mut out, 0, "TRAILER!!!", 0, &[], (0, 0));
        out
    }

    /// What a guest reads at a path; `None` if its links lead nowhere or in a circle.
    #[cfg(test)]
    pub(super) fn read(&self, path: &str) -> Option<&[u8]> {
        let (mut at, mut followed) = (Vec::new(), 0);
        let mut left: Vec<&str> = path.split('/').rev().collect();
        while let Some(part) = left.pop() {
            match part {
                "" | "." => continue,
                ".." => drop(at.pop()),
                name => at.push(name),
            }
            if let Some(Entry::Link(target)) = self.entries.get(&at.join("/")) {
                // As Linux: MAXSYMLINKS.
                followed += 1;
                if followed > 40 {
                    return None;
                }
                if target.starts_with('/') {
                    at.clear();
                } else {
                    at.pop();
                }
                left.extend(target.split('/').rev());
            }
        }
        match self.entries.get(&at.join("/"))? {
            Entry::File { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    fn parents(&mut self, path: &str) {
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.folder(folder);
        }
    }
}

fn append(out: &mut Vec<u8>, inode: u32, path: &str, mode: u32, data: &[u8], device: (u32, u32)) {
    let fields = [inode, mode, 0, 0, 1, 0, data.len() as u32, 0, 0, device.0, device.1, path.len() as u32 + 1, 0];
    out.extend_from_slice(MAGIC);
    for field in fields {
        out.extend_from_slice(format!("{field:08x}").as_bytes());
    }
    out.extend_from_slice(path.as_bytes());
    out.push(0);
    pad(out);
    out.extend_from_slice(data);
    pad(out);
}

fn pad(out: &mut Vec<u8>) {
    while !out.len().is_multiple_of(4) {
        out.push(0);
    }
}

/// The regular files of an archive, by path and contents, up to what is no entry.
pub(crate) fn files(mut archive: &[u8]) -> impl Iterator<Item = (&str, &[u8])> {
    const REGULAR: usize = 0o100_000;
    let padded = |length: usize| length.next_multiple_of(4);
    let mut next = move || -> Option<(bool, &str, &[u8])> {
        let field = |at: usize| {
            let digits = archive.get(MAGIC.len() + 8 * at..)?.get(..8)?;
            usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        };
        let (mode, size, name_size) = (field(1)?, field(6)?, field(11)?);
        let data = padded(HEADER + name_size);
        let path = std::str::from_utf8(archive.get(HEADER..HEADER + name_size)?).ok()?.trim_end_matches('\0');
        let bytes = archive.get(data..data + size)?;
        archive = archive.get(padded(data + size)..).filter(|_| archive.starts_with(MAGIC))?;
        Some((mode & 0o170_000 == REGULAR, path, bytes))
    };
    std::iter::from_fn(move || {
        loop {
            if let (true, path, bytes) = next()? {
                return Some((path, bytes));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_sorted_padded_and_closed() {
        let mut archive = Archive::default();
        archive.file("usr/bin/b", vec![1, 2, 3], 0o755);
        archive.link("bin", "usr/bin");
        archive.character("dev/null", 1, 3);
        let bytes = archive.to_bytes();
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8_lossy(&bytes);
        let at = |name: &str| text.find(name).unwrap_or_else(|| panic!("{name} missing"));
        assert!(at("bin\0") < at("dev\0") && at("dev/null") < at("usr\0") && at("usr/bin/b") < at("TRAILER!!!"));
        assert_eq!(archive.unpacked_bytes(), 4096);
        assert!(bytes.starts_with(b"070701000000010000"));
        assert_eq!(files(&bytes).collect::<Vec<_>>(), [("usr/bin/b", &[1, 2, 3][..])]);
        assert_eq!(files(&bytes[..bytes.len() / 2]).count(), 0);
    }
}
