//! The root folder of a build: the files of packages, which are all that a build sees of this machine.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::image::manifest::Manifest;
use crate::image::packages::Package;
use crate::image::programs::FOR_PEOPLE;
use crate::image::tree::{Entry, MERGED, Tree, from_root};

/// What installing would link.
const LINKS: [(&str, &str); 3] = [("usr/bin/awk", "mawk"), ("usr/bin/cc", "gcc"), ("usr/bin/sh", "dash")];

/// Puts the files of packages into the new folder `root`, as one tree.
///
/// # Errors
/// [`Damaged`](crate::image::manifest::Damaged) for a file that is not what it was; no room.
pub(super) fn make(root: &Path, packages: &[Package]) -> Result<()> {
    let manifests: Vec<Manifest> = packages.iter().map(Package::manifest).collect::<Result<_>>()?;
    let tree = Tree::new(manifests.iter());
    for folder in ["usr/bin", "usr/lib", "usr/lib64", "etc", "var/lib", "tmp"] {
        let folder = root.join(folder);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    // Behind these no place lies: `Tree` tells the one place of all that are one.
    for (link, target) in MERGED {
        put_link(root, link, target)?;
    }
    let is_read = |place: &&str| !FOR_PEOPLE.iter().any(|folder| place.starts_with(folder));
    for place in tree.places().filter(is_read) {
        match tree.at(place) {
            Some(Entry::File((package, path))) => put_file(root, place, path, &manifests[*package])?,
            Some(Entry::Link(target)) => put_link(root, place, &format!("/{target}"))?,
            // It leads to a folder, or nowhere.
            None => {
                if let Some(target) = tree.dangling(place).filter(|target| *target != place) {
                    put_link(root, place, &format!("/{target}"))?;
                }
            }
        }
    }
    for (link, target) in LINKS {
        let target = format!("/{}", from_root(link, target));
        if fs::symlink_metadata(root.join(link)).is_err() && root.join(&target[1..]).exists() {
            put_link(root, link, &target)?;
        }
    }
    put(root, "etc/passwd", b"root:x:0:0:root:/tmp:/bin/sh\n", 0o644)?;
    put(root, "etc/group", b"root:x:0:\n", 0o644)
}

fn put_file(root: &Path, place: &str, path: &str, manifest: &Manifest) -> Result<()> {
    put(root, place, &manifest.read(path)?, manifest.mode(path))
}

fn put(root: &Path, place: &str, bytes: &[u8], mode: u32) -> Result<()> {
    let path = place_in(root, place)?;
    let failed = || format!("cannot write {}", path.display());
    fs::write(&path, bytes).with_context(failed)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(mode & 0o777)).with_context(failed)
}

fn put_link(root: &Path, place: &str, target: &str) -> Result<()> {
    let path = place_in(root, place)?;
    symlink(target, &path).with_context(|| format!("cannot write {}", path.display()))
}

/// A place with its folders. A link among these would lead out of the root: it counts from this machine's.
fn place_in(root: &Path, place: &str) -> Result<PathBuf> {
    let mut path = root.to_owned();
    let (folders, name) = place.rsplit_once('/').unwrap_or(("", place));
    for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
        path.push(folder);
        match fs::symlink_metadata(&path) {
            Ok(data) => ensure!(data.is_dir(), "{place} of a package lies behind the link /{}", shown(root, &path)),
            Err(_) => fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?,
        }
    }
    Ok(path.join(name))
}

fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}
