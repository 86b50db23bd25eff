//! All files that were touched, as they were before; what changes is saved first.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use mountmark_model::Bytes;

use crate::calls::Use;
use crate::refusal::{Refusal, Result};

/// What stood at a path before the command ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    Absent,
    Folder,
    File,
    Link(PathBuf),
    /// A device, a pipe, a socket.
    Special,
}

/// How a path was used; a file that is none of these was only seen in a listing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    pub looked: bool,
    pub read: bool,
    pub executed: bool,
    /// Written, removed, renamed, or its mode or times set.
    pub changed: bool,
    pub made: bool,
}

/// A path that was touched.
#[derive(Clone, Debug)]
pub struct Node {
    pub before: Before,
    pub uses: Uses,
    pub mode: u32,
    /// Seconds.
    pub modified: i64,
    pub size: u64,
    /// Device and number.
    identity: (u64, u64),
    /// A copy of what it held, made before it changed.
    saved: Option<PathBuf>,
    /// Whether something else has this name now, so that what is in it was not there before.
    replaced: bool,
    /// Whether something was seen there after the first use.
    existed: bool,
    /// The largest size of what the command put there.
    pub grown: u64,
}

/// The touched files.
pub struct Tree {
    /// By path. Compared as bytes, which is ten times as fast as by the components of paths.
    nodes: BTreeMap<OsString, Node>,
    /// Files whose contents are not saved yet, by identity.
    unsaved: HashMap<(u64, u64), PathBuf>,
    /// Old and new names, in order.
    moves: Vec<(PathBuf, PathBuf)>,
    /// Where copies are put.
    spool: PathBuf,
    copies: u64,
    kept: Vec<(u64, PathBuf)>,
    total: u64,
    limit: u64,
}

impl Tree {
    pub fn new(spool: &Path, limit: u64) -> Tree {
        Tree {
            nodes: BTreeMap::new(),
            unsaved: HashMap::new(),
            moves: Vec::new(),
            spool: spool.to_owned(),
            copies: 0,
            kept: Vec::new(),
            total: 0,
            limit,
        }
    }

    /// All paths that were touched, in bytewise order.
    pub fn nodes(&self) -> impl Iterator<Item = (&Path, &Node)> {
        self.nodes.iter().map(|(path, node)| (Path::new(path), node))
    }

    pub fn get(&self, path: &Path) -> Option<&Node> {
        self.nodes.get(path.as_os_str())
    }

    /// What stood at a path that was touched.
    pub fn before(&self, path: &Path) -> &Before {
        self.get(path).map_or(&Before::Absent, |node| &node.before)
    }

    /// Whether a folder holds names that were only listed.
    pub fn has_unused(&self, folder: &Path) -> bool {
        self.nodes().any(|(path, node)| path.parent() == Some(folder) && node.uses == Uses::default())
    }

    /// Notes that a path is used, before it is. All folders above it are noted too.
    pub fn touch(&mut self, path: &Path, with: Use) -> Result<()> {
        if !self.nodes.contains_key(path.as_os_str()) {
            self.meet(path)?;
        }
        let node = self.nodes.get_mut(path.as_os_str()).expect("it was just met");
        match with {
            Use::Look => node.uses.looked = true,
            Use::Read => node.uses.read = true,
            Use::Execute => node.uses.executed = true,
            Use::Make => node.uses.made = true,
            Use::Change => node.uses.changed = true,
            Use::Write | Use::Onto => (node.uses.changed, node.uses.made) = (true, true),
            Use::Remove | Use::Away => node.uses.changed = true,
        }
        match with {
            Use::Write => self.before_change(path, false),
            Use::Remove | Use::Onto => self.before_change(path, true),
            _ => Ok(()),
        }
    }

    /// Notes that a path exists, seen in a listing.
    fn meet(&mut self, path: &Path) -> Result<()> {
        let mut is_new = false;
        if let Some(above) = path.parent() {
            if !self.nodes.contains_key(above.as_os_str()) {
                self.meet(above)?;
            }
            let above = &self.nodes[above.as_os_str()];
            is_new = above.before != Before::Folder || above.replaced;
        }
        let metadata = fs::symlink_metadata(path).ok().filter(|_| !is_new);
        let node = Node::new(path, metadata.as_ref());
        if node.before == Before::File {
            self.unsaved.entry(node.identity).or_insert_with(|| path.to_owned());
        }
        self.nodes.insert(path.as_os_str().to_owned(), node);
        Ok(())
    }

    /// Notes the entries of a folder that is about to be listed.
    pub fn list(&mut self, folder: &Path) -> Result<()> {
        for name in entries(folder) {
            let path = folder.join(name);
            if !self.nodes.contains_key(path.as_os_str()) {
                self.meet(&path)?;
            }
        }
        Ok(())
    }

    /// Notes that `old` is about to get the name `new`. Says whether it is a folder.
    pub fn rename(&mut self, old: &Path, new: &Path) -> Result<bool> {
        let is_folder = fs::symlink_metadata(old).is_ok_and(|metadata| metadata.is_dir());
        if is_folder {
            self.whole(old)?;
        }
        if let Some(node) = self.nodes.get_mut(old.as_os_str()) {
            node.existed = true;
        }
        self.moves.push((old.to_owned(), new.to_owned()));
        Ok(is_folder)
    }

