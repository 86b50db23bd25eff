//! Cells that were measured, each under its key, so that none is measured twice.
//!
//! A cell of the virtual lab is a function of its key ([`mountmark_lab::CellKey`]). A shelf is a folder of results under
//! their keys: this user's own, in the cache, and any number of shared ones. A lab with a shelf ([`Shelved`]) takes what is
//! there, measures the rest, and measures a part of what it took again, to the bit. This crate knows no plan and no store.

mod entry;
mod folder;
mod import;
mod lab;
mod sign;
mod verify;

pub use entry::{Entry, Figures, Measured};
pub use folder::{Access, Folder, Listed, Pruned};
pub use import::{Imported, import};
pub use lab::{How, Shelved};
pub use sign::{Signed, Signer, Trust};
pub use verify::Difference;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use entry::Packed;
use mountmark_lab::cache;
use mountmark_model::counted;

/// The number of sound entries of a key, and each fault: one that is damaged, and two that differ.
pub fn sound(folder: &Folder, key: &str) -> (usize, Vec<anyhow::Error>) {
    let (mut entries, mut faults) = (Vec::new(), Vec::new());
    for (path, entry) in folder.get(key) {
        match entry.with_context(|| path.display().to_string()) {
            Ok(entry) => entries.push((path, entry)),
            Err(error) => faults.push(error),
        }
    }
    let side = |at: usize| (&entries[at].1, Some(entries[at].0.as_path()));
    let differences: Vec<anyhow::Error> =
        (1..entries.len()).filter_map(|at| verify::compare(side(at - 1), side(at)).err()).collect();
    // Which of those that differ is right, nobody knows.
    let sound = if differences.is_empty() { entries.len() } else { 0 };
    faults.extend(differences);
    (sound, faults)
}

/// Whether an error means that there is no room, or no right to write.
pub fn is_full(error: &anyhow::Error) -> bool {
    cache::is_no_space(error) || cache::is_barred(error)
}

/// What shelves have under a key.
pub struct Got {
    pub entry: Option<(PathBuf, Entry)>,
    /// Whether there is another file that cannot be used.
    pub spoilt: bool,
}

/// Shelves in the order in which they are asked.
pub struct Shelf {
    /// This user's own, in the cache; `None` if it can be neither read nor made.
    own: Option<Folder>,
    shared: Vec<Folder>,
    keys: Keys,
    /// What went wrong without stopping anything, as sentences.
    troubles: Mutex<Vec<String>>,
    /// Entries that were not used as nobody who is trusted signed them: without a signature, and signed by others.
    unsigned: AtomicUsize,
    strange: AtomicUsize,
}

/// Who signs, and whose signatures count.
#[derive(Default)]
pub struct Keys {
    /// Signs what is measured.
    pub signer: Option<Signer>,
    /// Without it, all entries are used.
    pub trust: Option<Trust>,
}

impl Shelf {
    /// This user's own shelf, and others. What is measured is put on each that can be written.
    ///
    /// # Errors
    /// A shared folder that is none, or is of another version.
    pub fn open(own: &Path, others: &[(PathBuf, Access)], keys: Keys) -> Result<Shelf> {
        // A cache that cannot be written is no obstacle.
        let own = Folder::unseen(own, Access::Write).or_else(|_| Folder::unseen(own, Access::Read)).ok();
        let shared = others.iter().map(|(path, access)| Folder::unseen(path, *access)).collect::<Result<_>>()?;
        let (unsigned, strange) = Default::default();
        let shelf = Shelf { own, shared, keys, troubles: Mutex::default(), unsigned, strange };
        for error in shelf.folders().filter_map(|folder| folder.look().err()) {
            shelf.trouble(format!("{error:#}"));
        }
        Ok(shelf)
    }

    /// Whether an entry with this key seems to be there.
    pub fn has(&self, key: &str) -> bool {
        self.folders().any(|folder| folder.has(key))
    }

