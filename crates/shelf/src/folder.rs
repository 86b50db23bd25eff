//! A folder of entries: written, synced, renamed; no locks and no server, so that it may be on NFS or a mounted bucket.

mod listing;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};

use crate::entry::{Entry, Packed, hashes};
use listing::{Contents, contents};

/// The file that makes a folder a shelf. It holds the version of its layout.
const MARKER: &str = "mountmark-shelf";
const LAYOUT: &str = "1";
/// Most bytes of an entry's file.
pub(crate) const MOST: u64 = 64 << 20;
/// The beginning of names of files in the making.
const PARTIAL: &str = ".tmp";
/// Characters behind it.
const PARTIAL_MORE: usize = 6;
/// How long after its last change nobody makes such a file any more.
const ABANDONED: Duration = Duration::from_secs(6 * 3600);

/// Whether a shelf gets what is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

/// A shelf in a folder: entries lie in folders that have the first two digits of their keys as names.
pub struct Folder {
    pub path: PathBuf,
    pub access: Access,
    /// Names of entries, as far as they are known.
    names: Mutex<BTreeSet<String>>,
}

/// A file of a shelf in lists.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    pub path: PathBuf,
    pub bytes: u64,
    /// When it was written, or taken last from this user's own shelf.
    pub used: SystemTime,
}

/// What was removed of a shelf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    pub cells: usize,
    /// Files in the making, which killed runs left.
    pub unfinished: usize,
}

impl Folder {
    /// Opens a shelf. A folder that is missing or empty becomes one, if it is to be written.
    ///
    /// # Errors
    /// A folder with other things in it, of another version, or of which a part cannot be listed.
    pub fn open(path: &Path, access: Access) -> Result<Folder> {
        let folder = Folder::unseen(path, access)?;
        folder.look()?;
        Ok(folder)
    }

    /// The same without looking at the entries.
    pub(crate) fn unseen(path: &Path, access: Access) -> Result<Folder> {
        Folder::check(path, access, true)?;
        Ok(Folder { path: path.to_owned(), access, names: Mutex::default() })
    }

    /// Refuses what is no shelf; with `make` a shelf that is to be written is made if it is missing.
    ///
    /// # Errors
    /// As [`Folder::open`].
    pub fn check(path: &Path, access: Access, make: bool) -> Result<()> {
        let shown = path.display();
        let marker = path.join(MARKER);
        loop {
            match read(&marker, 64) {
                Ok(text) if text.trim_ascii() == LAYOUT.as_bytes() => return Ok(()),
                Ok(text) => bail!(
                    "the shelf {shown} has layout {:?}, and this version of Mountmark reads {LAYOUT}: take the version that \
                     made it, or another folder",
                    String::from_utf8_lossy(text.trim_ascii())
                ),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(|| format!("cannot use the shelf {shown}")),
            }
            match contents(path).with_context(|| format!("cannot use the shelf {shown}"))? {
                // Another process has made it meanwhile.
                Contents::Shelf => {}
                Contents::Others(name) => bail!(
                    "{shown} is no shelf, as it has other things in it, such as {name}: name a shelf, or a folder that is \
                     empty or missing"
                ),
                Contents::Nothing if access == Access::Read => {
                    bail!("there is no shelf at {shown}")
                }
                Contents::Nothing if !make => return Ok(()),
                Contents::Nothing => {
                    let make = || {
                        fs::create_dir_all(path)?;
                        place(path, &marker, format!("{LAYOUT}\n").as_bytes(), true)
                    };
                    make().with_context(|| format!("cannot make the shelf {shown}"))?;
                }
            }
        }
    }

    /// Learns which entries are there now; returns their number.
    ///
    /// # Errors
    /// A part that cannot be listed: what was known stays known, with what the other parts have.
    pub fn look(&self) -> Result<usize> {
        let context = || format!("cannot list the shelf {}", self.path.display());
        let (mut names, mut failed) = (BTreeSet::new(), None);
        for part in listing::parts(&self.path).with_context(context)? {
            match listing::names(&part) {
                Ok(found) => names.extend(found),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let mut known = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = failed {
            known.extend(names);
            return Err(error).with_context(context);
        }
        *known = names;
        Ok(known.len())
    }

    /// Keys of the entries that are known.
    pub fn keys(&self) -> BTreeSet<String> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.iter().filter_map(|name| Some(hashes(name)?.0.to_owned())).collect()
    }

    /// Whether an entry with this key is known.
    pub fn has(&self, key: &str) -> bool {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.range(key.to_owned()..).next().is_some_and(|name| name.starts_with(key))
    }

    /// The same, with what others have put there meanwhile.
    pub fn has_now(&self, key: &str) -> Result<bool> {
        Ok(self.has(key) || self.learn(key)?)
    }

    /// Looks for entries of a key; whether there is one.
    fn learn(&self, key: &str) -> Result<bool> {
        let context = || format!("cannot list the shelf {}", self.path.display());
        let mut found = listing::names(&self.part(key)).with_context(context)?;
        found.retain(|name| name.starts_with(key));
        let is_there = !found.is_empty();
        self.names.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        Ok(is_there)
    }

    fn named(&self, key: &str) -> Vec<String> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.range(key.to_owned()..).take_while(|name| name.starts_with(key)).cloned().collect()
    }

    fn part(&self, name: &str) -> PathBuf {
        self.path.join(&name[..2])
    }

