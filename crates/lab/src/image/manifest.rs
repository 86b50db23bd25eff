//! The manifest of an unpacked package: one line per file, with size, mode and hash, written after unpacking and kept
//! in the package's folder as `.complete`.
//!
//! Files for an image are looked up here and read through [`read`], so that a missing or changed file is noticed, and
//! only files in use are hashed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::cache::{self, Stamp};

/// The manifest's file. A package's folder without it is half-made.
pub const FILE: &str = ".complete";

/// The entry of one file or link; folders have none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Relative to the package's folder.
    path: String,
    /// Bytes; for a link, its target's length.
    size: u64,
    /// Permissions, as for `chmod`.
    mode: u32,
    /// SHA-256 of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    /// A link's target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    link: Option<String>,
}

/// The last line: it makes a manifest with lost or changed lines invalid.
#[derive(Serialize, Deserialize)]
struct End {
    manifest: String,
}

/// A package whose files have changed since they were unpacked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{} is {how}, which the lab takes from a Debian package in its cache", .folder.join(.path).display())]
pub struct Damaged {
    pub folder: PathBuf,
    /// Relative to the folder.
    pub path: PathBuf,
    how: &'static str,
}

impl Damaged {
    /// A package whose manifest is lost.
    pub fn whole(folder: &Path) -> Damaged {
        let how = if folder.join(FILE).exists() { "not what it was" } else { "missing" };
        Damaged { folder: folder.to_owned(), path: FILE.into(), how }
    }
}

pub struct Manifest {
    folder: PathBuf,
    entries: BTreeMap<String, Entry>,
}

impl Manifest {
    /// Describes all contents of `folder`, with hashes, and writes the manifest there.
    ///
    /// # Errors
    /// A file that cannot be read, or no space for the manifest.
    pub fn write(folder: &Path) -> Result<()> {
        let mut entries = BTreeMap::new();
        describe(folder, folder, &mut entries)?;
        let mut text = String::new();
        for entry in entries.values() {
            text += &serde_json::to_string(entry)?;
            text.push('\n');
        }
        text += &serde_json::to_string(&End { manifest: cache::sha256(text.as_bytes()) })?;
        cache::write_whole(&folder.join(FILE), text.as_bytes())
    }

    /// The manifest of the package unpacked in `folder`; `None` if it is missing or incomplete.
    pub fn open(folder: &Path) -> Option<Manifest> {
        let text = fs::read_to_string(folder.join(FILE)).ok()?;
        let (lines, last) = text.split_at(text.rfind('\n').map_or(0, |at| at + 1));
        let last: End = serde_json::from_str(last).ok()?;
        if cache::sha256(lines.as_bytes()) != last.manifest {
            return None;
        }
        let entries =
            lines.lines().map(|line| serde_json::from_str(line).map(|entry: Entry| (entry.path.clone(), entry)));
        Some(Manifest { folder: folder.to_owned(), entries: entries.collect::<Result<_, _>>().ok()? })
    }

    /// Whether a path is a file or link of the package.
    pub fn has(&self, path: &str) -> bool {
        self.entries.contains_key(path)
    }

    /// The names of files and links directly in a folder of the package, sorted.
    pub(crate) fn names_in(&self, folder: &str) -> Vec<String> {
        let below = self.entries.keys().filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/'));
        below.filter(|name| !name.contains('/')).map(str::to_owned).collect()
    }

    /// All files and links, by path, with the targets of links.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.entries.values().map(|entry| (entry.path.as_str(), entry.link.as_deref()))
    }

    /// The permissions of a file, as for `chmod`; those of plain files if it is none of the package's.
    pub(crate) fn mode(&self, path: &str) -> u32 {
        self.entries.get(path).map_or(0o644, |entry| entry.mode & 0o7777)
    }

    /// An unchanged file of the package.
    ///
    /// # Errors
    /// [`Damaged`], or a file that the package does not have.
    pub fn read(&self, path: &str) -> Result<Vec<u8>> {
        let shown = self.folder.join(path);
        let Some(sha256) = self.entries.get(path).and_then(|entry| entry.sha256.as_ref()) else {
            bail!("{} is no file of its package", shown.display());
        };
        let damaged = |how| Damaged { folder: self.folder.clone(), path: path.into(), how };
        let bytes = match fs::read(&shown) {
            Ok(bytes) => bytes,
            Err(error) if is_missing(&error) => bail!(damaged("missing")),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", shown.display())),
        };
        if cache::sha256(&bytes) != *sha256 {
            bail!(damaged("not what it was"));
        }
        Ok(bytes)
    }

    /// Checks that every file exists and has its size, without reading any.
    ///
    /// # Errors
    /// The first file that is missing or has another size.
    pub(crate) fn check_sizes(&self) -> Result<(), Damaged> {
        for entry in self.entries.values() {
            let how = match fs::symlink_metadata(self.folder.join(&entry.path)) {
                Ok(data) if data.len() == entry.size && data.is_symlink() == entry.link.is_some() => continue,
                Ok(_) => "not what it was",
                Err(_) => "missing",
            };
            return Err(Damaged { folder: self.folder.clone(), path: (&entry.path).into(), how });
        }
        Ok(())
    }
}

