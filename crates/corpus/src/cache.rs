//! The cache of finished tars: decides which can be used again, and adds new ones atomically.
//!
//! `NAME-KEY.json` beside each `NAME-KEY.tar` has the source of the tar, its contents, and its *stamp* (size, inode,
//! times) when its SHA-256 was last known to be right. A tar is used again if its size is right and its stamp is
//! unchanged; with another stamp (copied, touched, written to) it is hashed first, and generated again if the hash
//! differs. So the common case costs nothing, and a changed tar is always detected.
//!
//! When a tar is finished, those that nobody used for long are removed. This file does not know what they are for.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow};
use mountmark_model::{RealisedCorpus, format_bytes};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Keep;
use crate::input::{copy, hex};

/// Part of every identity; increase it when tars of older programs must not be used.
const LAYOUT: u32 = 1;

/// Prefix of files being written, or left by a writer that was killed.
const PARTIAL: &str = ".partial-";

/// Tars that nobody looked up or read for this long are removed: runs of then can be neither resumed nor explained.
const UNUSED: Duration = Duration::from_secs(90 * 24 * 3600);

/// The location of one tar.
pub(crate) struct Place {
    folder: PathBuf,
    stem: String,
    identity: String,
    pub(crate) keep: Keep,
}

#[derive(Serialize, Deserialize)]
struct Sidecar {
    identity: String,
    corpus: RealisedCorpus,
    stamp: Stamp,
}

#[derive(PartialEq, Serialize, Deserialize)]
struct Stamp {
    size: u64,
    device: u64,
    inode: u64,
    modified: [i64; 2],
    changed: [i64; 2],
}

impl Stamp {
    fn of(metadata: &Metadata) -> Stamp {
        Stamp {
            size: metadata.len(),
            device: metadata.dev(),
            inode: metadata.ino(),
            modified: [metadata.mtime(), metadata.mtime_nsec()],
            changed: [metadata.ctime(), metadata.ctime_nsec()],
        }
    }
}

impl Place {
    /// The place in `folder` for `identity`; `name` only makes the file easy to recognise.
    pub(crate) fn new(folder: &Path, name: &str, identity: &str, keep: Keep) -> Place {
        let identity = format!("layout {LAYOUT} {identity}");
        let key = hex(&Sha256::digest(identity.as_bytes())[..8]);
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }
        };
        let name: String = name.chars().take(40).map(plain).collect();
        let stem = format!("{}-{key}", name.trim_start_matches('.'));
        Place { folder: folder.to_owned(), stem, identity, keep }
    }

    /// The tar's path, whether it exists or not.
    pub(crate) fn tar(&self) -> PathBuf {
        self.folder.join(format!("{}.tar", self.stem))
    }

    fn sidecar(&self) -> PathBuf {
        self.folder.join(format!("{}.json", self.stem))
    }

    /// The contents of the tar, if it exists, whole and unchanged.
    pub(crate) fn look_up(&self) -> Option<RealisedCorpus> {
        let found: Sidecar = serde_json::from_slice(&fs::read(self.sidecar()).ok()?).ok()?;
        let mut file = File::open(self.tar()).ok()?;
        let metadata = file.metadata().ok()?;
        if found.identity != self.identity || !metadata.is_file() || metadata.len() != found.corpus.tar_bytes {
            return None;
        }
        if Stamp::of(&metadata) != found.stamp {
            let mut hash = Sha256::new();
            copy(&mut file, &mut hash).ok()?;
            if hex(&hash.finalize()) != found.corpus.sha256 {
                return None;
            }
            // A read-only cache still works; the tar is hashed again the next time.
            if self.keep == Keep::Yes {
                let _ = self.describe(&found.corpus);
            }
        }
        let sidecar = File::options().write(true).open(self.sidecar());
        let _ = sidecar.and_then(|file| file.set_modified(SystemTime::now()));
        Some(found.corpus)
    }

    /// Starts a new tar of `needed` bytes, if known.
    ///
    /// # Errors
    /// Too little space, or the folder cannot be created or written to.
    pub(crate) fn start(&self, needed: Option<u64>) -> Result<Partial> {
        let folder = self.folder.display();
        fs::create_dir_all(&self.folder).with_context(|| format!("cannot make the corpus cache {folder}"))?;
        sweep(&self.folder);
        if let Some(needed) = needed {
            let space = rustix::fs::statvfs(&self.folder).with_context(|| format!("cannot look at {folder}"))?;
            let free = space.f_bavail.saturating_mul(space.f_frsize);
            if free < needed {
                return Err(no_space(&self.folder, Some(needed), Some(free)));
            }
        }
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let path = self.folder.join(format!("{PARTIAL}{}-{}-{number}", self.stem, std::process::id()));
            let file = match File::options().write(true).create_new(true).open(&path) {
                Ok(file) => file,
                // A process of another PID namespace may have the same number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(explain(&self.folder, needed, error)),
            };
            // The lock keeps sweeps of other processes away. A file system without locks loses only that.
            let is_taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
            // A sweep may have removed it before the lock was taken.
            if !is_taken && is_at(&file, &path) {
                return Ok(Partial { file, path, needed, written: 0, folder: self.folder.clone() });
            }
        }
    }

    /// Moves `partial` to this place.
    pub(crate) fn finish(&self, partial: Partial, corpus: &RealisedCorpus) -> Result<()> {
        partial.persist(&self.tar())?;
        self.describe(corpus).map(|()| prune(&self.folder))
    }

    fn describe(&self, corpus: &RealisedCorpus) -> Result<()> {
        let tar = self.tar();
        let metadata = fs::metadata(&tar).with_context(|| format!("cannot read {}", tar.display()))?;
        let sidecar = Sidecar { identity: self.identity.clone(), corpus: corpus.clone(), stamp: Stamp::of(&metadata) };
        let mut partial = self.start(None)?;
        let text = serde_json::to_vec_pretty(&sidecar)?;
        partial.write_all(&text).map_err(|error| partial.explain(error))?;
        partial.persist(&self.sidecar())
    }
}

