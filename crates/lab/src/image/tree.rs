//! The packages' files as a guest sees them: in one tree, whose /bin, /sbin and /usr/sbin are /usr/bin.
//!
//! A package may have `/sbin/X` and a link `/bin/X` to it. Where both folders are one, that link would lead to itself, so
//! it is no link here: places are compared, not paths.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use super::manifest::Manifest;

/// The folders that are links in an image, and where these lead.
pub const MERGED: [(&str, &str); 5] =
    [("bin", "usr/bin"), ("sbin", "usr/bin"), ("usr/sbin", "bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")];

/// A file of a package: the package's index, and the path below its folder.
pub type Found = (usize, String);

pub enum Entry {
    File(Found),
    /// The link's target from the root, without `.` and `..`.
    Link(String),
}

/// All files and links by their place in a guest, a path without a leading slash.
pub struct Tree {
    entries: BTreeMap<String, Vec<Entry>>,
}

impl Tree {
    /// Of what packages share, the first one's counts.
    pub fn new<'m>(manifests: impl Iterator<Item = &'m Manifest>) -> Tree {
        let mut entries: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        for (index, manifest) in manifests.enumerate() {
            let mut all: Vec<_> = manifest.all().collect();
            all.sort_by_key(|(path, _)| (!path.starts_with("usr/"), *path));
            for (path, link) in all {
                // The package that makes the folders one has these links itself.
                if MERGED.iter().any(|(folder, _)| *folder == path) {
                    continue;
                }
                let entry = match link {
                    Some(target) => Entry::Link(from_root(path, target)),
                    None => Entry::File((index, path.to_owned())),
                };
                entries.entry(place(path)).or_default().push(entry);
            }
        }
        Tree { entries }
    }

    /// What is at a place: the first file, or link that leads to a file elsewhere.
    pub fn at(&self, place: &str) -> Option<&Entry> {
        self.entries.get(place)?.iter().find(|entry| match entry {
            Entry::File(_) => true,
            Entry::Link(target) => self.follow(target, &mut BTreeSet::from([place.to_owned()])).is_some(),
        })
    }

    /// The target of a link at a place that leads to no file.
    pub fn dangling(&self, place: &str) -> Option<&str> {
        self.entries.get(place)?.iter().find_map(|entry| match entry {
            Entry::Link(target) => Some(target.as_str()),
            Entry::File(_) => None,
        })
    }

    /// The file that a path leads to, and that file's place.
    pub fn resolve(&self, path: &str) -> Option<(&Found, String)> {
        self.follow(&from_root("", path), &mut BTreeSet::new())
    }

    /// The places of all files and links, sorted.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The places of all files and links at or below a folder.
    pub fn below(&self, folder: &str) -> Vec<String> {
        let folder = place(folder.trim_start_matches('/'));
        let is_in = |own: &&String| {
            own.strip_prefix(folder.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.entries.keys().filter(is_in).cloned().collect()
    }

    /// `seen` holds the places that led nowhere so far, or that the way went through: no loop is followed twice.
    fn follow(&self, path: &str, seen: &mut BTreeSet<String>) -> Option<(&Found, String)> {
        let mut at = String::new();
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        while let Some(part) = parts.next() {
            at = place(&if at.is_empty() { part.to_owned() } else { format!("{at}/{part}") });
            let Some(entries) = self.entries.get(&at) else { continue };
            let rest: String = parts.map(|part| format!("/{part}")).collect();
            if !seen.insert(format!("{at}{rest}")) {
                return None;
            }
            return entries.iter().find_map(|entry| match entry {
                Entry::File(found) => rest.is_empty().then(|| (found, at.clone())),
                Entry::Link(target) => self.follow(&format!("{target}{rest}"), seen),
            });
        }
        None
    }
}

/// The place of a path in a guest.
pub fn place(path: &str) -> String {
    let below = |folder: &str| path.strip_prefix(folder).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match MERGED.iter().find_map(|(folder, target)| Some((folder, target, below(folder)?))) {
        Some((folder, target, rest)) => place(&format!("{}{rest}", from_root(folder, target))),
        None => path.to_owned(),
    }
}

/// The target of the link `link`, from the root and without `.` and `..`.
pub fn from_root(link: &str, target: &str) -> String {
    let folder = Path::new(link).parent().unwrap_or(Path::new(""));
    let mut parts: Vec<String> = Vec::new();
    for part in folder.join(target).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => drop(parts.pop()),
            Component::RootDir => parts.clear(),
            _ => {}
        }
    }
    parts.join("/")
}
