//! The cache folder: packages, kernels, images, snapshots, contents of disks, corpora. All of it can be made again.
//!
//! Entries are written completely or not at all, and checked before use. The cache contains no absolute path, so that
//! it can be moved and copied; if it holds all that a run needs, it may be read-only.

mod keep;
mod kept_file;
pub(crate) mod lock;
pub(crate) mod own;
mod program;
pub(crate) mod sparse;
mod stamp;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use mountmark_model::format_bytes;
use sha2::{Digest, Sha256};

pub(crate) use keep::{Keep, mark_used, prune};
pub(crate) use kept_file::KeptFile;
pub use lock::InUse;
pub(crate) use lock::Lock;
pub use own::check as check_own;
pub(crate) use program::sha256_of_program;
pub(crate) use stamp::Stamp;

/// The remedy for an unusable cache folder.
const ELSEWHERE: &str = "set MOUNTMARK_CACHE to a folder that you may write";

/// The cache folder of this user: `$MOUNTMARK_CACHE`, else `$XDG_CACHE_HOME/mountmark`, else `~/.cache/mountmark`.
pub fn default_folder() -> PathBuf {
    let path = mountmark_input::from_environment("MOUNTMARK_CACHE")
        .or_else(|| mountmark_input::own_folder("XDG_CACHE_HOME", ".cache"))
        .unwrap_or_else(|| {
            std::env::temp_dir().join(format!("mountmark-cache-{}", rustix::process::geteuid().as_raw()))
        });
    // apt, and agents that run in another folder, get paths in it.
    std::path::absolute(&path).unwrap_or(path)
}

/// The cache key of `parts`: 16 hexadecimal digits of SHA-256, each part hashed with its length.
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
    let hash = File::open(path).and_then(|mut file| sha256_of(&mut file));
    hash.with_context(|| format!("cannot read {}", path.display()))
}

/// SHA-256 of what is left to read, in hexadecimal.
fn sha256_of(file: &mut File) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(file, &mut hash)?;
    Ok(hex(&hash.finalize()))
}

/// Opens a cache folder for a run, and creates it if it is missing. Keep the result for the lifetime of the run.
///
/// # Errors
/// A folder that cannot be created, that others may write to ([`check_trust`]), or that holds what is not this program's.
pub fn open(cache: &Path) -> Result<InUse> {
    loop {
        if !cache.is_dir() {
            make_folder(cache)?;
        }
        check_trust(cache)?;
        let in_use = InUse::share(cache);
        // `mountmark clean` may have held the lock and removed the folder.
        if in_use.is_of(cache) {
            own::claim(cache)?;
            return Ok(in_use);
        }
    }
}

/// Refuses a cache folder whose contents another user may have written: this program starts guests from it, and apt
/// with the sources in it. A folder of root's that only root may write to is accepted, and so is a missing one.
///
/// # Errors
/// The folder's owner, or who may write to it, and the remedy.
pub fn check_trust(cache: &Path) -> Result<()> {
    let Ok(path) = fs::canonicalize(cache) else { return Ok(()) };
    let data = fs::metadata(&path).with_context(|| format!("cannot look at {}", path.display()))?;
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let strange = |data: &fs::Metadata| data.is_symlink() && data.uid() != user && data.uid() != 0;
    if let Some(link) = cache.ancestors().find(|path| fs::symlink_metadata(path).is_ok_and(|data| strange(&data))) {
        bail!("{} is another user's link, who could point it elsewhere: set MOUNTMARK_CACHE", link.display());
    }
    let shown = path.display();
    if data.uid() != user && data.uid() != 0 {
        bail!(
            "the cache folder {shown} belongs to user {}, who could have put anything in it: set MOUNTMARK_CACHE to a \
             folder of your own, or HOME to your home",
            data.uid()
        );
    }
    // Some systems create all files with the user's own group.
    let by_group = data.mode() & 0o020 != 0 && data.gid() != group;
    if data.mode() & 0o002 != 0 || by_group {
        bail!(
            "other users may write to the cache folder {shown}: chmod go-w {shown}; and if you do not trust \
             them, mountmark clean --cache, which removes your own shelf of measured cells, too"
        );
    }
    // In a world-writable parent folder another user can replace this one, unless that folder is sticky.
    let open =
        path.ancestors().skip(1).find(|above| fs::metadata(above).is_ok_and(|data| data.mode() & 0o1002 == 0o002));
    if let Some(above) = open {
        bail!(
            "anybody may put another folder in the place of the cache folder {shown}, as {} is writable for all: chmod o-w \
             {}, or set MOUNTMARK_CACHE",
            above.display(),
            above.display()
        );
    }
    Ok(())
}

/// Creates a folder of the cache and its parents, writable by this user only.
///
/// # Errors
/// A folder that cannot be created, with the remedy.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(path)
        .with_context(|| format!("cannot make the cache folder {}; {ELSEWHERE}", path.display()))
}

/// Bytes free in the cache folder; an error if it cannot be written. Does not create it.
pub fn room(path: &Path) -> Result<u64> {
    let there = existing(path);
    if there == path {
        tempfile::tempfile_in(path).with_context(|| format!("cannot write to {}; {ELSEWHERE}", path.display()))?;
    } else {
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        rustix::fs::access(there, access)
            .with_context(|| format!("cannot make {} in {}; {ELSEWHERE}", path.display(), there.display()))?;
    }
    free(there).with_context(|| format!("cannot ask {} for its room", there.display()))
}

