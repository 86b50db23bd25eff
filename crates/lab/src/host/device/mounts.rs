//! What uses devices: mounts of all name spaces, swap, arrays, file systems of several devices.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use mountmark_job::{
    FileId,
    mountinfo::{self, unescaped},
};

use super::facts::{Mounted, Process};
use super::relatives::folder;

/// All that uses block devices now.
pub(super) struct Uses {
    /// Number of the device, its source's number, and the mount.
    mounts: Vec<(String, Option<String>, Mounted)>,
    /// Numbers of the devices.
    swaps: BTreeSet<String>,
    mdstat: String,
}

impl Uses {
    pub(super) fn read() -> Uses {
        Uses {
            mounts: mounts(),
            swaps: swaps().iter().filter_map(|path| number(Path::new(path))).collect(),
            mdstat: fs::read_to_string("/proc/mdstat").unwrap_or_default(),
        }
    }

    /// The mounts of a device, those that this process sees first.
    pub(super) fn mounts(&self, number: &str) -> Vec<Mounted> {
        let is_on = |source: &Option<String>| source.as_deref() == Some(number);
        let on = self.mounts.iter().filter(|(own, source, _)| own == number || is_on(source));
        let mut found: Vec<Mounted> = on.map(|(_, _, mounted)| mounted.clone()).collect();
        found.sort_by_key(|mounted| mounted.by.is_some());
        found
    }

    pub(super) fn is_swap(&self, number: &str) -> bool {
        self.swaps.contains(number)
    }

    /// The array that a device is in, active or not.
    pub(super) fn array(&self, name: &str) -> Option<String> {
        array_of(&self.mdstat, name)
    }
}

/// The devices and files that are swap.
pub fn swaps() -> Vec<String> {
    let listed = fs::read_to_string("/proc/swaps").unwrap_or_default();
    listed.lines().skip(1).filter_map(|line| Some(unescaped(line.split_whitespace().next()?))).collect()
}

/// `md0 : active raid1 sdb1[1] sda1[0](F)`
fn array_of(mdstat: &str, name: &str) -> Option<String> {
    mdstat.lines().find_map(|line| {
        let (array, members) = line.split_once(" : ")?;
        let mut members = members.split_whitespace().filter_map(|word| word.split_once('[')).map(|(member, _)| member);
        members.any(|member| member == name).then(|| array.trim().to_owned())
    })
}

/// The mounted file system of several devices that a device is one of, as `btrfs 6d7b...`.
pub(super) fn member_of(name: &str) -> Option<String> {
    let kinds = fs::read_dir("/sys/fs").ok()?.flatten();
    let systems = kinds.flat_map(|kind| fs::read_dir(kind.path()).into_iter().flatten().flatten());
    for system in systems.map(|system| system.path()) {
        let listed = system.join("devices").join(name).exists();
        let own = || fs::read_dir(&system).into_iter().flatten().flatten();
        // Others have one folder a device, with a link to it.
        let linked = || {
            let links = own().filter_map(|entry| fs::canonicalize(entry.path().join("block")).ok());
            fs::canonicalize(folder(name)).is_ok_and(|device| links.into_iter().any(|link| link == device))
        };
        if listed || linked() {
            let last = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return Some(format!("the {} file system {}", last(system.parent()?), last(&system)));
        }
    }
    None
}

/// The number of a block device at a path.
pub fn number(path: &Path) -> Option<String> {
    let data = fs::metadata(path).ok().filter(|data| data.file_type().is_block_device())?;
    Some(as_number(data.rdev()))
}

pub(super) fn as_number(device: u64) -> String {
    format!("{}:{}", libc::major(device), libc::minor(device))
}

