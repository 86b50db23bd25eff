//! The journal of what a run must put back if it is killed, always written before the change.
//!
//! Mounts, tasks and unnamed images vanish with the processes of a run. Only a loop device held by a hanging process
//! and test data in the user's own image file may stay.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use mountmark_job::loops;
use mountmark_model::Identity;
use serde::{Deserialize, Serialize};

use super::device::Made;
use super::folder::OwnFolder;
use super::group::OwnGroup;
use super::guard::Guard;
use super::own::{self, OwnImage};
use super::stack::OwnStack;
use crate::cache::{self, Lock};

pub(super) use crate::cache::own::JOURNALS as FOLDER;

/// Changes of one run that are not yet undone. Its lock is held for as long as the run lives, and works across
/// containers, where process numbers differ.
pub struct Journal {
    path: PathBuf,
    /// Prefix of the marks of the run's loop devices; unique among all users' runs.
    mark: String,
    state: Mutex<State>,
    _lock: Lock,
}

#[derive(Default)]
struct State {
    entries: Entries,
    /// Number of loop devices so far.
    marks: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
// A journal of another version must not be understood in part.
#[serde(deny_unknown_fields)]
pub(super) struct Entries {
    /// The user's image, from before it is written until it is given back.
    pub image: Option<OwnImage>,
    /// Marks of loop devices, from before they are attached until they are detached.
    pub loops: Vec<String>,
    /// Real disks, from before they are written until they are given back.
    #[serde(default)]
    pub devices: Vec<Made>,
    /// The run's folders in mounted file systems, from before they are made until they are removed.
    #[serde(default)]
    pub folders: Vec<OwnFolder>,
    /// Control groups, from before they are made until they are removed.
    #[serde(default)]
    pub groups: Vec<OwnGroup>,
    /// Layers on real disks, from before they are made until they are taken down.
    #[serde(default)]
    pub stacks: Vec<OwnStack>,
}

impl Journal {
    /// A journal for this process.
    pub fn open(cache: &Path) -> Result<Journal> {
        let folder = cache.join(FOLDER);
        cache::make_folder(&folder)?;
        let process = std::process::id();
        for number in 0.. {
            let path = folder.join(format!("{process}-{number}.json"));
            // A dead run's journal keeps its name until it is undone.
            if let Some(_lock) = Lock::try_take(&path)?
                && !path.exists()
            {
                let mark = format!("mountmark {process}-{number} {:x}", own::wall_clock());
                return Ok(Journal { path, mark, state: Mutex::default(), _lock });
            }
        }
        unreachable!("a folder does not hold all numbers")
    }

    /// Where it is, or will be once there is something to put back.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The beginning of its loop devices' marks.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// Records that a file of the user's will be written.
    pub fn add_image(&self, image: OwnImage) -> Result<()> {
        self.change(|state| state.entries.image = Some(image))
    }

    /// Whether an image has not been given back.
    pub fn has_image(&self) -> bool {
        self.lock().entries.image.is_some()
    }

    /// Records that the image has been given back.
    pub fn remove_image(&self) -> Result<()> {
        self.change(|state| state.entries.image = None)
    }

    /// Records a loop device that will be attached; returns its mark.
    pub fn add_loop(&self) -> Result<String> {
        let mut mark = String::new();
        self.change(|state| {
            state.marks += 1;
            mark = format!("{} {}", self.mark, state.marks);
            state.entries.loops.push(mark.clone());
        })?;
        Ok(mark)
    }

    /// Records that a loop device is detached.
    pub fn remove_loop(&self, mark: &str) -> Result<()> {
        self.change(|state| state.entries.loops.retain(|other| other != mark))
    }

    /// Records that a real disk will be written, or what it holds now.
    pub fn change_device(&self, made: Made) -> Result<()> {
        self.change(|state| {
            state.entries.devices.retain(|other| other.device != made.device);
            state.entries.devices.push(made);
        })
    }

    /// Whether a real disk was written and not given back.
    pub fn has_device(&self, device: &Identity) -> bool {
        self.lock().entries.devices.iter().any(|made| made.device == *device)
    }

