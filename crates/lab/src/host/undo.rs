//! What a run must put back, written down before it is done, for the case that the run is killed.
//!
//! Mounts, tasks and images without a name vanish with the processes of a run. What may stay is a loop device that a
//! hanging process holds, and test data in the user's own image file.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::loops::{self, FileId};
use crate::cache;

/// The folder in the cache.
const FOLDER: &str = "undo";

/// What one run has changed and not yet put back.
pub struct Journal {
    path: PathBuf,
    entries: Mutex<Entries>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Entries {
    /// When the process started, in the kernel's ticks: process numbers are used again.
    started: u64,
    images: Vec<OwnImage>,
    loops: Vec<(String, FileId)>,
}

/// An image file of the user's, which is given back empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnImage {
    /// Where it is.
    pub path: PathBuf,
    /// Which it is.
    pub id: FileId,
    /// Its size before.
    pub size: u64,
}

impl OwnImage {
    /// Makes it what it was: nothing but zeroes.
    pub fn give_back(&self) -> Result<()> {
        let file = OpenOptions::new().write(true).open(&self.path);
        let file = file.with_context(|| format!("cannot write {}", self.path.display()))?;
        if FileId::of(&file)? == self.id {
            file.set_len(0).and_then(|()| file.set_len(self.size))?;
        }
        Ok(())
    }
}

impl Journal {
    /// The journal of this process.
    pub fn open(cache: &Path) -> Journal {
        let process = std::process::id();
        let entries = Entries { started: start_time(process).unwrap_or(0), ..Entries::default() };
        Journal { path: cache.join(FOLDER).join(format!("{process}.json")), entries: Mutex::new(entries) }
    }

    /// A file of the user's is going to be written.
    pub fn add_image(&self, image: OwnImage) -> Result<()> {
        self.change(|entries| entries.images.push(image))
    }

    /// A loop device was attached.
    pub fn add_loop(&self, name: &str, file: &FileId) -> Result<()> {
        self.change(|entries| entries.loops.push((name.to_owned(), file.clone())))
    }

    /// A loop device is detached.
    pub fn remove_loop(&self, name: &str) -> Result<()> {
        self.change(|entries| entries.loops.retain(|(other, _)| other != name))
    }

    fn change(&self, change: impl FnOnce(&mut Entries)) -> Result<()> {
        let mut entries = self.lock();
        change(&mut entries);
        if entries.images.is_empty() && entries.loops.is_empty() {
            remove(&self.path);
            return Ok(());
        }
        cache::write_whole(&self.path, &serde_json::to_vec_pretty(&*entries)?)
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let entries = self.lock();
        // A device that could not be detached keeps the journal, and what lies on the device.
        if entries.loops.is_empty() && entries.images.iter().all(|image| image.give_back().is_ok()) {
            remove(&self.path);
        }
    }
}

/// Puts back what killed runs of the host lab left behind, or only says so. Answers what is or was there, a line each.
pub fn clean(cache: &Path, dry_run: bool) -> Result<Vec<String>> {
    let mut done = Vec::new();
    let Ok(journals) = fs::read_dir(cache.join(FOLDER)) else { return Ok(done) };
    for journal in journals.flatten().map(|entry| entry.path()) {
        let process = journal.file_stem().and_then(|name| name.to_string_lossy().parse::<u32>().ok());
        let Some(process) = process else { continue };
        let text = fs::read(&journal).with_context(|| format!("cannot read {}", journal.display()))?;
        let entries: Entries = serde_json::from_slice(&text)
            .with_context(|| format!("{} is damaged; look at it and remove it", journal.display()))?;
        if start_time(process) == Some(entries.started) {
            continue;
        }
        for (name, file) in &entries.loops {
            if loops::is_attached(name, file) {
                if !dry_run {
                    loops::clear(name)?;
                }
                done.push(format!("/dev/{name} (loop device of a host lab that is gone)"));
            }
        }
        for image in &entries.images {
            if image.path.exists() {
                if !dry_run {
                    image.give_back()?;
                }
                done.push(format!("test data in {} (image of a host lab that is gone)", image.path.display()));
            }
        }
        if !dry_run {
            remove(&journal);
        }
    }
    Ok(done)
}

/// Removes a journal, and its folder when it was the last one.
fn remove(journal: &Path) {
    let _ = fs::remove_file(journal);
    if let Some(folder) = journal.parent() {
        let _ = fs::remove_dir(folder);
    }
}

/// When a living process started, in ticks since boot: field 22 of /proc/PID/stat.
fn start_time(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    if fields.first() == Some(&"Z") { None } else { fields.get(19)?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_image(folder: &Path) -> OwnImage {
        let path = folder.join("image");
        fs::write(&path, b"data of a test").unwrap();
        let id = FileId::of(&fs::File::open(&path).unwrap()).unwrap();
        OwnImage { path, id, size: 4096 }
    }

    #[test]
    fn a_clean_end_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let image = own_image(folder.path());
        let journal = Journal::open(folder.path());
        journal.add_image(image.clone()).unwrap();
        assert!(journal.path.exists());
        assert!(clean(folder.path(), false).unwrap().is_empty(), "this process lives");
        drop(journal);
        assert_eq!(fs::read(&image.path).unwrap(), vec![0; 4096]);
        assert!(!folder.path().join(FOLDER).exists());
    }

    #[test]
    fn a_dead_runs_image_is_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let image = own_image(folder.path());
        let entries = Entries { started: 0, images: vec![image.clone()], loops: Vec::new() };
        let path = folder.path().join(FOLDER).join(format!("{}.json", std::process::id()));
        cache::write_whole(&path, &serde_json::to_vec(&entries).unwrap()).unwrap();
        assert_eq!(clean(folder.path(), true).unwrap().len(), 1);
        assert!(path.exists());
        assert_eq!(clean(folder.path(), false).unwrap().len(), 1);
        assert_eq!(fs::read(&image.path).unwrap(), vec![0; 4096]);
        assert!(!path.exists());
        // Another file of that name is left alone.
        fs::remove_file(&image.path).unwrap();
        fs::write(folder.path().join("other"), b"").unwrap();
        fs::write(&image.path, b"another").unwrap();
        let another = OwnImage { id: FileId { inode: 1, ..image.id }, ..image };
        another.give_back().unwrap();
        assert_eq!(fs::read(&another.path).unwrap(), b"another");
    }
}
