//! What a run must put back, written down for the case that the run is killed.
//!
//! Mounts, tasks and images without a name vanish with the processes of a run. What may stay is a loop device that a
//! hanging process holds, and test data in the user's own image file.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::loops::{self, FileId};
use crate::cache::{self, Lock};

/// The folder in the cache.
const FOLDER: &str = "undo";

/// What one run has changed and not yet put back. Its lock is held for as long as the run lives, also in another
/// container, where process numbers mean something else.
pub struct Journal {
    path: PathBuf,
    entries: Mutex<Entries>,
    _lock: Lock,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Entries {
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
    /// When it was made, in nanoseconds since 1970, where the file system knows: a file that is made anew under its name
    /// may get its inode.
    pub born: Option<u128>,
    /// Its size before.
    pub size: u64,
}

impl OwnImage {
    /// The open file at `path`, as it is.
    pub fn of(path: PathBuf, file: &File) -> Result<OwnImage> {
        Ok(OwnImage { path, id: FileId::of(file)?, born: born(file), size: file.metadata()?.len() })
    }

    /// Makes it what it was: nothing but zeroes. False, and nothing changed, if another file has its name now.
    pub fn give_back(&self) -> Result<bool> {
        let file = OpenOptions::new().write(true).open(&self.path);
        let file = file.with_context(|| format!("cannot write {}", self.path.display()))?;
        let (id, born) = (FileId::of(&file)?, born(&file));
        // A file system may have another device number after a start of the machine.
        let is_same = id.inode == self.id.inode && born == self.born && (born.is_some() || id == self.id);
        if is_same {
            file.set_len(0).and_then(|()| file.set_len(self.size))?;
        }
        Ok(is_same)
    }
}

fn born(file: &File) -> Option<u128> {
    let born = file.metadata().ok()?.created().ok()?;
    Some(born.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_nanos())
}

impl Journal {
    /// A journal for this process.
    pub fn open(cache: &Path) -> Result<Journal> {
        let folder = cache.join(FOLDER);
        cache::make_folder(&folder)?;
        let process = std::process::id();
        for number in 0.. {
            let path = folder.join(format!("{process}-{number}.json"));
            // One of a run that is gone keeps its name until it is undone.
            if let Some(_lock) = Lock::try_take(&path)?
                && !path.exists()
            {
                return Ok(Journal { path, entries: Mutex::default(), _lock });
            }
        }
        unreachable!("a folder does not hold all numbers")
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
            let _ = fs::remove_file(&self.path);
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

/// Puts back what killed runs of the host lab left behind, or only says so. Answers what it was, a line each, and what
/// could not be put back: its journal stays.
pub fn clean(cache: &Path, dry_run: bool) -> Vec<Result<String>> {
    let Ok(journals) = fs::read_dir(cache.join(FOLDER)) else { return Vec::new() };
    let journals = journals.flatten().map(|entry| entry.path());
    let journals = journals.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    journals
        .flat_map(|journal| {
            let mut done = Vec::new();
            let error = undo(&journal, dry_run, &mut done).err();
            done.into_iter().map(Ok).chain(error.map(Err)).collect::<Vec<_>>()
        })
        .collect()
}

fn undo(journal: &Path, dry_run: bool, done: &mut Vec<String>) -> Result<()> {
    // Its run lives.
    let Some(_lock) = Lock::try_take(journal)? else { return Ok(()) };
    let text = fs::read(journal).with_context(|| format!("cannot read {}", journal.display()))?;
    let entries: Entries = serde_json::from_slice(&text)
        .with_context(|| format!("{} is damaged; look at it and remove it", journal.display()))?;
    for (name, file) in &entries.loops {
        if !loops::is_attached(name, file) {
            continue;
        }
        if !dry_run && !loops::clear(name, file)? {
            bail!(
                "/dev/{name} of a host lab that is gone is still in use, by a process that hangs in the kernel or one that is not ours; when it has ended, `mountmark clean` goes on"
            );
        }
        done.push(format!("/dev/{name} (loop device of a host lab that is gone)"));
    }
    for image in &entries.images {
        let path = image.path.display();
        if !dry_run && let Some(name) = loops::device_of(&image.id) {
            bail!("the image {path} is in use as /dev/{name}; detach it (losetup -d /dev/{name}), then clean again");
        }
        if image.path.exists() && (dry_run || image.give_back()?) {
            done.push(format!("test data in {path} (image of a host lab that is gone)"));
        } else if image.path.exists() {
            done.push(format!("the note on {path}, which is another file now and left as it is"));
        }
    }
    if !dry_run {
        remove(journal);
    }
    Ok(())
}

/// Removes a journal with its lock, and its folder when it was the last one.
fn remove(journal: &Path) {
    let _ = fs::remove_file(journal);
    let _ = fs::remove_file(journal.with_extension("lock"));
    if let Some(folder) = journal.parent() {
        let _ = fs::remove_dir(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_image(folder: &Path) -> OwnImage {
        let path = folder.join("image");
        fs::write(&path, b"data of a test").unwrap();
        let file = File::open(&path).unwrap();
        OwnImage { size: 4096, ..OwnImage::of(path, &file).unwrap() }
    }

    #[test]
    fn a_clean_end_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let image = own_image(folder.path());
        let journal = Journal::open(folder.path()).unwrap();
        journal.add_image(image.clone()).unwrap();
        assert!(journal.path.exists());
        assert!(clean(folder.path(), false).is_empty(), "this process lives");
        drop(journal);
        assert_eq!(fs::read(&image.path).unwrap(), vec![0; 4096]);
        assert!(!folder.path().join(FOLDER).exists());
    }

    #[test]
    fn a_dead_runs_image_is_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let image = own_image(folder.path());
        let entries = Entries { images: vec![image.clone()], loops: Vec::new() };
        let path = folder.path().join(FOLDER).join("1-0.json");
        cache::write_whole(&path, &serde_json::to_vec(&entries).unwrap()).unwrap();
        // One that cannot be read keeps no other from being undone.
        let damaged = folder.path().join(FOLDER).join("0-0.json");
        cache::write_whole(&damaged, b"{").unwrap();
        let undone = |dry_run| clean(folder.path(), dry_run).iter().filter(|thing| thing.is_ok()).count();
        assert_eq!(undone(true), 1);
        assert!(path.exists());
        assert_eq!(undone(false), 1);
        assert_eq!(fs::read(&image.path).unwrap(), vec![0; 4096]);
        assert!(!path.exists());
        assert!(clean(folder.path(), false)[0].as_ref().unwrap_err().to_string().contains("0-0.json is damaged"));
    }

    #[test]
    fn another_file_of_that_name_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let image = own_image(folder.path());
        for another in [
            OwnImage { id: FileId { inode: 1, ..image.id.clone() }, ..image.clone() },
            OwnImage { born: Some(1), ..image.clone() },
            OwnImage { born: None, id: FileId { device: 1, ..image.id.clone() }, ..image.clone() },
        ] {
            assert!(!another.give_back().unwrap());
            assert_eq!(fs::read(&another.path).unwrap(), b"data of a test");
        }
        // After a start of the machine its file system may have another number.
        let moved = OwnImage { id: FileId { device: 1, ..image.id.clone() }, ..image.clone() };
        assert_eq!(moved.give_back().unwrap(), image.born.is_some());
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
