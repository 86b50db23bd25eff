//! Finds what killed runs left behind, or the whole cache, to remove it.
//!
//! Finding changes nothing. It finds only what certainly belongs to this program: guests by their command line and a
//! missing parent, folders by the owner in their name, half-made entries of a cache by a lock that no process holds. It
//! never follows symbolic links.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use mountmark_model::format_bytes;

use crate::cache::lock::{self, InUse, Lock};
use crate::cache::own::{self, FOLDERS, Folder, JOURNALS, TAG, file_name};

mod process;
#[cfg(test)]
mod tests;

/// Names of files being written into the cache begin with these: those of the crate tempfile and of corpora.
const PARTIAL_PREFIXES: [&str; 2] = [".tmp", ".partial-"];
/// A folder without a lock, as older versions made, is a leftover if its owner has not written to it for so long.
const GRACE: Duration = Duration::from_secs(60);
/// Folders of the cache whose entries are made under a lock, and the file written last in each.
const ENTRIES: [(&str, &str); 4] = [
    ("contents", "contents.json"),
    ("images", "image.json"),
    ("packages", ".complete"),
    ("snapshots", "snapshot.json"),
];
#[derive(Debug)]
pub struct Leftover {
    kind: Kind,
    about: String,
}

#[derive(Debug)]
enum Kind {
    Guest(i32),
    Path { path: PathBuf, guard: Guard },
}

/// The check, at the time of removal, that a thing is not in use.
#[derive(Clone, Copy, Debug)]
enum Guard {
    Beside,
    /// The lock on the file itself, or in the folder.
    Own,
    /// Checked before.
    None,
}

impl Leftover {
    fn path(path: PathBuf, guard: Guard, about: &str) -> Leftover {
        let about = format!("{} ({about}, {})", path.display(), format_bytes(size(&path)));
        Leftover { kind: Kind::Path { path, guard }, about }
    }

    /// A short description.
    pub fn about(&self) -> &str {
        &self.about
    }

    pub fn is_in(&self, folder: &Path) -> bool {
        matches!(&self.kind, Kind::Path { path, .. } if path.starts_with(folder))
    }

    /// Removes it; `false` if it turns out to be in use.
    pub fn remove(&self) -> Result<bool> {
        match &self.kind {
            Kind::Guest(process) => process::end_guest(*process),
            Kind::Path { path, guard } => {
                // Held until the thing is gone, so that a new run waits and makes it again.
                let held = match guard {
                    Guard::Beside => Lock::try_take(path)?,
                    Guard::Own => Lock::of_orphan(path),
                    Guard::None => None,
                };
                if held.is_none() && !matches!(guard, Guard::None) {
                    return Ok(false);
                }
                let removed = match fs::symlink_metadata(path) {
                    Ok(data) if data.is_dir() => fs::remove_dir_all(path),
                    Ok(_) => fs::remove_file(path),
                    Err(error) => Err(error),
                };
                match removed {
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
                    other => other.map(|()| true).with_context(|| format!("cannot remove {}", path.display())),
                }
            }
        }
    }
}

/// Leftovers of killed runs: guests, temporary folders, half-made cache entries.
pub fn find(cache: &Path, temporary: &Path) -> Vec<Leftover> {
    let guests = process::all().into_iter().filter(|process| process::is_orphaned_guest(*process));
    let mut found: Vec<Leftover> = guests
        .map(|process| Leftover {
            kind: Kind::Guest(process),
            about: format!("process {process} (a guest without its run)"),
        })
        .collect();
    for (path, data) in own_entries(temporary).into_iter().filter(|(_, data)| data.is_dir()) {
        let Some(owner) = process::owner(&path) else { continue };
        let about = "folder of a guest that is gone";
        match lock::has_lock(&path) {
            // Its owner may be in another PID namespace, where the number belongs to another process here.
            true if !lock::is_owned(&path) => found.push(Leftover::path(path, Guard::Own, about)),
            false if !process::is_alive_since(owner, &data) => found.push(Leftover::path(path, Guard::None, about)),
            _ => {}
        }
    }
    if matches!(own::look(cache), Folder::Cache) {
        half_made(cache, &mut found);
    }
    found
}