    /// The same, with what others have put there meanwhile.
    pub fn has_now(&self, key: &str) -> bool {
        self.folders().any(|folder| self.has_on(folder, key))
    }

    /// The same of one of them. What cannot be seen is as what is not there, and said.
    fn has_on(&self, folder: &Folder, key: &str) -> bool {
        folder.has_now(key).unwrap_or_else(|error| {
            self.trouble(format!("{error:#}"));
            false
        })
    }

    /// Whether an entry of this key would be used, as far as signatures go.
    pub(crate) fn trusts(&self, key: &str) -> bool {
        let is_trusted = |(_, entry): (PathBuf, Result<Entry>)| entry.is_ok_and(|entry| self.is_trusted(&entry));
        self.keys.trust.is_none() || self.folders().flat_map(|folder| folder.get(key)).any(is_trusted)
    }

    /// The entry of a key, with its file, and whether there is another one that is damaged or does not fit, which is as none.
    ///
    /// # Errors
    /// [`Difference`] between two that are there.
    pub fn get(&self, key: &str, fits: &dyn Fn(&Entry) -> Result<()>) -> Result<Got> {
        let (mut first, mut spoilt): (Option<(PathBuf, Entry)>, bool) = (None, false);
        for folder in self.folders() {
            for (path, entry) in folder.get(key) {
                if let Ok(entry) = &entry
                    && !self.is_trusted(entry)
                {
                    let count = if entry.signed.is_some() { &self.strange } else { &self.unsigned };
                    count.fetch_add(1, Ordering::Relaxed);
                    spoilt = true;
                    continue;
                }
                let entry = match entry.and_then(|entry| fits(&entry).map(|()| entry)) {
                    Ok(entry) => entry,
                    Err(error) => {
                        self.trouble(format!("{} is not used: {error:#}", path.display()));
                        spoilt = true;
                        continue;
                    }
                };
                match &first {
                    Some((first_path, first)) => verify::compare((first, Some(first_path)), (&entry, Some(&path)))?,
                    None => first = Some((path, entry)),
                }
            }
        }
        Ok(Got { entry: first, spoilt })
    }

    /// Whether a shared shelf that can be written lacks an entry of this key.
    pub(crate) fn lacks(&self, key: &str) -> bool {
        self.shared.iter().any(|folder| folder.access == Access::Write && !self.has_on(folder, key))
    }

    /// Whether somebody who is trusted signed it, if that is asked for.
    fn is_trusted(&self, entry: &Entry) -> bool {
        self.keys.trust.as_ref().is_none_or(|trust| trust.takes(entry))
    }

    /// Puts what was measured on every shelf that can be written and lacks it, signed if there is a key.
    pub fn put_new(&self, entry: &Entry) {
        self.put_packed(match &self.keys.signer {
            Some(signer) => entry.pack_signed(signer),
            None => entry.pack(),
        });
    }

    /// Puts an entry on every shelf that can be written and lacks it.
    pub fn put(&self, entry: &Entry) {
        self.put_packed(entry.pack());
    }

    fn put_packed(&self, packed: Result<Packed>) {
        let Ok(packed) = packed.map_err(|error| self.trouble(format!("a cell is not kept: {error:#}"))) else {
            return;
        };
        for folder in self.folders().filter(|folder| folder.access == Access::Write) {
            let is_own = self.own.as_ref().is_some_and(|own| std::ptr::eq(own, folder));
            if let Err(error) = folder.put(&packed, &|entry| self.is_trusted(entry))
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
        let [unsigned, strange] = [&self.unsigned, &self.strange].map(|count| count.swap(0, Ordering::Relaxed));
        if unsigned + strange > 0 {
            self.trouble(format!(
                "{} not used, as no key of --trust signed {}: {unsigned} without a signature, {strange} signed by others",
                counted(unsigned + strange, "cell"),
                if unsigned + strange == 1 { "it" } else { "them" }
            ));
        }
        std::mem::take(&mut self.troubles.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}
