//! Whether a folder is a cache of this program. What a cache holds is removed in time, so that a name alone does not do:
//! a folder of somebody else's may have folders `images` and `snapshots` too.
//!
//! A cache has a `CACHEDIR.TAG` (<https://bford.info/cachedir/>), which programs for backups know as well.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::{bars, is_barred, is_no_space, write_whole};

/// The file that says that a folder is a cache, and whose.
pub(crate) const TAG: &str = "CACHEDIR.TAG";
/// The first line is the same in each program's; the second begins with [`WHOSE`].
const TEXT: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
                    # A cache of Mountmark, which removes what it holds: mountmark clean --cache\n";
const WHOSE: &str = "# A cache of Mountmark";

pub(crate) const JOURNALS: &str = "undo";
/// All folders of a cache.
pub(crate) const FOLDERS: [&str; 13] = [
    "apt", "cells", "closures", "contents", "corpora", "hashes", "images", "kernels", "modules", "packages",
    "profiler", "snapshots", JOURNALS,
];

/// What a folder is to this program.
pub(crate) enum Folder {
    /// A cache; it has the tag, or is of a version that wrote none.
    Cache,
    /// Nothing is in it, or it is not there.
    Empty,
    /// Somebody else's: this in it was not put there by this program.
    Strange(PathBuf),
}

fn is_tagged(cache: &Path) -> bool {
    let text = fs::read_to_string(cache.join(TAG)).unwrap_or_default();
    text.lines().nth(1).is_some_and(|line| line.starts_with(WHOSE))
}

/// Names that say nothing of whose a folder is: of what is being written, of what mkfs, servers and desktops leave, and the tag
/// of whatever program.
pub(crate) fn is_nobodys(name: &str) -> bool {
    name.starts_with('.') || matches!(name, "lost+found" | TAG)
}

