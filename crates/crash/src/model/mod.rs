//! A file system in memory: what a workload makes of an empty one if nothing fails.
//!
//! Inodes have an identity that names come and go from. Replayed twice, a workload gives the same identities.

mod apply;
mod data;

use std::collections::{BTreeMap, BTreeSet};

pub use apply::{Reason, Refusal};
pub use data::Data;

use crate::tree::{Entry, Kind, Tree};

/// The identity of an inode, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(usize);

impl Id {
    pub const ROOT: Id = Id(0);
}

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dirent {
    pub folder: Id,
    pub name: String,
}

/// How the root is written in paths of operations.
pub const ROOT: &str = ".";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub kind: Kind,
    /// Permission bits; `None` where umask or file system choose them.
    pub mode: Option<u32>,
    /// Of the name space `user`.
    pub xattrs: BTreeMap<String, String>,
    /// As in [`Entry`].
    pub target: Option<String>,
    /// Of a plain file.
    pub data: Data,
    /// Of a folder.
    pub entries: BTreeMap<String, Id>,
}

impl Node {
    fn new(kind: Kind) -> Node {
        let (mode, target, data, entries) = Default::default();
        Node { kind, mode, xattrs: BTreeMap::new(), target, data, entries }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// By identity. Inodes without names stay.
    nodes: Vec<Node>,
    /// Open files, which may have no name.
    handles: BTreeMap<String, Id>,
}

impl Default for Model {
    fn default() -> Model {
        Model { nodes: vec![Node::new(Kind::Folder)], handles: BTreeMap::new() }
    }
}

impl Model {
    /// `None` if it is not made yet.
    pub fn node(&self, id: Id) -> Option<&Node> {
        self.nodes.get(id.0)
    }

    /// All inodes that there ever were.
    pub fn ids(&self) -> impl Iterator<Item = Id> + use<> {
        (0..self.nodes.len()).map(Id)
    }

    /// What is at a path or handle.
    pub fn find(&self, path: &str) -> Option<Id> {
        if path == ROOT {
            return Some(Id::ROOT);
        }
        if let Some(&id) = self.handles.get(path) {
            return Some(id);
        }
        path.split('/').try_fold(Id::ROOT, |folder, name| self.nodes[folder.0].entries.get(name).copied())
    }

    pub fn get(&self, dirent: &Dirent) -> Option<Id> {
        self.node(dirent.folder)?.entries.get(&dirent.name).copied()
    }

    /// The name that a path stands for, if its folder is there.
    pub fn dirent(&self, path: &str) -> Option<Dirent> {
        let (folder, name) = path.rsplit_once('/').unwrap_or((ROOT, path));
        let folder = self.find(folder).filter(|folder| self.nodes[folder.0].kind == Kind::Folder)?;
        Some(Dirent { folder, name: name.to_owned() })
    }

    /// All names of an inode.
    pub fn names(&self, id: Id) -> BTreeSet<Dirent> {
        let folders = self.nodes.iter().enumerate();
        let names = folders.flat_map(|(folder, node)| {
            let own = node.entries.iter().filter(|(_, held)| **held == id);
            own.map(move |(name, _)| Dirent { folder: Id(folder), name: name.clone() })
        });
        names.collect()
    }

    /// Everything below the root by path, folders before what is in them.
    pub fn paths(&self) -> Vec<(String, Id)> {
        let mut paths = Vec::new();
        self.walk(Id::ROOT, "", &mut paths);
        paths
    }

    fn walk(&self, folder: Id, prefix: &str, paths: &mut Vec<(String, Id)>) {
        for (name, &id) in &self.nodes[folder.0].entries {
            let path = format!("{prefix}{name}");
            paths.push((path.clone(), id));
            self.walk(id, &format!("{path}/"), paths);
        }
    }

    /// What a guest would find if all of this were on the disk.
    pub fn tree(&self) -> Tree {
        let mut entries: Vec<Entry> = self.paths().into_iter().map(|(path, id)| self.entry(path, id)).collect();
        entries.sort_by(|one, other| one.path.cmp(&other.path));
        Tree { entries, unreadable: Vec::new() }
    }

    fn entry(&self, path: String, id: Id) -> Entry {
        let node = &self.nodes[id.0];
        Entry {
            path,
            inode: id.0 as u64 + 1,
            kind: node.kind,
            mode: node.mode.unwrap_or(0o755),
            links: if node.kind == Kind::Folder { 2 } else { self.names(id).len() as u64 },
            size: node.data.size(),
            xattrs: node.xattrs.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            target: node.target.clone(),
            runs: node.data.runs(),
            error: None,
        }
    }
}