/// The mounts of every mount name space that a process is in.
fn mounts() -> Vec<(String, Option<String>, Mounted)> {
    let space = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    let own = space("self");
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let mut read = |process: &str, by: Option<Process>| {
        for mount in mountinfo::of(process) {
            let from = mount.source.starts_with('/').then(|| number(Path::new(&mount.source))).flatten();
            found.push((mount.number, from, Mounted { point: mount.point, by: by.clone() }));
        }
    };
    read("self", None);
    seen.insert(own);
    for id in processes() {
        let process = id.to_string();
        // Without rights the name space of others is unknown; their mounts may be readable all the same.
        let space = space(&process);
        if space.is_some() && !seen.insert(space) {
            continue;
        }
        read(&process, Some(Process { id, name: comm(id) }));
    }
    found
}

pub fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

pub(super) fn comm(process: u32) -> String {
    fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default().trim().to_owned()
}

/// Processes other than this one that have one of these devices or files open for writing.
pub(super) fn writers(numbers: &[String], files: &[FileId]) -> Vec<Process> {
    if numbers.is_empty() && files.is_empty() {
        return Vec::new();
    }
    writers_of(|path| {
        fs::metadata(path).is_ok_and(|data| match data.file_type().is_block_device() {
            true => numbers.contains(&as_number(data.rdev())),
            false => files.contains(&FileId::from(&data)),
        })
    })
}

/// Processes other than this one that have a file open for writing.
pub fn writers_of_file(id: &FileId) -> Vec<Process> {
    writers_of(|path| fs::metadata(path).is_ok_and(|data| FileId::from(&data) == *id))
}

fn writers_of(is_one: impl Fn(&Path) -> bool) -> Vec<Process> {
    let own = std::process::id();
    let writes = |process: &u32| {
        let files = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        files.into_iter().any(|file| {
            let about = || format!("/proc/{process}/fdinfo/{}", file.file_name().to_string_lossy());
            is_one(&file.path()) && is_for_writing(&fs::read_to_string(about()).unwrap_or_default())
        })
    };
    let writing = processes().into_iter().filter(|process| *process != own).filter(writes);
    writing.map(|id| Process { id, name: comm(id) }).collect()
}

/// Whether a file of /proc/PID/fdinfo is open for writing.
fn is_for_writing(fdinfo: &str) -> bool {
    let flags = fdinfo.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}

/// The mount points of /etc/fstab for a device with these paths, UUIDs and labels.
pub(super) fn fstab(text: &str, names: &[String], is_device: impl Fn(&str) -> bool) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let fields = lines.filter_map(|line| {
        let mut fields = line.split_whitespace();
        Some((fields.next()?, unescaped(fields.next()?)))
    });
    let wanted = fields.filter(|(device, _)| {
        let given = device.split_once('=').map(|(_, name)| name.trim_matches('"'));
        given.is_some_and(|given| names.iter().any(|name| name == given)) || is_device(device)
    });
    wanted.map(|(_, point)| point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_arrays_are_found_active_or_not() {
        let text = "Personalities : [raid1]\nmd0 : active raid1 loop1[1] loop0[0](F)\n      1022 blocks [2/2] [UU]\n\n\
                    md127 : inactive sdb1[0](S)\n      1 blocks\nunused devices: <none>\n";
        assert_eq!(array_of(text, "loop0").as_deref(), Some("md0"));
        assert_eq!(array_of(text, "sdb1").as_deref(), Some("md127"));
        assert_eq!(array_of(text, "loop"), None);
    }

    #[test]
    fn open_files_are_for_writing_by_their_flags() {
        assert!(is_for_writing("pos:\t0\nflags:\t0100002\n") && is_for_writing("flags:\t01\n"));
        assert!(!is_for_writing("pos:\t0\nflags:\t0100000\n") && !is_for_writing(""));
    }

    #[test]
    fn fstab_is_read_by_uuid_label_and_path() {
        let text =
            "# c\nUUID=1-2 /home ext4 defaults 0 2\nLABEL=\"big\" /my\\040data xfs x 0 0\n/dev/sdb none swap sw 0 0\n";
        let names = ["1-2".to_owned(), "big".to_owned()];
        assert_eq!(fstab(text, &names, |_| false), ["/home", "/my data"]);
        assert_eq!(fstab(text, &[], |path| path == "/dev/sdb"), ["none"]);
    }
}