/// Whether a file in a cache is one that was being written.
pub(crate) fn is_partial(name: &str) -> bool {
    name.strip_prefix(".tmp")
        .is_some_and(|more| more.len() == 6 && more.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Looks at a folder. One without a tag is a cache if it holds what only a cache holds, and nothing else.
pub(crate) fn look(cache: &Path) -> Folder {
    if is_tagged(cache) {
        return Folder::Cache;
    }
    let (mut is_sure, mut any) = (false, None);
    for path in entries(cache) {
        let name = file_name(&path);
        if is_nobodys(&name) {
            continue;
        }
        if !FOLDERS.contains(&name.as_str()) || !path.is_dir() {
            return Folder::Strange(path);
        }
        let mut entries = entries(&path);
        entries.retain(|entry| !is_nobodys(&file_name(entry)) && entry.extension().is_none_or(|end| end != "lock"));
        // There is nothing in it to lose.
        if entries.is_empty() {
            continue;
        }
        for entry in entries {
            match is_entry(&name, &file_name(&entry)) {
                Some(true) => is_sure = true,
                Some(false) => return Folder::Strange(entry),
                None => {}
            }
        }
        any.get_or_insert(path);
    }
    match any {
        None => Folder::Empty,
        Some(path) if !is_sure => Folder::Strange(path),
        Some(_) => Folder::Cache,
    }
}

/// Whether an entry of a folder of the cache has a name that this program gives; `None` where it may have any.
pub(crate) fn is_entry(folder: &str, name: &str) -> Option<bool> {
    if is_nobodys(name) || name.ends_with(".lock") {
        return None;
    }
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    match folder {
        "contents" | "images" | "snapshots" => Some(is_key(stem)),
        "closures" | "hashes" | "profiler" => is_key(stem).then_some(true),
        // NAME-KEY.tar and its description; a name may have dots.
        "corpora" => {
            let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
            stem.rsplit_once('-').is_some_and(|(_, key)| is_key(key)).then_some(true)
        }
        // NAME_VERSION_ARCHITECTURE
        "packages" => Some(name.matches('_').count() == 2),
        "kernels" => name.ends_with(".name").then_some(true),
        "modules" => name.ends_with(".recipe.json").then_some(true),
        "apt" => matches!(name, "archives" | "lists").then_some(true),
        JOURNALS => name.ends_with(".json").then_some(true),
        "cells" => (name == "mountmark-shelf").then_some(true),
        _ => None,
    }
}

/// Whether a name is a [`super::key`].
fn is_key(name: &str) -> bool {
    name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
}

/// Refuses a folder for a cache that holds what is not this program's.
///
/// # Errors
/// What it holds, and the remedy.
pub fn check(cache: &Path) -> Result<()> {
    refuse(cache, &look(cache))
}

fn refuse(cache: &Path, found: &Folder) -> Result<()> {
    let Folder::Strange(path) = found else { return Ok(()) };
    bail!(
        "the cache folder {} holds {:?}, which Mountmark did not put there, and what a cache holds is removed in time: set \
         MOUNTMARK_CACHE to a folder of its own, such as {}/mountmark",
        cache.display(),
        path.strip_prefix(cache).unwrap_or(path),
        cache.display()
    )
}

/// Puts the tag into a folder that is to be a cache.
pub(super) fn claim(cache: &Path) -> Result<()> {
    if is_tagged(cache) {
        return Ok(());
    }
    let found = look(cache);
    refuse(cache, &found)?;
    let is_older = matches!(found, Folder::Cache);
    match write_whole(&cache.join(TAG), TEXT.as_bytes()) {
        // A cache that cannot be written, or is full, serves all the same.
        Err(error) if is_barred(&error) || is_older && is_no_space(&error) => Ok(()),
        Err(error) => Err(error),
        Ok(()) => {
            // Whoever shares the cache, or backs it up, has to know it too.
            let _ = fs::set_permissions(cache.join(TAG), Permissions::from_mode(0o644));
            Ok(())
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = match fs::read_dir(folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        // What cannot be looked at is not this user's to remove.
        Err(error) if bars(&error) => vec![folder.join("?")],
        Err(_) => Vec::new(),
    };
    entries.sort();
    entries
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(paths: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for path in paths {
            fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        folder
    }

    #[test]
    fn a_cache_is_known_by_its_tag_or_by_what_only_a_cache_holds() {
        let new = made(&[]);
        assert!(matches!(look(new.path()), Folder::Empty));
        claim(new.path()).unwrap();
        assert!(matches!(look(new.path()), Folder::Cache));
        fs::write(new.path().join("letter"), "").unwrap();
        claim(new.path()).unwrap();
        for older in [
            &["images/0123456789abcdef", "apt"][..],
            &["packages/bash_5.2.15-2+b13_amd64", "kernels/any"],
            &["corpora/tree-0123456789abcdef.tar", "snapshots"],
            &["apt/lists/partial", "lost+found"],
            &["cells/mountmark-shelf"],
            &["hashes/0123456789abcdef", ".nfs0001"],
            &["corpora/my.files.tar.gz-0123456789abcdef.tar", ".tmpAb12Cd"],
            &["packages/bash_5.2.15-2+b13_amd64", "packages/bash_5.2.lock"],
            &["kernels/6_12.name"],
        ] {
            assert!(matches!(look(made(older).path()), Folder::Cache), "{older:?}");
        }
    }

    #[test]
    fn what_somebody_else_made_is_no_cache() {
        for other in [
            &["snapshots/daily.0", "images", "photos"][..],
            &["snapshots/daily.0"],
            &["images/ubuntu", "images/0123456789abcdef"],
            &["packages/mine"],
            &["contents", "kernels/linux-6.12"],
            &["images/0123456789abcdef", "photos"],
        ] {
            let folder = made(other);
            assert!(matches!(look(folder.path()), Folder::Strange(_)), "{other:?}");
            let error = claim(folder.path()).unwrap_err().to_string();
            assert!(error.contains("did not put there") && error.contains("MOUNTMARK_CACHE"), "{error}");
            assert!(!folder.path().join(TAG).exists());
        }
        // Many programs tag their caches, and a writer's file says nothing.
        let other = made(&["images/ubuntu"]);
        fs::write(other.path().join(TAG), TEXT.replace("Mountmark", "cargo")).unwrap();
        assert!(matches!(look(other.path()), Folder::Strange(_)));
        assert!(matches!(look(made(&["hashes/.tmpAb12Cd", "packages/adduser_3.lock"]).path()), Folder::Empty));
    }
}
