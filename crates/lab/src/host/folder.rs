//! A folder of a file system that is mounted already: tasks work in a new folder below it, which is removed afterwards.

use std::ffi::CString;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use mountmark_job::{FileId, mountinfo};
use mountmark_model::Target;
use serde::{Deserialize, Serialize};

use super::device::{name_of_number, number_of};
use super::own;

/// The beginning of names of folders of runs.
const NAME: &str = "mountmark-test-";
/// Such a name, before it is known.
pub const PATTERN: &str = "mountmark-test-N";

/// A run's own folder, for the journal: written before it is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnFolder {
    pub path: PathBuf,
}

/// The folder of `--dir`.
#[derive(Debug)]
pub struct MountedFolder {
    path: PathBuf,
    /// Keeps its file system from being unmounted, and its numbers from being another's.
    held: File,
    /// The block device below, by the kernel's name; empty if there is none, or several.
    pub device: String,
}

impl MountedFolder {
    /// Looks at the folder; changes nothing.
    pub fn find(given: &Path) -> Result<MountedFolder> {
        let shown = given.display();
        let path = fs::canonicalize(given).with_context(|| {
            format!("--dir {shown}: there is no such folder; name one in the file system that is to be tested")
        })?;
        let data = fs::metadata(&path).with_context(|| format!("--dir {shown} cannot be looked at"))?;
        if !data.is_dir() {
            bail!("--dir {shown} is no folder; name one in the file system that is to be tested");
        }
        if ["/proc", "/sys", "/dev"].iter().any(|system| path.starts_with(system)) && !path.starts_with("/dev/shm") {
            bail!("--dir {shown} is the system's own; name a folder in the file system that is to be tested");
        }
        let room = statvfs(&path)?;
        if room.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY) {
            bail!("--dir {shown} is on a file system that is mounted read-only; mount it for writing, or name another");
        }
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        rustix::fs::access(&path, access)
            .with_context(|| format!("--dir {shown} cannot be written; name a folder that can"))?;
        // Some file systems show numbers of no device; their source names it.
        let mounts = mountinfo::of("self");
        let named = || number_of(Path::new(&mountinfo::holding(&mounts, &path)?.source));
        let number = format!("{}:{}", libc::major(data.dev()), libc::minor(data.dev()));
        let device = name_of_number(&number).or_else(|| name_of_number(&named()?)).unwrap_or_default();
        let held = File::open(&path).with_context(|| format!("--dir {shown} cannot be opened"))?;
        Ok(MountedFolder { path, held, device })
    }

    /// An error if its path leads elsewhere by now: something was mounted over it, or it was moved.
    pub fn check(&self) -> Result<()> {
        if !own::leads_to(&self.path, &FileId::of(&self.held)?) {
            bail!(
                "--dir {} leads to another folder than was looked at: something was mounted there, or it was moved; that was not \
                 touched; put it back or start again",
                self.path.display()
            );
        }
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn target(&self) -> Target {
        let (path, mounts) = (self.path.display().to_string(), mountinfo::of("self"));
        let mount = mountinfo::holding(&mounts, &self.path);
        let (filesystem, source, options) = mount
            .map(|mount| (mount.filesystem.clone(), mount.source.clone(), mount.options.clone()))
            .unwrap_or_default();
        Target::Folder { path, filesystem, source, options }
    }

    /// Bytes of its file system.
    pub fn size(&self) -> u64 {
        statvfs(&self.path).map_or(0, |room| room.f_blocks * room.f_frsize)
    }

    /// Bytes of it that are free.
    pub fn free(&self) -> u64 {
        statvfs(&self.path).map_or(0, |room| room.f_bavail * room.f_frsize)
    }

    /// A name for a new folder in it, which no other run has.
    pub fn new_name(&self, cell: u32) -> OwnFolder {
        let name = format!("{NAME}{}-{cell}-{:x}", std::process::id(), own::wall_clock());
        OwnFolder { path: self.path.join(name) }
    }
}

impl OwnFolder {
    pub fn make(&self) -> Result<()> {
        fs::create_dir(&self.path).with_context(|| format!("cannot make {}", self.path.display()))
    }

    /// Removes it with all that tasks left in it, unless something is mounted there. False if it is not there.
    pub fn remove(&self) -> Result<bool> {
        let shown = self.path.display();
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let data = match fs::symlink_metadata(&self.path) {
            Ok(data) => data,
            Err(_) => return Ok(false),
        };
        if !data.is_dir() || !name.starts_with(NAME) {
            bail!("{shown} is no folder of a run; it was left as it is");
        }
        if let Some(inside) = mountinfo::of("self").iter().find(|mount| Path::new(&mount.point).starts_with(&self.path))
        {
            bail!(
                "something is mounted at {}, in the folder of a run; unmount it, then `mountmark clean` goes on",
                inside.point
            );
        }
        fs::remove_dir_all(&self.path).with_context(|| format!("cannot remove {shown}"))?;
        Ok(true)
    }
}

fn statvfs(path: &Path) -> Result<rustix::fs::StatVfs> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    rustix::fs::statvfs(&*name).with_context(|| format!("cannot ask {} for its room", path.display()))
}

/// Type and source of the file system that holds a path, or would hold it; empty if unknown.
pub fn below(path: &Path) -> (String, String) {
    let mounts = mountinfo::of("self");
    let there = path.ancestors().find_map(|folder| fs::canonicalize(folder).ok());
    let mount = there.and_then(|folder| mountinfo::holding(&mounts, &folder));
    mount.map(|mount| (mount.filesystem.clone(), mount.source.clone())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runs_folder_comes_and_goes_and_no_other_does() {
        let folder = tempfile::tempdir().unwrap();
        let found = MountedFolder::find(folder.path()).unwrap();
        assert!(found.target().is_mounted() && found.size() > 0);
        let own = found.new_name(3);
        assert!(!own.remove().unwrap());
        own.make().unwrap();
        fs::write(own.path.join("x"), "x").unwrap();
        assert!(own.remove().unwrap() && !own.path.exists());
        let other = OwnFolder { path: folder.path().join("mine") };
        fs::create_dir(&other.path).unwrap();
        assert!(other.remove().unwrap_err().to_string().contains("left as it is"));
        assert!(found.free() <= found.size());
        found.check().unwrap();
        let moved = tempfile::tempdir().unwrap();
        let found = MountedFolder::find(&{
            let path = moved.path().join("one");
            fs::create_dir(&path).unwrap();
            path
        })
        .unwrap();
        fs::rename(moved.path().join("one"), moved.path().join("two")).unwrap();
        assert!(found.check().is_err());
        fs::create_dir(moved.path().join("one")).unwrap();
        assert!(found.check().unwrap_err().to_string().contains("leads to another folder"));
        for (path, word) in [("/nowhere", "no such folder"), ("/dev/null", "no folder"), ("/proc", "system's own")] {
            let error = format!("{:#}", MountedFolder::find(Path::new(path)).unwrap_err());
            assert!(error.contains(word), "{error}");
        }
    }
}