/// What was being written into a cache when its writer was killed.
fn half_made(cache: &Path, found: &mut Vec<Leftover>) {
    for (path, data) in own_entries(cache) {
        if data.is_file() && own::is_partial(&file_name(&path)) && !lock::is_owned(&path) {
            found.push(Leftover::path(path, Guard::Own, "never finished"));
        }
    }
    for folder in FOLDERS {
        let folder = cache.join(folder);
        if !is_real_folder(&folder) {
            continue;
        }
        for (path, data) in own_entries(&folder) {
            let name = file_name(&path);
            if !PARTIAL_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
                continue;
            }
            if data.is_dir() && !lock::has_lock(&path) {
                if is_old(&data) {
                    found.push(Leftover::path(path, Guard::None, "never finished"));
                }
            } else if !data.is_symlink() && !lock::is_owned(&path) {
                found.push(Leftover::path(path, Guard::Own, "never finished"));
            }
        }
    }
    for (kind, last) in ENTRIES {
        let folder = cache.join(kind);
        if !is_real_folder(&folder) {
            continue;
        }
        for (path, data) in own_entries(&folder) {
            let is_ours = own::is_entry(kind, &file_name(&path)) == Some(true);
            if data.is_dir() && is_ours && !path.join(last).exists() && !lock::is_held(&lock::beside(&path)) {
                found.push(Leftover::path(path, Guard::Beside, "never finished"));
            }
        }
    }
}

/// All parts of the cache folder; empty if there is no such folder. New runs wait while the returned [`InUse`] is held.
///
/// # Errors
/// A folder with foreign contents, or in use.
pub fn whole_cache(cache: &Path) -> Result<(Vec<Leftover>, InUse)> {
    let mut parts: Vec<PathBuf> = Vec::new();
    let Some(alone) = InUse::alone(cache) else {
        bail!("the cache {} is in use by a run; wait for its end or end it, then clean again", cache.display());
    };
    let strange = |path: &Path| {
        let inside = path.strip_prefix(cache).unwrap_or(path);
        format!("{} holds {inside:?}, which Mountmark did not put there; nothing was removed", cache.display())
    };
    match own::look(cache) {
        Folder::Cache => {}
        Folder::Empty => return Ok((Vec::new(), alone)),
        Folder::Strange(path) => bail!(strange(&path)),
    }
    let mut tag = None;
    for entry in fs::read_dir(cache).with_context(|| format!("cannot read {}", cache.display()))? {
        let path = entry.with_context(|| format!("cannot read {}", cache.display()))?.path();
        let name = file_name(&path);
        if name == TAG {
            tag = Some(path);
            continue;
        }
        if own::is_nobodys(&name) {
            parts.extend(own::is_partial(&name).then_some(path));
            continue;
        }
        if !FOLDERS.contains(&name.as_str()) {
            bail!(strange(&path));
        }
        if !is_real_folder(&path) {
            bail!("{} is no folder of the cache but a link or a file; nothing was removed", path.display());
        }
        parts.push(path);
    }
    parts.sort();
    for part in &parts {
        if let Some((held, _)) = own_entries(part).into_iter().find(|(path, _)| is_lock(path) && lock::is_held(path)) {
            bail!("the cache is in use ({} is locked); end the run first", held.display());
        }
    }
    // The host lab's journals are removed elsewhere, once their changes have been undone.
    parts.retain(|part| !part.ends_with(JOURNALS));
    // Last, so that what is left by an interrupted removal is known as a cache.
    parts.extend(tag);
    if let Some(process) = process::all().into_iter().find(|process| process::uses(*process, cache)) {
        bail!("the cache is in use by the guest in process {process}; end its run first");
    }
    Ok((parts.into_iter().map(|path| Leftover::path(path, Guard::None, "part of the cache")).collect(), alone))
}

fn is_real_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_dir())
}

fn is_lock(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "lock")
}

fn is_old(data: &Metadata) -> bool {
    data.modified().ok().and_then(|time| SystemTime::now().duration_since(time).ok()).is_some_and(|age| age > GRACE)
}

/// Entries of a folder that belong to this user, sorted.
fn own_entries(folder: &Path) -> Vec<(PathBuf, Metadata)> {
    let user = rustix::process::geteuid().as_raw();
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut entries: Vec<(PathBuf, Metadata)> = entries
        .flatten()
        .filter_map(|entry| Some((entry.path(), fs::symlink_metadata(entry.path()).ok()?)))
        .filter(|(_, data)| data.uid() == user)
        .collect();
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    entries
}

/// Bytes on disk, of a folder with all its contents.
fn size(path: &Path) -> u64 {
    let Ok(data) = fs::symlink_metadata(path) else { return 0 };
    let inside = match fs::read_dir(path) {
        Ok(entries) if data.is_dir() => entries.flatten().map(|entry| size(&entry.path())).sum(),
        _ => 0,
    };
    data.blocks() * 512 + inside
}
