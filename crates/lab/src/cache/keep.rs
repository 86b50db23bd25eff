//! Evicts images and snapshots: each version of the program, its kernel and its tools makes its own, so that they would
//! fill a disk in time.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::lock::{Lock, beside};

/// Limits of a folder of the cache, applied when another entry is made.
pub struct Keep {
    /// Entries unused for this long are evicted.
    unused: Duration,
    /// If the entries take more bytes than this on disk, they are evicted in LRU order.
    bytes: u64,
}

/// Entries used this recently are never evicted: a run may be about to open them.
const LATELY: Duration = Duration::from_secs(900);

impl Keep {
    /// Entries used within two weeks, and at most about `bytes`.
    pub const fn at_most(bytes: u64) -> Keep {
        Keep { unused: Duration::from_secs(14 * 24 * 3600), bytes }
    }
}

/// Marks an entry as in use; `last` is the file of it that is written last.
pub(crate) fn mark_used(last: &Path) {
    // In a read-only cache this fails, without harm.
    let _ = File::options().write(true).open(last).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Evicts entries of `folder` beyond the limits; `last` names the file that is written last in each. Entries that are
/// in use or half-made stay, and so do those that cannot be removed.
pub(crate) fn prune(folder: &Path, last: &str, keep: &Keep) {
    let age = |path: &Path| fs::metadata(path.join(last)).ok()?.modified().ok()?.elapsed().ok();
    let mut entries: Vec<(Duration, u64, PathBuf)> = (fs::read_dir(folder).into_iter().flatten().flatten())
        .filter_map(|entry| {
            let path = entry.path();
            Some((age(&path)?, bytes_on_disk(&path), path))
        })
        .collect();
    entries.sort();
    let mut total = 0;
    for (unused, bytes, path) in entries {
        total += bytes;
        let stays = unused <= LATELY || (unused <= keep.unused && total <= keep.bytes);
        // Another run may have begun to use it during the eviction of others.
        if !stays
            && let Ok(Some(_lock)) = Lock::try_take(&path)
            && age(&path).is_none_or(|age| age > LATELY)
        {
            let _ = fs::remove_dir_all(&path);
            let _ = fs::remove_file(beside(&path));
        }
    }
}

/// Bytes of a folder's files on disk; a guest's RAM is mostly holes.
fn bytes_on_disk(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|data| data.blocks() * 512).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEEP: Keep = Keep::at_most(1 << 20);

    /// An entry of `bytes` bytes, last used `hours` hours ago.
    fn entry(folder: &Path, name: &str, bytes: usize, hours: u64) {
        fs::create_dir(folder.join(name)).unwrap();
        let last = folder.join(name).join("last");
        fs::write(&last, vec![1; bytes]).unwrap();
        let when = SystemTime::now() - Duration::from_secs(hours * 3600 + 60);
        File::options().write(true).open(&last).unwrap().set_modified(when).unwrap();
    }

    fn left(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.ends_with(".lock"))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn entries_go_when_they_were_not_used_for_long() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["old", "used", "locked"] {
            entry(folder.path(), name, 0, 14 * 24);
        }
        fs::create_dir(folder.path().join("half-made")).unwrap();
        mark_used(&folder.path().join("used/last"));
        let lock = Lock::take(&folder.path().join("locked")).unwrap();
        prune(folder.path(), "last", &KEEP);
        assert_eq!(left(folder.path()), ["half-made", "locked", "used"]);
        drop(lock);
        prune(folder.path(), "last", &KEEP);
        assert_eq!(left(folder.path()), ["half-made", "used"]);
    }

    #[test]
    fn the_entries_unused_for_longest_go_when_all_take_too_much_room() {
        let folder = tempfile::tempdir().unwrap();
        for (name, hours) in [("day", 24), ("now", 0), ("two-hours", 2), ("week", 168)] {
            entry(folder.path(), name, 400 << 10, hours);
        }
        prune(folder.path(), "last", &KEEP);
        assert_eq!(left(folder.path()), ["now", "two-hours"]);
        // If the most recently used entry alone exceeds the limit, it stays, and all others are evicted.
        entry(folder.path(), "large", 2 << 20, 0);
        prune(folder.path(), "last", &KEEP);
        assert_eq!(left(folder.path()), ["large", "now"]);
    }
}
