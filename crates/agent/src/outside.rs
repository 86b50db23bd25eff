//! What tasks wrote beside the file system under test: it lies in a guest's memory, and is not what was measured.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use mountmark_model::{Bytes, counted};

use super::tree::CHANGED;

/// Where commands may leave files. What else there is belongs to the kernel, the disks or the agent.
const FOLDERS: [&str; 10] = ["/tmp", "/var", "/home", "/root", "/opt", "/srv", "/mnt", "/etc", "/dev/shm", CHANGED];
/// What the agent keeps there.
const AGENTS: &str = "mountmark-";
/// Most entries that are looked at.
const MOST: usize = 10_000;
/// Files that a note names.
const SHOWN: usize = 3;

/// Nanoseconds since 1970 on this kernel's clock of the day.
pub(super) fn time() -> i128 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}

/// A sentence about the files that were changed between two times, if there are any.
pub(super) fn note(from: i128, until: i128) -> Option<String> {
    let mut found = Vec::new();
    let mut left = MOST;
    for folder in FOLDERS {
        changed(Path::new(folder), (from, until), &mut left, &mut found);
    }
    let bytes: u64 = found.iter().map(|(_, bytes)| bytes).sum();
    let name = |(path, _): &(PathBuf, u64)| {
        let own = path.strip_prefix(CHANGED).map_or_else(|_| path.clone(), |inside| Path::new("/").join(inside));
        own.display().to_string()
    };
    let names: Vec<String> = found.iter().take(SHOWN).map(name).collect();
    let more = if found.len() > SHOWN { ", ..." } else { "" };
    (!found.is_empty()).then(|| {
        format!(
            "tasks wrote {} ({}{more}; {}) beside the file system under test, in memory: that is not measured as its work",
            counted(found.len(), "file"),
            names.join(", "),
            Bytes(bytes)
        )
    })
}

/// Adds the regular files below a folder that were changed in that time.
fn changed(folder: &Path, (from, until): (i128, i128), left: &mut usize, found: &mut Vec<(PathBuf, u64)>) {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        if *left == 0 || entry.file_name().to_string_lossy().starts_with(AGENTS) {
            continue;
        }
        *left -= 1;
        let Ok(data) = entry.metadata() else { continue };
        if data.is_dir() {
            changed(&entry.path(), (from, until), left, found);
        } else if data.is_file() {
            let at = i128::from(data.ctime()) * 1_000_000_000 + i128::from(data.ctime_nsec());
            if (from..=until).contains(&at) {
                found.push((entry.path(), data.len()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_meanwhile_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| fs::write(folder.path().join(name), name).unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        write("before");
        std::thread::sleep(std::time::Duration::from_millis(20));
        let from = time();
        std::thread::sleep(std::time::Duration::from_millis(20));
        write("b");
        write("below/a");
        write("mountmark-1");
        let until = time();
        std::thread::sleep(std::time::Duration::from_millis(20));
        write("later");
        let find = |mut left: usize| {
            let mut found = Vec::new();
            changed(folder.path(), (from, until), &mut left, &mut found);
            found
                .into_iter()
                .map(|(path, bytes)| (path.strip_prefix(folder.path()).unwrap().to_owned(), bytes))
                .collect::<Vec<_>>()
        };
        assert_eq!(find(MOST), [("b".into(), 1), ("below/a".into(), 7)]);
        assert_eq!(find(1), [("b".into(), 1)]);
    }
}
