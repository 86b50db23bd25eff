//! The cache folder: packages, kernels, images, snapshots, corpora. All of it can be made again.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// The cache folder of this user: `$MOUNTMARK_CACHE`, else `$XDG_CACHE_HOME/mountmark`, else `~/.cache/mountmark`.
pub fn default_folder() -> PathBuf {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let path = from("MOUNTMARK_CACHE")
        // Its specification has a relative path ignored.
        .or_else(|| from("XDG_CACHE_HOME").filter(|path| path.is_absolute()).map(|path| path.join("mountmark")))
        .or_else(|| from("HOME").map(|path| path.join(".cache/mountmark")))
        .unwrap_or_else(|| std::env::temp_dir().join("mountmark-cache"));
    // apt, and agents that run in another folder, are given paths in it.
    std::path::absolute(&path).unwrap_or(path)
}

/// A name for what is made from `parts`: 16 hexadecimal digits of SHA-256, each part with its length.
pub fn key<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize())[..16].to_owned()
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// SHA-256 of a file, in hexadecimal.
pub fn sha256_file(path: &Path) -> Result<String> {
    let mut file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut hash = Sha256::new();
    std::io::copy(&mut file, &mut hash).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(hex(&hash.finalize()))
}

/// When a file was last changed, in nanoseconds since 1970; nothing if it is not there.
pub fn modified(path: &Path) -> Option<u128> {
    let time = fs::metadata(path).ok()?.modified().ok()?;
    Some(time.duration_since(std::time::UNIX_EPOCH).ok()?.as_nanos())
}

/// Makes a folder and those above it; the error says what to do.
pub fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| {
        format!("cannot make the cache folder {}; set MOUNTMARK_CACHE to a folder that you may write", path.display())
    })
}

/// Whether the cache folder can be written, without making it, and how many bytes are free there.
pub fn room(path: &Path) -> Result<u64> {
    let advice = "set MOUNTMARK_CACHE to a folder that you may write";
    let there = path.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    if there == path {
        tempfile::tempfile_in(path).with_context(|| format!("cannot write to {}; {advice}", path.display()))?;
    } else {
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        rustix::fs::access(there, access)
            .with_context(|| format!("cannot make {} in {}; {advice}", path.display(), there.display()))?;
    }
    let state = rustix::fs::statvfs(there).with_context(|| format!("cannot ask {} for its room", there.display()))?;
    Ok(state.f_bavail * state.f_frsize)
}

/// Writes a file whole or not at all, also when the power fails.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().context("a file in the cache has a folder")?;
    make_folder(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)
        .with_context(|| format!("cannot write to the cache folder {}", folder.display()))?;
    std::io::Write::write_all(&mut file, bytes).with_context(|| {
        format!(
            "cannot write {} bytes to {}; free some space there or set MOUNTMARK_CACHE",
            bytes.len(),
            folder.display()
        )
    })?;
    // A new name can outlive a power cut that the contents do not.
    file.as_file().sync_all().with_context(|| format!("cannot write {}", path.display()))?;
    file.persist(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}

/// What of a folder of the cache stays when another entry is made in it. Each version of the program, its kernel and its
/// tools makes its own images and snapshots, so that they would fill a disk in time.
pub struct Keep {
    /// Entries that no run has used for this long go.
    unused: Duration,
    /// Where the entries take more bytes than this on disk, those unused for longest go first.
    bytes: u64,
}

/// An entry used as lately as this stays in any case: its run may be about to open it.
const LATELY: Duration = Duration::from_secs(900);

impl Keep {
    /// What one program uses in two weeks, and at most about `bytes`.
    pub const fn at_most(bytes: u64) -> Keep {
        Keep { unused: Duration::from_secs(14 * 24 * 3600), bytes }
    }
}

/// Notes that an entry is in use now; `last` is the file of it that is written last.
pub fn mark_used(last: &Path) {
    // A cache that cannot be written serves all the same.
    let _ = File::options().write(true).open(last).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Removes the entries of `folder` that need not stay; `last` names the file that is written last in each. What is in
/// use, half-made or cannot be removed stays.
pub fn prune(folder: &Path, last: &str, keep: &Keep) {
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
        // Another run may have begun to use it while others were removed.
        if !stays
            && let Ok(Some(_lock)) = Lock::try_take(&path)
            && age(&path).is_none_or(|age| age > LATELY)
        {
            let _ = fs::remove_dir_all(&path);
            let _ = fs::remove_file(path.with_extension("lock"));
        }
    }
}

/// What the files of a folder take on disk; a guest's RAM is mostly holes.
fn bytes_on_disk(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|data| data.blocks() * 512).sum()
}

/// Held while a thing in the cache is made, so that two runs do not make it twice.
pub struct Lock(#[allow(dead_code)] File);

impl Lock {
    /// Waits for the lock file beside `path`.
    pub fn take(path: &Path) -> Result<Lock> {
        if let Some(folder) = path.parent() {
            make_folder(folder)?;
        }
        let path = path.with_extension("lock");
        loop {
            let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
            rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)
                .with_context(|| format!("cannot lock {}", path.display()))?;
            if is_at(&file, &path) {
                return Ok(Lock(file));
            }
        }
    }

    /// As [`Lock::take`], or nothing if another holds it.
    pub fn try_take(path: &Path) -> Result<Option<Lock>> {
        let path = path.with_extension("lock");
        let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(is_at(&file, &path).then_some(Lock(file))),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
        }
    }
}

/// Whether a locked file still has its name: who held the lock before may have removed it.
fn is_at(file: &File, path: &Path) -> bool {
    let id = |data: fs::Metadata| (data.dev(), data.ino());
    file.metadata().map(id).ok() == fs::metadata(path).map(id).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEEP: Keep = Keep::at_most(1 << 20);

    /// An entry of so many bytes that was used so many hours ago.
    fn entry(folder: &Path, name: &str, bytes: usize, hours: u64) {
        fs::create_dir(folder.join(name)).unwrap();
        let last = folder.join(name).join("last");
        fs::write(&last, vec![1; bytes]).unwrap();
        let when = SystemTime::now() - Duration::from_secs(hours * 3600 + 60);
        File::options().write(true).open(&last).unwrap().set_modified(when).unwrap();
    }

    /// The names of the entries left.
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
        // Where what was used just now takes the room alone, it stays, and all else goes.
        entry(folder.path(), "large", 2 << 20, 0);
        prune(folder.path(), "last", &KEEP);
        assert_eq!(left(folder.path()), ["large", "now"]);
    }
}
