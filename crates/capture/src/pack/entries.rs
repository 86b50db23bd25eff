//! Which files a pack has, and how much of them.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::Recording;
use crate::observe::is_systems;
use crate::refusal::{Refusal, Result};
use crate::tree::{Before, Node};
use crate::walk::is_kernels;

/// Files that were only looked at, and are larger than this, have zeroes in the place of their contents.
const LOOKED: u64 = 1 << 20;

/// Folders at the root that a Debian guest has in `/usr`.
const MERGED: [&str; 4] = ["bin", "sbin", "lib", "lib64"];

/// By path in the pack, in bytewise order.
pub type Entries = BTreeMap<Vec<u8>, Entry>;

#[derive(Clone, Debug)]
pub struct Entry {
    /// The path on this machine.
    pub path: PathBuf,
    pub source: Source,
    pub mode: u32,
    pub modified: i64,
}

#[derive(Clone, Debug)]
pub enum Source {
    Folder,
    Link(PathBuf),
    /// A file whose contents are in this one.
    Contents(PathBuf, u64),
    /// A file that is only as large.
    Zeroes(u64),
    /// As [`Source::Contents`], with other bytes; the seed is of what it held.
    Shape(PathBuf, u64, u64),
}

impl Entry {
    pub fn size(&self) -> u64 {
        match self.source {
            Source::Folder | Source::Link(_) => 0,
            Source::Contents(_, size) | Source::Zeroes(size) | Source::Shape(_, size, _) => size,
        }
    }

    pub fn is_file(&self) -> bool {
        !matches!(self.source, Source::Folder | Source::Link(_))
    }
}

/// All that was there before the command ran and that it needs.
pub fn entries(recording: &Recording) -> Result<Entries> {
    let mut entries = Entries::new();
    let mut wanted: Vec<&Path> = Vec::new();
    for (path, node) in recording.tree.nodes() {
        // What was only seen in a folder of the system would stand in the place of the guest's own.
        let was_listed = node.uses == crate::tree::Uses::default();
        let is_other = was_listed && is_systems(path) && !path.starts_with(&recording.command.folder);
        if is_kept(path) && !is_other {
            wanted.push(path);
        }
    }
    for path in wanted {
        for path in path.ancestors() {
            let place = place(path);
            if !is_kept(path) || entries.contains_key(&place) {
                continue;
            }
            let Some(node) = recording.tree.get(path) else { continue };
            if let Some(source) = source(recording, path, node)? {
                let (mode, modified) = (node.mode, modified(recording, path, node));
                entries.insert(place, Entry { path: path.to_owned(), source, mode, modified });
            }
        }
    }
    Ok(entries)
}

/// Folders that lead to the working directory, or that were only passed, change by what others do in them.
fn modified(recording: &Recording, path: &Path, node: &Node) -> i64 {
    let folder = &recording.command.folder;
    let is_passed = !path.starts_with(folder) && !node.uses.looked && !node.uses.read;
    let leads_there = folder.starts_with(path) && path != folder;
    if node.before == Before::Folder && (is_passed || leads_there) { 0 } else { node.modified }
}

/// Devices and what the kernel shows are the guest's own, and so are the links that lead into /usr.
fn is_kept(path: &Path) -> bool {
    let is_merged = path.parent() == Some(Path::new("/"))
        && path.file_name().is_some_and(|name| MERGED.iter().any(|merged| name == *merged));
    path.parent().is_some() && !path.starts_with("/dev") && !is_kernels(path) && !is_merged
}

/// The path in the pack.
pub fn place(path: &Path) -> Vec<u8> {
    let below = path.strip_prefix("/").unwrap_or(path);
    // A real folder on this machine, or the path would not begin with it.
    let is_merged = MERGED.iter().any(|merged| below.starts_with(merged));
    let below = if is_merged { Path::new("usr").join(below) } else { below.to_owned() };
    below.into_os_string().as_bytes().to_vec()
}

fn source(recording: &Recording, path: &Path, node: &Node) -> Result<Option<Source>> {
    Ok(Some(match &node.before {
        Before::Absent | Before::Special => return Ok(None),
        Before::Folder => Source::Folder,
        Before::Link(target) => Source::Link(target.clone()),
        Before::File => {
            let uses = node.uses;
            let is_used = uses.read || uses.executed || uses.changed || uses.made;
            let is_own = path.starts_with(&recording.command.folder) || node.mode & 0o111 != 0 || node.size <= LOOKED;
            match (is_used, uses.looked) {
                (false, false) => Source::Zeroes(0),
                (false, true) if !is_own => Source::Zeroes(node.size),
                _ => contents(recording, path, node, uses.read || uses.executed)?,
            }
        }
    }))
}

fn contents(recording: &Recording, path: &Path, node: &Node, was_read: bool) -> Result<Source> {
    let file = match recording.tree.contents(path, node) {
        Ok(file) => file,
        // It was there when it was looked at; others may have removed it since.
        Err(Refusal::Changed(_)) if !was_read && !node.uses.changed => return Ok(Source::Zeroes(node.size)),
        Err(error) => return Err(error),
    };
    match std::fs::File::open(&file) {
        Ok(_) => Ok(Source::Contents(file, node.size)),
        Err(error) if error.kind() == ErrorKind::PermissionDenied && !was_read => Ok(Source::Zeroes(node.size)),
        Err(error) => Err(Refusal::Input { what: path.display().to_string(), error }),
    }
}
