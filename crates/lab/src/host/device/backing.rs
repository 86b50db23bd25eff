//! The files on which loop devices lie, and who else uses them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use mountmark_job::{FileId, loops};

use super::facts::Relation;
use super::mounts;
use super::relatives::fact;
use crate::host::{lock, own};

/// A regular file that is, by a loop device, the device under test or what that lies on.
pub(super) struct BackingFile {
    pub path: PathBuf,
    pub id: FileId,
}

/// Those of a device and of all that it lies on.
pub(super) fn files(family: &[(String, Relation)]) -> Vec<BackingFile> {
    let is_chain = |name: &String| family.iter().any(|(known, relation)| known == name && relation.is_chain());
    let attached = loops::attached().into_iter();
    let on_file = attached.filter(|attached| attached.on_device.is_none() && is_chain(&attached.name));
    let file = |attached: loops::Attached| BackingFile {
        path: fact(&attached.name, "loop/backing_file").into(),
        id: FileId { device: decoded(attached.file.0), inode: attached.file.1 },
    };
    on_file.map(file).collect()
}

impl BackingFile {
    /// How others use it, besides those who may write it: they have locked it, or it is swap.
    pub(super) fn used(&self) -> Option<&'static str> {
        if mounts::swaps().iter().any(|swap| own::leads_to(Path::new(swap), &self.id)) {
            return Some("is in use as swap");
        }
        // One that has no name here any more, or never had, can be locked only by who has it open.
        let file = File::open(&self.path).ok().filter(|file| FileId::of(file).is_ok_and(|id| id == self.id))?;
        // Who looks at a file may lock it for a moment.
        for look in 0..10 {
            match lock::is_held(&file) {
                Ok(false) => return None,
                Ok(true) if look < 9 => thread::sleep(Duration::from_millis(100)),
                Ok(true) => return Some("is locked by another program (a run, a virtual machine)"),
                Err(_) => return Some("is on a file system that does not tell whether another program has locked it"),
            }
        }
        None
    }
}

/// A device number as LOOP_GET_STATUS64 has it (the kernel's new_encode_dev), as stat(2) has it.
fn decoded(device: u64) -> u64 {
    let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xf_ff00));
    libc::makedev(major as u32, minor as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_loop_driver_are_those_of_files() {
        assert_eq!(decoded(0xfe03), libc::makedev(254, 3));
        assert_eq!(decoded(0x10_0823), libc::makedev(8, 291));
        assert_eq!(decoded(0x0010_0023), libc::makedev(0, 0x123));
    }

    #[test]
    fn a_file_that_another_has_locked_or_writes_is_in_use() {
        let named = tempfile::NamedTempFile::new().unwrap();
        let id = FileId::of(named.as_file()).unwrap();
        let file = BackingFile { path: named.path().into(), id };
        assert_eq!(file.used(), None, "that it is open is no use");
        let other = File::open(named.path()).unwrap();
        rustix::fs::flock(&other, rustix::fs::FlockOperation::LockExclusive).unwrap();
        assert!(file.used().is_some_and(|used| used.contains("locked by another program")));
        let moved = BackingFile { path: "/proc/version".into(), id: file.id.clone() };
        assert_eq!(moved.used(), None, "another file has its name");
        // This program's own files are no other's; a child's are.
        assert!(mounts::writers(&[], std::slice::from_ref(&file.id)).is_empty());
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .stdout(File::options().append(true).open(named.path()).unwrap())
            .spawn()
            .unwrap();
        let writers = mounts::writers(&[], std::slice::from_ref(&file.id));
        let _ = (child.kill(), child.wait());
        assert_eq!(writers.iter().map(|process| process.id).collect::<Vec<_>>(), [child.id()]);
    }
}