    /// The entries of a key, each with its file: one, or several that differ. Others may have put one there meanwhile.
    pub fn get(&self, key: &str) -> Vec<(PathBuf, Result<Entry>)> {
        if let Err(error) = self.has_now(key) {
            return vec![(self.part(key), Err(error))];
        }
        let names = self.named(key);
        let entry = |name: String| {
            let path = self.part(&name).join(&name);
            match Entry::read(&path) {
                // It was evicted or removed.
                Err(error) if is_missing(&error) => None,
                entry => Some((path, entry)),
            }
        };
        names.into_iter().filter_map(entry).collect()
    }

    /// Writes an entry, unless the same one is there and is `good`.
    pub fn put(&self, packed: &Packed, good: &dyn Fn(&Entry) -> bool) -> io::Result<()> {
        self.keep((&packed.name, &packed.bytes), true, good).map(drop)
    }

    /// Puts an entry's file without waiting for the disk; false if the same one is there. A power cut may leave it damaged, which
    /// is found when it is read.
    pub(crate) fn take(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        self.keep((name, bytes), false, &|_| true)
    }

    /// Writes an entry's file, and waits for the disk if it is to be `synced`; false if a sound and `good` one of this name
    /// is there.
    fn keep(&self, (name, bytes): (&str, &[u8]), synced: bool, good: &dyn Fn(&Entry) -> bool) -> io::Result<bool> {
        let part = self.part(name);
        let path = part.join(name);
        let is_new = !Entry::read(&path).is_ok_and(|entry| good(&entry));
        if is_new {
            fs::create_dir_all(&part)?;
            place(&part, &path, bytes, synced)?;
        }
        self.names.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        Ok(is_new)
    }

    /// Waits until all that was written is on the disk.
    pub fn sync(&self) -> Result<()> {
        let folder = File::open(&self.path).with_context(|| format!("cannot open {}", self.path.display()))?;
        rustix::fs::syncfs(&folder).with_context(|| format!("cannot write {} to its disk", self.path.display()))
    }

    /// The files of all entries, in the order of their keys.
    pub fn paths(&self) -> Vec<PathBuf> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.iter().map(|name| self.part(name).join(name)).collect()
    }

    /// All entries, in the order of their keys.
    pub fn list(&self) -> io::Result<Vec<Listed>> {
        let mut all = Vec::new();
        for path in self.paths() {
            match fs::metadata(&path).and_then(|data| Ok((data.len(), data.modified()?))) {
                Ok((bytes, used)) => all.push(Listed { path, bytes, used }),
                // It was evicted or removed.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(listing::at(&path, &error)),
            }
        }
        Ok(all)
    }

    /// Marks an entry as used, so that it is evicted later.
    pub fn mark_used(&self, key: &str) {
        for name in self.named(key) {
            // On a shelf that cannot be written this fails, without harm.
            let file = File::options().write(true).open(self.part(&name).join(&name));
            let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
        }
    }

    /// Removes the entries that were used least lately, until at most `bytes` are left, and those not used for `age`; and what
    /// killed runs left.
    pub fn prune(&self, bytes: u64, age: Option<Duration>) -> io::Result<Pruned> {
        let unfinished = self.sweep()?;
        let mut listed = self.list()?;
        listed.sort_by_key(|entry| std::cmp::Reverse(entry.used));
        let (mut total, mut cells) = (0, 0);
        for entry in listed {
            total += entry.bytes;
            let is_old = age.is_some_and(|age| entry.used.elapsed().is_ok_and(|unused| unused > age));
            if total > bytes || is_old {
                remove(&entry.path)?;
                cells += 1;
                if let Some(name) = entry.path.file_name().and_then(|name| name.to_str()) {
                    self.names.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
                }
            }
        }
        Ok(Pruned { cells, unfinished })
    }

    /// Removes files in the making that nobody makes any more; returns how many.
    fn sweep(&self) -> io::Result<usize> {
        let mut removed = 0;
        for folder in listing::parts(&self.path)?.into_iter().chain([self.path.clone()]) {
            for entry in listing::entries(&folder)? {
                let name = entry.file_name();
                let is_ours = name.to_str().and_then(|name| name.strip_prefix(PARTIAL)).is_some_and(|more| {
                    more.len() == PARTIAL_MORE && more.bytes().all(|sign| sign.is_ascii_alphanumeric())
                });
                let Ok(data) = entry.metadata() else { continue };
                let is_old = data.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > ABANDONED));
                if is_ours && is_old && data.is_file() {
                    remove(&entry.path())?;
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }
}

/// Removes a file, unless another process did.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn is_missing(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::NotFound)
}

/// A regular file of at most `most` bytes.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = mountmark_input::open(path)?;
    // Room for all of it and the end, which is looked for.
    let mut bytes = Vec::with_capacity((file.metadata()?.len().min(most) + 1) as usize);
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// Writes a file completely or not at all; even on a power failure if it is to be `synced`, which waits for the disk.
fn place(folder: &Path, path: &Path, bytes: &[u8], synced: bool) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let readable = fs::Permissions::from_mode(0o644);
    let mut new = tempfile::Builder::new();
    let mut file = new.prefix(PARTIAL).rand_bytes(PARTIAL_MORE).permissions(readable).tempfile_in(folder)?;
    file.write_all(bytes)?;
    if synced {
        file.as_file().sync_all()?;
    }
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests;
