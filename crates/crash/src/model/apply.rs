//! What each operation does, and why it may be refused.

use std::fmt;

use super::{Data, Dirent, Id, Model, Node, ROOT};
use crate::tree::{Kind, node_target};
use crate::workload::{Device, Fallocation, Op, Renaming, Writing};

/// Why an operation cannot work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub path: String,
    pub reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Missing,
    Exists,
    NotFolder,
    NotFile,
    Folder,
    NotEmpty,
    Inside,
    Handle,
    NoHandle,
    Beyond,
    Unaligned,
    NoAttribute,
    Root,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Missing => "nothing is there",
            Reason::Exists => "something is there already",
            Reason::NotFolder => "it is not a folder",
            Reason::NotFile => "it is not a plain file",
            Reason::Folder => "it is a folder",
            Reason::NotEmpty => "the folder is not empty",
            Reason::Inside => "a folder cannot go into itself",
            Reason::Handle => "a handle has no name here: link it first",
            Reason::NoHandle => "a handle is written # and a name, such as #1",
            Reason::Beyond => "the range is not within the file",
            Reason::Unaligned => "the range must begin and end at a multiple of 4,096 bytes",
            Reason::NoAttribute => "it has no such attribute",
            Reason::Root => "this cannot be done to the root",
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

impl std::error::Error for Refusal {}

/// What direct requests, and ranges that move others, must be multiples of: the block size of most file systems.
const BLOCK: u64 = 4096;

fn refuse<T>(path: &str, reason: Reason) -> Result<T, Refusal> {
    Err(Refusal { path: path.to_owned(), reason })
}

