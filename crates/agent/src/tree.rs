//! The tree in which a suite's commands find programs, if that is not the machine's own: the files of the second disk, laid
//! over the machine's or alone. What commands write there lies in memory and stays until the cell ends.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use mountmark_model::TaskRoot;
use rustix::mount::{MountFlags, mount};

use super::Agent;
use crate::protocol::tree_of;

/// Where the agent keeps what commands write into the tree, and where it is mounted for them.
const PLACE: &str = "/run/mountmark-tree";
/// What commands wrote into the tree.
pub(super) const CHANGED: &str = "/run/mountmark-tree/changed";
/// What commands find of the machine besides.
const SHARED: [&str; 4] = ["/proc", "/sys", "/dev", "/tmp"];

/// How a command gets its tree, laid out before the command's first process exists.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// Where the tree is mounted, and with which options of overlayfs.
    pub(super) root: CString,
    pub(super) options: CString,
    /// What is mounted in it: from where, to where.
    pub(super) binds: Vec<[CString; 2]>,
    /// Where commands run.
    pub(super) folder: PathBuf,
}

impl Agent<'_> {
    /// Lays out the tree of the cell's commands, if it has more than the files that are brought to where they run.
    pub(super) fn lay_tree(&mut self) -> Result<()> {
        let Some(root) = &self.cell.root else { return Ok(()) };
        if !self.devices.exclusive {
            bail!("commands have a tree of their own in guests only");
        }
        let files = tree_of(&self.devices.source_folder);
        if root.over && !has_more(&files, Path::new(&root.folder))? {
            return Ok(());
        }
        self.tree = Some(Tree::new(root, &files, &self.devices.test_folder, &self.devices.source_folder)?);
        Ok(())
    }
}

impl Tree {
    fn new(root: &TaskRoot, files: &Path, test: &Path, source: &Path) -> Result<Tree> {
        let place = Path::new(PLACE);
        let [changed, work, mounted] = [Path::new(CHANGED).to_owned(), place.join("work"), place.join("root")];
        fs::create_dir_all(place)?;
        mount("mountmark", place, "tmpfs", MountFlags::NODEV, None).context("cannot mount a folder in memory")?;
        let folder = PathBuf::from(&root.folder);
        let shared = SHARED.into_iter().map(Path::new).chain([test, source]).map(|own| (own, own));
        let mut binds = Vec::new();
        for (from, to) in shared.chain((folder != test).then_some((test, &*folder))) {
            let inside = to.strip_prefix("/").unwrap_or(to);
            fs::create_dir_all(changed.join(inside)).with_context(|| format!("cannot make {}", to.display()))?;
            binds.push([path(from)?, path(&mounted.join(inside))?]);
        }
        fs::create_dir_all(&work)?;
        fs::create_dir_all(&mounted)?;
        let below = if root.over { ":/" } else { "" };
        let options =
            format!("lowerdir={}{below},upperdir={},workdir={}", files.display(), changed.display(), work.display());
        Ok(Tree { root: path(&mounted)?, options: CString::new(options)?, binds, folder })
    }
}

fn path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).with_context(|| format!("{} holds a null character", path.display()))
}

/// Whether a tree has anything outside of `folder`.
fn has_more(files: &Path, folder: &Path) -> Result<bool> {
    let mut at = files.to_owned();
    for part in folder.strip_prefix("/").unwrap_or(folder).components() {
        let here = fs::read_dir(&at).with_context(|| format!("cannot read {}", at.display()))?;
        for entry in here {
            if entry?.file_name() != part.as_os_str() {
                return Ok(true);
            }
        }
        at.push(part);
        if !at.is_dir() {
            return Ok(false);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beside_the_folder_is_more() {
        let files = tempfile::tempdir().unwrap();
        let folder = Path::new("/home/me");
        assert!(!has_more(files.path(), folder).unwrap());
        fs::create_dir_all(files.path().join("home/me/data")).unwrap();
        assert!(!has_more(files.path(), folder).unwrap());
        for beside in ["home/you", "usr"] {
            let path = files.path().join(beside);
            fs::create_dir(&path).unwrap();
            assert!(has_more(files.path(), folder).unwrap(), "{beside}");
            fs::remove_dir(&path).unwrap();
        }
    }
}