/// Whether `tar` is one of the finished tars in `folder`, whole and unchanged, with the contents `corpus`. A plan from
/// a foreign store may name any file, and only such tars are handed to a guest.
pub fn is_kept(tar: &Path, corpus: &RealisedCorpus, folder: &Path) -> bool {
    let found = || -> Option<bool> {
        let tar = fs::canonicalize(tar).ok()?;
        let stem = tar.file_name()?.to_str()?.strip_suffix(".tar")?.to_owned();
        let folder = fs::canonicalize(folder).ok().filter(|folder| tar.parent() == Some(folder))?;
        let sidecar = fs::read(folder.join(format!("{stem}.json"))).ok()?;
        let identity = serde_json::from_slice::<Sidecar>(&sidecar).ok()?.identity;
        let kept = Place { folder, stem, identity, keep: Keep::Yes }.look_up()?;
        Some(kept.sha256 == corpus.sha256 && kept.tar_bytes == corpus.tar_bytes)
    };
    found().unwrap_or(false)
}

/// A file being written; removed when dropped before its rename.
pub(crate) struct Partial {
    file: File,
    path: PathBuf,
    folder: PathBuf,
    needed: Option<u64>,
    pub(crate) written: u64,
}

impl Partial {
    /// Gives it its name.
    pub(crate) fn persist(self, path: &Path) -> Result<()> {
        // Before the rename: after a power failure a name must not exist without its bytes.
        self.file.sync_all().map_err(|error| self.explain(error))?;
        fs::rename(&self.path, path).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Converts a write error to a sentence.
    pub(crate) fn explain(&self, error: io::Error) -> anyhow::Error {
        let full = is_full(&error);
        let explained = explain(&self.folder, self.needed, error);
        match full {
            true => explained.context(format!("{} were written before it was full", format_bytes(self.written))),
            false => explained,
        }
    }
}

impl Write for Partial {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.file.write(bytes)?;
        self.written += length as u64;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After the rename the name no longer exists; ignore the error.
        let _ = fs::remove_file(&self.path);
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn explain(folder: &Path, needed: Option<u64>, error: io::Error) -> anyhow::Error {
    match is_full(&error) {
        true => no_space(folder, needed, None),
        false => anyhow!(error).context(format!(
            "cannot write to the corpus cache {}; set MOUNTMARK_CACHE to a folder that you may write",
            folder.display()
        )),
    }
}

fn no_space(folder: &Path, needed: Option<u64>, free: Option<u64>) -> anyhow::Error {
    let folder = folder.display();
    let needed = needed.map_or_else(|| "more than there is".to_owned(), format_bytes);
    let free = free.map_or_else(String::new, |free| format!(", {} are free", format_bytes(free)));
    anyhow!(
        "no space for the corpus in {folder}: it needs {needed}{free}; \
         free some there, keep the cache on a larger disk, or choose a smaller --scale"
    )
}

/// Removes files of killed writers: those that no process has locked.
fn sweep(folder: &Path) {
    let is_partial = |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(PARTIAL.as_bytes());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().filter(is_partial) {
        // Locked until it is removed, so that a writer that has just created it notices.
        if let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes tars that nobody looked up or read for long. One without its sidecar is made again.
fn prune(folder: &Path) {
    let is_long = |time: io::Result<SystemTime>| time.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > UNUSED));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for sidecar in entries.filter(|path| path.extension() == Some("json".as_ref())) {
        let tar = sidecar.with_extension("tar");
        let looked_up = fs::metadata(&sidecar).and_then(|data| data.modified());
        let read = fs::metadata(&tar).and_then(|data| data.accessed());
        if is_long(looked_up) && is_long(read) {
            let _ = fs::remove_file(&sidecar).and_then(|()| fs::remove_file(&tar));
        }
    }
}

/// Whether a file still has its name.
fn is_at(file: &File, path: &Path) -> bool {
    let id = |data: Metadata| (data.dev(), data.ino());
    file.metadata().map(id).ok() == fs::metadata(path).map(id).ok()
}

#[cfg(test)]
mod tests;