impl Model {
    /// Does what `op`, the operation of this number, does.
    ///
    /// # Errors
    /// Why it cannot; nothing has changed then.
    pub fn apply(&mut self, number: u16, op: &Op) -> Result<(), Refusal> {
        match op {
            Op::Create { path } => {
                let dirent = self.free(path)?;
                self.make(Kind::File, Some(0o644), Some(dirent));
            }
            Op::Mkdir { path } => {
                let dirent = self.free(path)?;
                self.make(Kind::Folder, None, Some(dirent));
            }
            Op::Symlink { target, path } => {
                let dirent = self.free(path)?;
                let id = self.make(Kind::Symlink, None, Some(dirent));
                self.nodes[id.0].target = Some(target.clone());
            }
            Op::Mkfifo { path } => {
                let dirent = self.free(path)?;
                self.make(Kind::Fifo, Some(0o644), Some(dirent));
            }
            Op::Mknod { path, device, major, minor } => {
                let dirent = self.free(path)?;
                let id = self.make(Kind::DeviceNode, Some(0o644), Some(dirent));
                self.nodes[id.0].target = Some(node_target(*device == Device::Block, *major, *minor));
            }
            Op::Tmpfile { folder, handle } => {
                let id = self.there(folder)?;
                if self.nodes[id.0].kind != Kind::Folder {
                    return refuse(folder, Reason::NotFolder);
                }
                self.free_handle(handle)?;
                let id = self.make(Kind::File, None, None);
                self.handles.insert(handle.clone(), id);
            }
            Op::Open { path, handle } => {
                self.file(path)?;
                self.free_handle(handle)?;
                let id = self.there(path)?;
                self.handles.insert(handle.clone(), id);
            }
            Op::Link { from, to } => {
                let id = self.there(from)?;
                if self.nodes[id.0].kind == Kind::Folder {
                    return refuse(from, Reason::Folder);
                }
                let dirent = self.free(to)?;
                self.put(dirent, Some(id));
            }
            Op::Unlink { path } => {
                let (dirent, id) = self.named(path)?;
                if self.nodes[id.0].kind == Kind::Folder {
                    return refuse(path, Reason::Folder);
                }
                self.put(dirent, None);
            }
            Op::Rmdir { path } => {
                let (dirent, id) = self.named(path)?;
                let node = &self.nodes[id.0];
                if node.kind != Kind::Folder {
                    return refuse(path, Reason::NotFolder);
                }
                if !node.entries.is_empty() {
                    return refuse(path, Reason::NotEmpty);
                }
                self.put(dirent, None);
            }
            Op::Rename { from, to, how } => self.rename(from, to, *how)?,
            Op::Write { path, offset, length, how } => {
                let (node, beyond) = self.range(path, *offset, *length)?;
                if *how == Writing::Mmap && beyond {
                    return refuse(path, Reason::Beyond);
                }
                if *how == Writing::Direct && (offset % BLOCK != 0 || length % BLOCK != 0) {
                    return refuse(path, Reason::Unaligned);
                }
                node.write(number, *offset, *length);
            }
            Op::Empty { path } => self.file(path)?.resize(0),
            Op::Truncate { path, size } => self.file(path)?.resize(*size),
            Op::Fallocate { path, mode, offset, length } => self.fallocate(path, *mode, *offset, *length)?,
            Op::Clone { from, to } => {
                let data = self.file(from)?.clone();
                let other = self.file(to)?;
                // What remains of the other must begin at a block.
                if data.size() % BLOCK != 0 && other.size() > data.size() {
                    return refuse(from, Reason::Unaligned);
                }
                other.share(&data);
            }
            Op::SetXattr { path, name, value } => {
                // Names of the name space `user` are for files and folders.
                let id = self.there(path)?;
                if self.nodes[id.0].kind != Kind::File && self.nodes[id.0].kind != Kind::Folder {
                    return refuse(path, Reason::NotFile);
                }
                self.nodes[id.0].xattrs.insert(name.clone(), value.clone());
            }
            Op::RemoveXattr { path, name } => {
                let id = self.there(path)?;
                if self.nodes[id.0].xattrs.remove(name).is_none() {
                    return refuse(path, Reason::NoAttribute);
                }
            }
            Op::Chmod { path, mode } => {
                // It follows symbolic links, and opens nothing.
                let id = self.there(path)?;
                if self.nodes[id.0].kind == Kind::Symlink {
                    return refuse(path, Reason::NotFile);
                }
                self.nodes[id.0].mode = Some(*mode);
            }
            Op::Fsync { path } | Op::Fdatasync { path } => {
                self.opened(path)?;
            }
            Op::Lose { path } => {
                self.named(path)?;
            }
            Op::Msync { path, offset, length } => {
                if self.range(path, *offset, *length)?.1 {
                    return refuse(path, Reason::Beyond);
                }
            }
            Op::Sync | Op::Evict | Op::Idle { .. } => {}
        }
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str, how: Renaming) -> Result<(), Refusal> {
        let (source, moved) = self.named(from)?;
        let Some(target) = self.dirent(to).filter(|_| to != ROOT) else { return refuse(to, self.no_place(to)) };
        let replaced = self.get(&target);
        let (moves_folder, exchanged) = (self.nodes[moved.0].kind == Kind::Folder, how == Renaming::Exchange);
        if moves_folder && self.is_below(target.folder, moved) {
            return refuse(to, Reason::Inside);
        }
        match (how, replaced) {
            (Renaming::Exchange, None) => return refuse(to, Reason::Missing),
            (Renaming::NoReplace, Some(_)) => return refuse(to, Reason::Exists),
            (Renaming::Exchange, Some(other)) if self.is_below(source.folder, other) => {
                return refuse(from, Reason::Inside);
            }
            (Renaming::Plain | Renaming::Whiteout, Some(other)) => {
                let node = &self.nodes[other.0];
                match (moves_folder, node.kind == Kind::Folder) {
                    (true, false) => return refuse(to, Reason::NotFolder),
                    (false, true) => return refuse(to, Reason::Folder),
                    (true, true) if !node.entries.is_empty() => return refuse(to, Reason::NotEmpty),
                    _ => {}
                }
            }
            _ => {}
        }
        // Two names of one file: rename(2) does nothing.
        if replaced == Some(moved) {
            return Ok(());
        }
        let left = match how {
            Renaming::Whiteout => {
                let id = self.make(Kind::DeviceNode, None, None);
                self.nodes[id.0].target = Some(node_target(false, 0, 0));
                Some(id)
            }
            _ => replaced.filter(|_| exchanged),
        };
        self.put(source, left);
        self.put(target, Some(moved));
        Ok(())
    }