    /// Records that a real disk has been given back.
    pub fn remove_device(&self, device: &Identity) -> Result<()> {
        self.change(|state| state.entries.devices.retain(|made| made.device != *device))
    }

    /// Records a folder that will be made.
    pub fn add_folder(&self, folder: OwnFolder) -> Result<()> {
        self.change(|state| state.entries.folders.push(folder))
    }

    /// Records that a folder is gone.
    pub fn remove_folder(&self, folder: &OwnFolder) -> Result<()> {
        self.change(|state| state.entries.folders.retain(|other| other != folder))
    }

    /// Records a control group that will be made.
    pub fn add_group(&self, group: OwnGroup) -> Result<()> {
        self.change(|state| state.entries.groups.push(group))
    }

    /// Records that a control group is gone.
    pub fn remove_group(&self, group: &OwnGroup) -> Result<()> {
        self.change(|state| state.entries.groups.retain(|other| other != group))
    }

    /// Records layers that will be made.
    pub fn add_stack(&self, stack: OwnStack) -> Result<()> {
        self.change(|state| state.entries.stacks.push(stack))
    }

    /// Records that layers are taken down.
    pub fn remove_stack(&self, stack: &OwnStack) -> Result<()> {
        self.change(|state| state.entries.stacks.retain(|other| other != stack))
    }

    /// Removes loop devices that have detached themselves, as those of failed cells do; false if one is still attached.
    pub fn forget_loops(&self) -> Result<bool> {
        let marks = self.lock().entries.loops.clone();
        for mark in &marks {
            if loops::marked(mark).is_none_or(|name| loops::is_detached_soon(&name, mark)) {
                self.remove_loop(mark)?;
            }
        }
        Ok(self.lock().entries.loops.is_empty())
    }

    fn change(&self, change: impl FnOnce(&mut State)) -> Result<()> {
        let mut state = self.lock();
        change(&mut state);
        if state.entries == Entries::default() {
            let _ = fs::remove_file(&self.path);
            return Ok(());
        }
        cache::write_whole(&self.path, &serde_json::to_vec_pretty(&state.entries)?)?;
        // The name must survive a power cut too; not every file system can sync a folder.
        let _ = self.path.parent().map(|folder| fs::File::open(folder)?.sync_all());
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Changes that could not be undone keep the journal.
        if self.lock().entries == Entries::default() {
            remove(&self.path);
        }
    }
}

/// Removes a journal with the files beside it, and its folder if that is empty.
pub(super) fn remove(journal: &Path) {
    let _ = fs::remove_file(journal);
    let _ = fs::remove_file(Guard::path(journal));
    let _ = fs::remove_file(journal.with_extension("lock"));
    if let Some(folder) = journal.parent() {
        let _ = fs::remove_dir(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_there_while_something_is_to_be_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        fs::write(&path, b"data").unwrap();
        let image = OwnImage::of(path.clone(), &fs::File::open(&path).unwrap()).unwrap();
        let journal = Journal::open(folder.path()).unwrap();
        assert!(!journal.path.exists());
        journal.add_image(image.clone()).unwrap();
        let (one, two) = (journal.add_loop().unwrap(), journal.add_loop().unwrap());
        assert!(one != two && one.len() < 64, "a loop device's name has 64 bytes: {one}");
        let entries: Entries = serde_json::from_slice(&fs::read(&journal.path).unwrap()).unwrap();
        assert_eq!(entries, Entries { image: Some(image), loops: vec![one, two], ..Entries::default() });
        assert!(journal.forget_loops().unwrap(), "they were never attached");
        assert!(journal.path.exists());
        journal.remove_image().unwrap();
        assert!(!journal.path.exists());
        drop(journal);
        assert!(!folder.path().join(FOLDER).exists());
    }

    #[test]
    fn a_journal_that_waits_to_be_undone_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(FOLDER).join(format!("{}-0.json", std::process::id()));
        cache::write_whole(&left, b"{}").unwrap();
        let journal = Journal::open(folder.path()).unwrap();
        assert_ne!(journal.path, left);
    }
}
