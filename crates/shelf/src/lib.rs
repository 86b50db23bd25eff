//! Cells that were measured, each under its key, so that none is measured twice.
//!
//! A cell of the virtual lab is a function of its key ([`mountmark_lab::CellKey`]). A shelf is a folder of results under
//! their keys: this user's own, in the cache, and any number of shared ones. A lab with a shelf ([`Shelved`]) takes what is
//! there, measures the rest, and measures a part of what it took again, to the bit. This crate knows no plan and no store.

mod entry;
mod folder;
mod lab;
mod verify;

pub use entry::{Entry, Figures, Measured};
pub use folder::{Access, Folder, Listed};
pub use lab::{How, Shelved};
pub use verify::Difference;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result};
use mountmark_lab::cache;

/// The number of entries of a key.
///
/// # Errors
/// One that is damaged, or two that differ.
pub fn sound(folder: &Folder, key: &str) -> Result<usize> {
    let mut entries = Vec::new();
    for (path, entry) in folder.get(key) {
        let entry = entry.with_context(|| path.display().to_string())?;
        entries.push((path, entry));
    }
    let side = |at: usize| (&entries[at].1, Some(entries[at].0.as_path()));
    (1..entries.len()).try_for_each(|at| verify::compare(side(at - 1), side(at)))?;
    Ok(entries.len())
}

/// Whether an error means that there is no room, or no right to write.
pub fn is_full(error: &anyhow::Error) -> bool {
    cache::is_no_space(error) || cache::is_barred(error)
}

/// Shelves in the order in which they are asked.
pub struct Shelf {
    /// This user's own, in the cache; `None` if it can be neither read nor made.
    own: Option<Folder>,
    shared: Vec<Folder>,
    /// What went wrong without stopping anything, as sentences.
    troubles: Mutex<Vec<String>>,
}

impl Shelf {
    /// This user's own shelf, and others. What is measured is put on each that can be written.
    ///
    /// # Errors
    /// A shared folder that is none, or is of another version.
    pub fn open(own: &Path, others: &[(PathBuf, Access)]) -> Result<Shelf> {
        // A cache that cannot be written is no obstacle.
        let own = Folder::open(own, Access::Write).or_else(|_| Folder::open(own, Access::Read)).ok();
        let shared = others.iter().map(|(path, access)| Folder::open(path, *access)).collect::<Result<_>>()?;
        Ok(Shelf { own, shared, troubles: Mutex::default() })
    }

    /// Whether an entry with this key seems to be there.
    pub fn has(&self, key: &str) -> bool {
        self.folders().any(|folder| folder.has(key))
    }

    /// The same, with what others have put there meanwhile.
    pub fn has_now(&self, key: &str) -> bool {
        self.folders().any(|folder| folder.has_now(key))
    }

    /// The entry of a key, with its file. One that is damaged, or does not fit, is as none.
    ///
    /// # Errors
    /// [`Difference`] between two that are there.
    pub fn get(&self, key: &str, fits: &dyn Fn(&Entry) -> Result<()>) -> Result<Option<(PathBuf, Entry)>> {
        let mut first: Option<(PathBuf, Entry)> = None;
        for folder in self.folders() {
            for (path, entry) in folder.get(key) {
                let entry = match entry.and_then(|entry| fits(&entry).map(|()| entry)) {
                    Ok(entry) => entry,
                    Err(error) => {
                        self.trouble(format!("{} is not used: {error:#}", path.display()));
                        continue;
                    }
                };
                match &first {
                    Some((first_path, first)) => verify::compare((first, Some(first_path)), (&entry, Some(&path)))?,
                    None => first = Some((path, entry)),
                }
            }
        }
        Ok(first)
    }

    /// Whether a shared shelf that can be written lacks an entry of this key.
    pub(crate) fn lacks(&self, key: &str) -> bool {
        self.shared.iter().any(|folder| folder.access == Access::Write && !folder.has_now(key))
    }

    /// Puts an entry on every shelf that can be written and lacks it.
    pub fn put(&self, entry: &Entry) {
        let Ok(packed) = entry.pack().map_err(|error| self.trouble(format!("a cell is not kept: {error:#}"))) else {
            return;
        };
        for folder in self.folders().filter(|folder| folder.access == Access::Write) {
            let is_own = self.own.as_ref().is_some_and(|own| std::ptr::eq(own, folder));
            if let Err(error) = folder.put(&packed)
                && !(is_own && cache::bars(&error))
            {
                self.trouble(format!("a cell is not kept on {}: {error:#}", folder.path.display()));
            }
        }
    }

    /// Notes that an entry of this user's own shelf was used.
    pub(crate) fn used(&self, entry: &Entry) {
        if let Some(own) = &self.own {
            own.mark_used(&entry.key.sha256);
        }
    }

    /// Keeps this user's own shelf below a size.
    pub(crate) fn evict(&self, bytes: u64) {
        if let Some(own) = self.own.as_ref().filter(|own| own.access == Access::Write)
            && let Err(error) = own.prune(bytes, None)
        {
            self.trouble(format!("cells on {} cannot be evicted: {error}", own.path.display()));
        }
    }

    /// All that are asked, in this order.
    fn folders(&self) -> impl Iterator<Item = &Folder> {
        self.own.iter().chain(&self.shared)
    }

    fn trouble(&self, text: String) {
        let mut troubles = self.troubles.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !troubles.contains(&text) {
            troubles.push(text);
        }
    }

    /// What went wrong without stopping anything, as sentences, each once.
    pub fn troubles(&self) -> Vec<String> {
        std::mem::take(&mut self.troubles.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}