    fn fallocate(&mut self, path: &str, mode: Fallocation, offset: u64, length: u64) -> Result<(), Refusal> {
        let aligned = offset.is_multiple_of(BLOCK) && length.is_multiple_of(BLOCK);
        let data = self.file(path)?;
        let size = data.size();
        match mode {
            Fallocation::Extend => data.extend(offset + length),
            Fallocation::Keep => {}
            Fallocation::Zero => {
                data.extend(offset + length);
                data.zero(offset, length);
            }
            Fallocation::ZeroKeep | Fallocation::Punch => data.zero(offset, length),
            Fallocation::Collapse | Fallocation::Insert if !aligned => return refuse(path, Reason::Unaligned),
            Fallocation::Collapse if offset + length < size => data.collapse(offset, length),
            Fallocation::Insert if offset < size => data.insert(offset, length),
            Fallocation::Collapse | Fallocation::Insert => return refuse(path, Reason::Beyond),
        }
        Ok(())
    }

    fn make(&mut self, kind: Kind, mode: Option<u32>, dirent: Option<Dirent>) -> Id {
        let id = Id(self.nodes.len());
        self.nodes.push(Node { mode, ..Node::new(kind) });
        if let Some(dirent) = dirent {
            self.put(dirent, Some(id));
        }
        id
    }

    fn put(&mut self, dirent: Dirent, id: Option<Id>) {
        let entries = &mut self.nodes[dirent.folder.0].entries;
        match id {
            Some(id) => entries.insert(dirent.name, id),
            None => entries.remove(&dirent.name),
        };
    }

    fn there(&self, path: &str) -> Result<Id, Refusal> {
        self.find(path).map_or_else(|| refuse(path, Reason::Missing), Ok)
    }

    /// A name that can be taken away, and its inode.
    fn named(&self, path: &str) -> Result<(Dirent, Id), Refusal> {
        let id = self.there(path)?;
        match self.dirent(path) {
            _ if path == ROOT => refuse(path, Reason::Root),
            _ if path.starts_with('#') => refuse(path, Reason::Handle),
            Some(dirent) => Ok((dirent, id)),
            None => refuse(path, Reason::Missing),
        }
    }

    /// A name that is free.
    fn free(&self, path: &str) -> Result<Dirent, Refusal> {
        if path == ROOT || self.find(path).is_some() {
            return refuse(path, Reason::Exists);
        }
        if path.starts_with('#') {
            return refuse(path, Reason::Handle);
        }
        self.dirent(path).map_or_else(|| refuse(path, self.no_place(path)), Ok)
    }

    fn free_handle(&self, handle: &str) -> Result<(), Refusal> {
        match handle {
            _ if !handle.starts_with('#') => refuse(handle, Reason::NoHandle),
            _ if self.handles.contains_key(handle) => refuse(handle, Reason::Exists),
            _ => Ok(()),
        }
    }

    /// Why a path stands for no name.
    fn no_place(&self, path: &str) -> Reason {
        match path.rsplit_once('/') {
            _ if path == ROOT => Reason::Root,
            Some((folder, _)) if self.find(folder).is_some() => Reason::NotFolder,
            _ => Reason::Missing,
        }
    }

    /// What open(2) reaches: symbolic links are not followed here.
    fn opened(&self, path: &str) -> Result<Id, Refusal> {
        let id = self.there(path)?;
        match self.nodes[id.0].kind {
            Kind::File | Kind::Folder => Ok(id),
            Kind::Symlink | Kind::Fifo | Kind::DeviceNode | Kind::Other => refuse(path, Reason::NotFile),
        }
    }

    fn file(&mut self, path: &str) -> Result<&mut Data, Refusal> {
        let id = self.there(path)?;
        match self.nodes[id.0].kind {
            Kind::File => Ok(&mut self.nodes[id.0].data),
            _ => refuse(path, Reason::NotFile),
        }
    }

    /// A file, and whether a range reaches beyond its end.
    fn range(&mut self, path: &str, offset: u64, length: u64) -> Result<(&mut Data, bool), Refusal> {
        let data = self.file(path)?;
        let beyond = offset + length > data.size();
        Ok((data, beyond))
    }

    /// Whether `id` is `folder` or somewhere below it.
    fn is_below(&self, id: Id, folder: Id) -> bool {
        id == folder || self.nodes[folder.0].entries.values().any(|&held| self.is_below(id, held))
    }
}