/// A folder, or its lowest existing parent.
fn existing(path: &Path) -> &Path {
    path.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"))
}

/// Bytes free for this user in a folder, or where it would be created; `None` if its file system does not report them.
fn free(folder: &Path) -> Option<u64> {
    let state = rustix::fs::statvfs(existing(folder)).ok().filter(|state| state.f_blocks > 0)?;
    Some(state.f_bavail.saturating_mul(state.f_frsize))
}

/// Refuses to begin work that cannot fit: `what` takes at least `bytes` in `folder`.
///
/// # Errors
/// [`no_space`].
pub(crate) fn need_room(folder: &Path, bytes: u64, what: &str) -> Result<()> {
    if free(folder).is_some_and(|free| free < bytes) { Err(no_space(folder, Some(bytes), what)) } else { Ok(()) }
}

/// An error that `what` has no space in `folder`: the size it needs, if known, the free space, and the remedy.
pub fn no_space(folder: &Path, bytes: Option<u64>, what: &str) -> anyhow::Error {
    let takes = bytes.map(|bytes| format!("it takes about {}", format_bytes(bytes)));
    let there = free(folder).map(|free| format!("{} are free", format_bytes(free)));
    let sizes: Vec<String> = takes.into_iter().chain(there).collect();
    anyhow::anyhow!(
        "no space for {what} in {}{}{}; free some there, or set MOUNTMARK_CACHE to a new folder where there is room",
        folder.display(),
        if sizes.is_empty() { "" } else { ": " },
        sizes.join(", ")
    )
}

/// Whether a folder is almost full, so that a failure there is due to lack of space.
pub fn is_full(folder: &Path) -> bool {
    free(folder).is_some_and(|free| free < 256 << 10)
}

/// Whether the cause of an error is lack of space.
pub fn is_no_space(error: &anyhow::Error) -> bool {
    let kinds = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    kinds.into_iter().any(|kind| matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
}

/// Whether an error means that this user may not write there.
pub fn bars(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
}

/// As [`bars`], for the cause of an error.
pub fn is_barred(error: &anyhow::Error) -> bool {
    error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).any(bars)
}

/// Writes a file completely or not at all, even on a power failure. An identical file is not rewritten, so that a
/// read-only cache works as long as nothing is new.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    let folder = path.parent().context("a file in the cache has a folder")?;
    make_folder(folder)?;
    let written = || -> io::Result<()> {
        let mut file = lock::new_file(folder)?;
        io::Write::write_all(&mut file, bytes)?;
        // After a power cut a new name can exist without the contents.
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    written().map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            no_space(folder, Some(bytes.len() as u64), &path.file_name().unwrap_or_default().to_string_lossy())
        }
        _ => anyhow::Error::new(error).context(format!("cannot write {}; {ELSEWHERE}", path.display())),
    })
}

/// Writes data that saves work the next time; the same data again are as young as new ones. In a read-only cache this
/// fails, without harm.
pub fn note(path: &Path, bytes: &[u8]) -> Result<()> {
    match write_whole(path, bytes) {
        Err(error) if is_barred(&error) => Ok(()),
        Err(error) => Err(error),
        Ok(()) => {
            mark_used(path);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_cache_that_others_may_write_to_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let cache = parent.path().join("cache");
        let refusal = || check_trust(&cache).err().map(|error| error.to_string()).unwrap_or_default();
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(refusal(), "", "nobody has made it");
        drop(open(&cache).unwrap());
        assert_eq!(fs::metadata(&cache).unwrap().mode() & 0o022, 0);
        set(&cache, 0o777);
        assert!(refusal().contains("other users may write") && refusal().contains("chmod go-w"), "{}", refusal());
        set(&cache, 0o700);
        // Others can rename it, unless the parent folder is sticky.
        set(parent.path(), 0o777);
        assert!(refusal().contains("another folder in the place"), "{}", refusal());
        set(parent.path(), 0o1777);
        assert_eq!(refusal(), "");
        set(parent.path(), 0o700);
        if !rustix::process::geteuid().is_root() {
            eprintln!("the rest is skipped: only root can give a folder away");
            return;
        }
        std::os::unix::fs::chown(&cache, Some(12345), None).unwrap();
        assert!(refusal().contains("belongs to user 12345") && refusal().contains("MOUNTMARK_CACHE"), "{}", refusal());
        assert!(open(&cache).is_err());
        let link = parent.path().join("link");
        std::os::unix::fs::symlink(parent.path(), &link).unwrap();
        check_trust(&link).unwrap();
        std::os::unix::fs::lchown(&link, Some(12345), None).unwrap();
        assert!(check_trust(&link).unwrap_err().to_string().contains("another user's link"));
    }

    #[test]
    fn too_little_room_is_told_with_sizes_and_the_mend() {
        let folder = tempfile::tempdir().unwrap();
        need_room(folder.path(), 4096, "a thing").unwrap();
        let error = need_room(&folder.path().join("not/there"), 1 << 60, "a thing").unwrap_err().to_string();
        for part in ["no space for a thing in", "it takes about", "are free", "MOUNTMARK_CACHE"] {
            assert!(error.contains(part), "{error}");
        }
    }
}