    /// Notes that another folder has this name now.
    pub fn replaced(&mut self, path: &Path) {
        if let Some(node) = self.nodes.get_mut(path.as_os_str()) {
            node.replaced = true;
        }
    }

    /// Notes all that a folder holds, since it is needed under another name.
    fn whole(&mut self, folder: &Path) -> Result<()> {
        for name in entries(folder) {
            let path = folder.join(name);
            self.touch(&path, Use::Away)?;
            if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
                self.whole(&path)?;
            }
        }
        Ok(())
    }

    /// Saves what the file at `path` holds, if it is from before. `ends` says that the name is the file's last.
    fn before_change(&mut self, path: &Path, ends: bool) -> Result<()> {
        let metadata = if ends { fs::symlink_metadata(path) } else { fs::metadata(path) };
        let Ok(metadata) = metadata else { return Ok(()) };
        if let Some(node) = self.nodes.get_mut(path.as_os_str()) {
            node.existed = true;
        }
        if !metadata.is_file() {
            return Ok(());
        }
        if let Some(node) = self.nodes.get_mut(path.as_os_str()) {
            node.grown = node.grown.max(metadata.len());
        }
        let Some(original) = self.unsaved.remove(&identity(&metadata)) else { return Ok(()) };
        // Sizes of files that the command wrote are counted when it has ended.
        if let Some(node) = self.nodes.get_mut(original.as_os_str()) {
            node.grown = 0;
        }
        self.count(&original, metadata.len())?;
        self.copies += 1;
        let copy = self.spool.join(self.copies.to_string());
        let linked = ends && metadata.nlink() == 1 && fs::hard_link(path, &copy).is_ok();
        if !linked {
            fs::copy(path, &copy).map_err(Refusal::input(format!("{}", original.display())))?;
        }
        let node = self.nodes.get_mut(original.as_os_str()).expect("it is in the index");
        node.saved = Some(copy);
        Ok(())
    }

    /// Refuses when what is kept becomes too large.
    pub fn count(&mut self, path: &Path, size: u64) -> Result<()> {
        self.kept.push((size, path.to_owned()));
        self.total += size;
        let limit = self.limit;
        if self.total <= limit {
            return Ok(());
        }
        self.kept.sort_by(|a, b| b.cmp(a));
        let shown: Vec<String> =
            self.kept.iter().take(3).map(|(size, path)| format!("{} ({})", path.display(), Bytes(*size))).collect();
        Err(Refusal::TooLarge { limit, largest: shown.join(", ") })
    }

    /// Starts to count anew: what was saved is counted again with all others.
    pub fn recount(&mut self) {
        self.kept.clear();
        self.total = 0;
    }

    /// Where the contents are that a file had before.
    pub fn contents(&self, path: &Path, node: &Node) -> Result<PathBuf> {
        if let Some(saved) = &node.saved {
            return Ok(saved.clone());
        }
        let mut now = path.to_owned();
        let mut places = vec![now.clone()];
        for (old, new) in &self.moves {
            if let Ok(below) = now.strip_prefix(old) {
                now = match below.as_os_str().is_empty() {
                    true => new.clone(),
                    false => new.join(below),
                };
                places.push(now.clone());
            }
        }
        let is_same = |place: &PathBuf| {
            fs::symlink_metadata(place)
                .is_ok_and(|metadata| identity(&metadata) == node.identity && metadata.len() == node.size)
        };
        if let Some(place) = places.into_iter().rev().find(is_same) {
            return Ok(place);
        }
        // Another name of the same file was saved, before it changed.
        let other = self.nodes.values().find(|other| other.saved.is_some() && other.identity == node.identity);
        other.and_then(|other| other.saved.clone()).ok_or_else(|| Refusal::Changed(path.to_owned()))
    }

    /// Counts what is there of what the command wrote, now that it has ended.
    pub fn finish(&mut self) {
        for (path, node) in self.nodes.iter_mut().filter(|(_, node)| node.uses.made) {
            match fs::symlink_metadata(path) {
                Ok(metadata) if metadata.is_file() => node.grown = node.grown.max(metadata.len()),
                Ok(_) => {}
                // It was tried and failed, unless it was seen before it was removed.
                Err(_) => node.uses.made = node.existed,
            }
        }
    }
}

impl Node {
    fn new(path: &Path, metadata: Option<&Metadata>) -> Node {
        let before = match metadata {
            None => Before::Absent,
            Some(metadata) if metadata.is_dir() => Before::Folder,
            Some(metadata) if metadata.is_file() => Before::File,
            Some(metadata) if metadata.is_symlink() => fs::read_link(path).map_or(Before::Special, Before::Link),
            Some(_) => Before::Special,
        };
        Node {
            before,
            uses: Uses::default(),
            mode: metadata.map_or(0, |metadata| metadata.mode() & 0o7777),
            modified: metadata.map_or(0, MetadataExt::mtime),
            size: metadata.map_or(0, |metadata| if metadata.is_file() { metadata.len() } else { 0 }),
            identity: metadata.map_or((0, 0), identity),
            saved: None,
            replaced: false,
            existed: false,
            grown: 0,
        }
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// The names in a folder, in order; none if it is none or cannot be read.
fn entries(folder: &Path) -> Vec<OsString> {
    let mut names: Vec<OsString> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name())
        .filter(|name| name != OsStr::new(".") && name != OsStr::new(".."))
        .collect();
    names.sort();
    names
}