/// Reads a file. One of an unpacked package is checked against the package's manifest.
///
/// # Errors
/// [`Damaged`], or a file that cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let package = path.ancestors().skip(1).find_map(|folder| Some((folder, Stamp::of(&folder.join(FILE)).ok()?)));
    if let Some((folder, stamp)) = package
        && let Some(below) = path.strip_prefix(folder).ok().and_then(Path::to_str)
    {
        // A kernel's modules are read one after the other, and their manifest has thousands of lines.
        static LAST: Mutex<Option<(PathBuf, Stamp, Manifest)>> = Mutex::new(None);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(&*last, Some((of, then, _)) if of == folder && *then == stamp) {
            *last = Manifest::open(folder).map(|manifest| (folder.to_owned(), stamp, manifest));
        }
        return match &*last {
            Some((_, _, manifest)) => manifest.read(below),
            None => bail!(Damaged::whole(folder)),
        };
    }
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn describe(root: &Path, folder: &Path, entries: &mut BTreeMap<String, Entry>) -> Result<()> {
    let listed = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for path in listed.flatten().map(|entry| entry.path()) {
        let data = fs::symlink_metadata(&path).with_context(|| format!("cannot look at {}", path.display()))?;
        if data.is_dir() {
            describe(root, &path, entries)?;
            continue;
        }
        // No suite can name a file whose name is not UTF-8; special files are never read.
        let Some(below) = path.strip_prefix(root).ok().and_then(Path::to_str) else { continue };
        let mut entry =
            Entry { path: below.to_owned(), size: data.len(), mode: data.mode() & 0o7777, sha256: None, link: None };
        if data.is_symlink() {
            let target = fs::read_link(&path).with_context(|| format!("cannot read {}", path.display()))?;
            entry.link = Some(target.to_string_lossy().into_owned());
        } else if data.is_file() {
            entry.sha256 = Some(cache::sha256_file(&path)?);
        } else {
            continue;
        }
        entries.insert(below.to_owned(), entry);
    }
    Ok(())
}

fn is_missing(error: &io::Error) -> bool {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | IsADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A package with two programs, a library under two names, and a name that JSON must escape.
    fn package() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [("usr/bin/one", "1"), ("usr/bin/two", "22"), ("lib/x.so.1.2", "x"), ("a \"b\"\n", "")] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        symlink("x.so.1.2", folder.path().join("lib/x.so.1")).unwrap();
        symlink("/lib/x.so.1", folder.path().join("usr/bin/over")).unwrap();
        symlink("../../../out", folder.path().join("usr/bin/out")).unwrap();
        Manifest::write(folder.path()).unwrap();
        folder
    }

    fn damage(error: anyhow::Error) -> (String, &'static str) {
        let damaged: Damaged = error.downcast().unwrap();
        (damaged.path.to_string_lossy().into_owned(), damaged.how)
    }

    #[test]
    fn files_and_links_are_looked_up() {
        let folder = package();
        let manifest = Manifest::open(folder.path()).unwrap();
        assert_eq!(manifest.names_in("usr/bin"), ["one", "out", "over", "two"]);
        assert_eq!(manifest.read("usr/bin/two").unwrap(), b"22");
        assert_eq!(manifest.read("a \"b\"\n").unwrap(), b"");
        assert!(manifest.has("lib/x.so.1") && !manifest.has("lib") && !manifest.has("usr/bin/on"));
        let links: Vec<_> = manifest.all().filter_map(|(path, link)| Some((path, link?))).collect();
        assert_eq!(links[0], ("lib/x.so.1", "x.so.1.2"));
        manifest.check_sizes().unwrap();
    }

    #[test]
    fn what_was_changed_or_lost_is_told() {
        let folder = package();
        let one = folder.path().join("usr/bin/one");
        let manifest = Manifest::open(folder.path()).unwrap();
        fs::write(&one, "I").unwrap();
        assert_eq!(damage(read(&one).unwrap_err()), ("usr/bin/one".into(), "not what it was"));
        manifest.check_sizes().expect("its size is as it was");
        fs::write(&one, "").unwrap();
        assert!(manifest.check_sizes().unwrap_err().to_string().contains("usr/bin/one is not what it was"));
        fs::remove_file(&one).unwrap();
        assert_eq!(damage(read(&one).unwrap_err()), ("usr/bin/one".into(), "missing"));
        assert!(manifest.check_sizes().unwrap_err().to_string().contains("usr/bin/one is missing"));
        // A file outside a package is read unchecked.
        let alone = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(read(alone.path()).unwrap(), b"");
    }

    #[test]
    fn a_manifest_cut_short_or_changed_is_none() {
        let folder = package();
        let path = folder.path().join(FILE);
        let whole = fs::read_to_string(&path).unwrap();
        let less = &whole[whole.find('\n').unwrap() + 1..];
        for text in ["", "{", &whole[..whole.len() / 2], less, &whole.replace("\"two\"", "\"owt\"").replace("22", "33")]
        {
            fs::write(&path, text).unwrap();
            assert_eq!(Manifest::open(folder.path()).is_some(), text == whole, "{text}");
        }
        fs::write(&path, &whole).unwrap();
        assert!(Manifest::open(folder.path()).is_some());
    }
}
