//! What killed runs left behind, and the whole cache where it is no longer wanted.
//!
//! Finding changes nothing. Only what is surely this program's is found: guests by their command line and a parent
//! that is gone, folders by a name that says whose they are, half-made entries of the cache by the lock that nobody
//! holds. Symbolic links are never followed.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use mountmark_model::format_bytes;

use crate::cache::Lock;

/// Begins the names of temporary folders; the owner's process id follows.
const FOLDER_PREFIX: &str = "mountmark-guest-";
/// Files being written into the cache begin so: the crate tempfile's name and the corpora's.
const PARTIAL_PREFIXES: [&str; 2] = [".tmp", ".partial-"];
/// A file younger than this may have an owner that has not locked it yet.
const GRACE: Duration = Duration::from_secs(60);
/// Folders of the cache whose entries are made under a lock, and the file that is written last.
const ENTRIES: [(&str, &str); 3] =
    [("images", "image.json"), ("packages", ".complete"), ("snapshots", "snapshot.json")];
/// The host lab's journals.
const JOURNALS: &str = "undo";
/// Everything that a cache folder holds.
const CACHE_FOLDERS: [&str; 8] = ["apt", "closures", "corpora", "images", "kernels", "packages", "snapshots", JOURNALS];

/// A thing that can be removed.
#[derive(Debug)]
pub struct Leftover {
    kind: Kind,
    about: String,
}

#[derive(Debug)]
enum Kind {
    Guest(i32),
    Path { path: PathBuf, lock: Option<PathBuf> },
}

impl Leftover {
    fn path(path: PathBuf, lock: Option<PathBuf>, about: &str) -> Leftover {
        let about = format!("{} ({about}, {})", path.display(), format_bytes(size(&path)));
        Leftover { kind: Kind::Path { path, lock }, about }
    }

    /// What it is, for a line.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Whether it lies in `folder`.
    pub fn is_in(&self, folder: &Path) -> bool {
        matches!(&self.kind, Kind::Path { path, .. } if path.starts_with(folder))
    }

    /// Removes it; `false` if it is in use after all.
    pub fn remove(&self) -> Result<bool> {
        match &self.kind {
            Kind::Guest(process) => end_guest(*process),
            Kind::Path { path, lock } => {
                // Held until the entry is gone, so that a run which begins now waits and makes it anew.
                let _lock = match lock {
                    Some(lock) => match Lock::try_take(lock)? {
                        Some(held) => Some(held),
                        None => return Ok(false),
                    },
                    None => None,
                };
                let removed = match fs::symlink_metadata(path) {
                    Ok(data) if data.is_dir() => fs::remove_dir_all(path),
                    Ok(_) => fs::remove_file(path),
                    Err(error) => Err(error),
                };
                match removed {
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
                    other => other.map(|()| true).with_context(|| format!("cannot remove {}", path.display())),
                }
            }
        }
    }
}

/// What killed runs left: guests, temporary folders, half-made entries of the cache.
pub fn find(cache: &Path, temporary: &Path) -> Vec<Leftover> {
    let mut found: Vec<Leftover> = processes()
        .into_iter()
        .filter(|process| is_orphaned_guest(*process))
        .map(|process| Leftover {
            kind: Kind::Guest(process),
            about: format!("process {process} (a guest without its run)"),
        })
        .collect();
    for (path, data) in own_entries(temporary) {
        if data.is_dir() && owner(&path).is_some_and(|process| !is_alive_since(process, &data)) {
            found.push(Leftover::path(path, None, "folder of a guest that is gone"));
        }
    }
    for folder in CACHE_FOLDERS {
        let folder = cache.join(folder);
        if !is_real_folder(&folder) {
            continue;
        }
        let busy = own_entries(&folder).iter().any(|(path, _)| is_lock(path) && is_held(path));
        for (path, data) in own_entries(&folder) {
            let name = file_name(&path);
            let partial = PARTIAL_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
            if partial && !busy && is_old(&data) && !(data.is_file() && is_held(&path)) {
                found.push(Leftover::path(path, None, "never finished"));
            }
        }
    }
    for (folder, last) in ENTRIES {
        let folder = cache.join(folder);
        if !is_real_folder(&folder) {
            continue;
        }
        for (path, data) in own_entries(&folder) {
            let hidden = file_name(&path).starts_with('.');
            if data.is_dir() && !hidden && !path.join(last).exists() && !is_held(&path.with_extension("lock")) {
                found.push(Leftover::path(path.clone(), Some(path), "never finished"));
            }
        }
    }
    found
}

/// The parts of the cache folder, all of them; nothing if there is no such folder. An error if it holds what is not
/// ours or is in use.
pub fn whole_cache(cache: &Path) -> Result<Vec<Leftover>> {
    let mut parts: Vec<PathBuf> = Vec::new();
    let Ok(entries) = fs::read_dir(cache) else { return Ok(Vec::new()) };
    for entry in entries {
        let path = entry.with_context(|| format!("cannot read {}", cache.display()))?.path();
        let name = file_name(&path);
        if !CACHE_FOLDERS.contains(&name.as_str()) {
            bail!("{} holds {name:?}, which Mountmark did not put there; nothing was removed", cache.display());
        }
        if !is_real_folder(&path) {
            bail!("{} is no folder of the cache but a link or a file; nothing was removed", path.display());
        }
        parts.push(path);
    }
    parts.sort();
    // One common name may be anybody's.
    if let [part] = parts.as_slice()
        && !own_entries(part).iter().all(|(path, _)| is_corpus(path))
    {
        bail!(
            "{} holds nothing but {}, which may not be Mountmark's: look at it, and remove it by hand",
            cache.display(),
            file_name(part)
        );
    }
    for part in &parts {
        if let Some((held, _)) = own_entries(part).into_iter().find(|(path, _)| is_lock(path) && is_held(path)) {
            bail!("the cache is in use ({} is locked); end the run first", held.display());
        }
    }
    // What the host lab has yet to put back goes when that is done.
    parts.retain(|part| !part.ends_with(JOURNALS));
    if let Some(process) = processes().into_iter().find(|process| uses(*process, cache)) {
        bail!("the cache is in use by the guest in process {process}; end its run first");
    }
    Ok(parts.into_iter().map(|path| Leftover::path(path, None, "part of the cache")).collect())
}

/// `mountmark-guest-123-AbCdEf` is process 123's.
fn owner(folder: &Path) -> Option<i32> {
    let (process, _) =
        file_name(folder).strip_prefix(FOLDER_PREFIX)?.split_once('-').map(|(a, b)| (a.to_owned(), b.to_owned()))?;
    process.parse().ok().filter(|process| *process > 0)
}

/// Whether the process lives and is not a later one of the same number.
fn is_alive_since(process: i32, folder: &Metadata) -> bool {
    let Some(started) = started(process) else { return false };
    let made = folder.created().or_else(|_| folder.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    // A process's start is known to a hundredth of a second, and the machine's to a second.
    started <= made + Duration::from_secs(2)
}

fn started(process: i32) -> Option<SystemTime> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // What follows the name, which may hold anything: state is the third field, the start the 22nd.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    if fields.first() == Some(&"Z") {
        return None;
    }
    let ticks: u64 = fields.get(19)?.parse().ok()?;
    let boot = fs::read_to_string("/proc/stat").ok()?;
    let boot: u64 = boot.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(boot) + Duration::from_millis(ticks * 10))
}

fn processes() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut processes: Vec<i32> = entries.flatten().filter_map(|entry| file_name(&entry.path()).parse().ok()).collect();
    processes.sort();
    processes
}

/// The arguments of a QEMU with our devices, if the process is one of this user's.
fn guest(process: i32) -> Option<Vec<String>> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    if fs::symlink_metadata(&folder).ok()?.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    let line = fs::read(folder.join("cmdline")).ok()?;
    let arguments: Vec<String> =
        line.split(|&byte| byte == 0).map(|part| String::from_utf8_lossy(part).into()).collect();
    let has = |start: &str| arguments.iter().any(|argument| argument.starts_with(start));
    let ours = file_name(Path::new(arguments.first()?)) == crate::emulator::qemu::PROGRAM
        && has("memory-backend-file,id=media,")
        && has("isa-debugcon,iobase=0xe9,chardev=events");
    ours.then_some(arguments)
}

fn is_orphaned_guest(process: i32) -> bool {
    guest(process).is_some() && parent(process).is_some_and(adopts)
}

/// Whether the process is a guest whose image lies in the cache.
fn uses(process: i32, cache: &Path) -> bool {
    let Some(arguments) = guest(process) else { return false };
    let image = arguments.iter().skip_while(|argument| *argument != "-initrd").nth(1).map(fs::canonicalize);
    matches!((image, fs::canonicalize(cache)), (Some(Ok(image)), Ok(cache)) if image.starts_with(&cache))
}

fn parent(process: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Whether a process takes in those whose parent is gone: the first one, or a user's systemd.
fn adopts(process: i32) -> bool {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    (process == 1 && !name.starts_with("mountmark")) || name.trim() == "systemd"
}

fn end_guest(process: i32) -> Result<bool> {
    use rustix::process::{Pid, PidfdFlags, Signal};
    let Some(id) = Pid::from_raw(process) else { return Ok(false) };
    // What is looked at through this cannot become another process in between.
    let Ok(handle) = rustix::process::pidfd_open(id, PidfdFlags::empty()) else { return Ok(false) };
    if !is_orphaned_guest(process) {
        return Ok(false);
    }
    rustix::process::pidfd_send_signal(&handle, Signal::KILL)
        .with_context(|| format!("cannot end process {process}"))?;
    Ok(true)
}

fn is_real_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_dir())
}

/// Whether a file's name is one that corpora are kept under: `NAME-0123456789abcdef.tar`, its description or its lock.
fn is_corpus(path: &Path) -> bool {
    let name = file_name(path);
    let stem = name.split_once('.').map_or(name.as_str(), |(stem, _)| stem);
    stem.rsplit_once('-').is_some_and(|(_, key)| key.len() == 16 && key.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn is_lock(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "lock")
}

/// Whether somebody holds the lock on a file; one that is not there is held by nobody.
fn is_held(path: &Path) -> bool {
    use rustix::fs::FlockOperation;
    let Ok(file) = File::open(path) else { return false };
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
}

fn is_old(data: &Metadata) -> bool {
    data.modified().ok().and_then(|time| SystemTime::now().duration_since(time).ok()).is_some_and(|age| age > GRACE)
}

/// What of a folder belongs to this user, sorted.
fn own_entries(folder: &Path) -> Vec<(PathBuf, Metadata)> {
    let user = rustix::process::geteuid().as_raw();
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut entries: Vec<(PathBuf, Metadata)> = entries
        .flatten()
        .filter_map(|entry| Some((entry.path(), fs::symlink_metadata(entry.path()).ok()?)))
        .filter(|(_, data)| data.uid() == user)
        .collect();
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    entries
}

/// Bytes on the disk, of a folder with all that is in it.
fn size(path: &Path) -> u64 {
    let Ok(data) = fs::symlink_metadata(path) else { return 0 };
    let inside = match fs::read_dir(path) {
        Ok(entries) if data.is_dir() => entries.flatten().map(|entry| size(&entry.path())).sum(),
        _ => 0,
    };
    data.blocks() * 512 + inside
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abouts(found: &[Leftover]) -> Vec<String> {
        found.iter().map(|leftover| leftover.about().to_owned()).collect()
    }

    #[test]
    fn folders_name_their_owner() {
        assert_eq!(owner(Path::new("/tmp/mountmark-guest-123-AbC")), Some(123));
        for other in
            ["/tmp/mountmark-guest-AbCdEf", "/tmp/mountmark-guest-0-a", "/tmp/mountmark-guest-x-a", "/tmp/other"]
        {
            assert_eq!(owner(Path::new(other)), None, "{other}");
        }
    }

    #[test]
    fn a_living_owner_keeps_its_folder_and_a_dead_one_does_not() {
        let temporary = tempfile::tempdir().unwrap();
        let cache = temporary.path().join("no-cache");
        let ours = temporary.path().join(format!("{FOLDER_PREFIX}{}-a", std::process::id()));
        // Process ids end at 4,194,304.
        let dead = temporary.path().join(format!("{FOLDER_PREFIX}4194999-a"));
        fs::create_dir(&ours).unwrap();
        fs::create_dir(&dead).unwrap();
        let found = find(&cache, temporary.path());
        assert!(abouts(&found).iter().all(|about| !about.contains(&*ours.to_string_lossy())));
        let leftover = found.iter().find(|found| found.about().contains(&*dead.to_string_lossy())).unwrap();
        assert!(leftover.remove().unwrap());
        assert!(ours.exists() && !dead.exists());
        assert!(!leftover.remove().unwrap(), "it is gone already");
    }

    #[test]
    fn half_made_entries_are_found_unless_they_are_being_made() {
        let cache = tempfile::tempdir().unwrap();
        let empty = tempfile::tempdir().unwrap();
        let (half, whole, making) =
            (cache.path().join("images/aa"), cache.path().join("images/bb"), cache.path().join("images/cc"));
        for folder in [&half, &whole, &making] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(whole.join("image.json"), "{}").unwrap();
        let _lock = Lock::take(&making).unwrap();
        let found: Vec<Leftover> = find(cache.path(), empty.path())
            .into_iter()
            .filter(|found| matches!(found.kind, Kind::Path { .. }))
            .collect();
        assert_eq!(found.len(), 1, "{:?}", abouts(&found));
        assert!(found[0].remove().unwrap());
        assert!(!half.exists() && whole.exists() && making.exists());
        let error = whole_cache(cache.path()).unwrap_err().to_string();
        assert!(error.contains("images"), "{error}");
        fs::create_dir(cache.path().join("closures")).unwrap();
        let error = whole_cache(cache.path()).unwrap_err().to_string();
        assert!(error.contains("in use"), "{error}");
    }

    #[test]
    fn a_folder_with_strangers_is_no_cache() {
        let cache = tempfile::tempdir().unwrap();
        let empty = tempfile::tempdir().unwrap();
        for folder in ["closures", "images", "packages"] {
            fs::create_dir(cache.path().join(folder)).unwrap();
        }
        assert_eq!(whole_cache(cache.path()).unwrap().len(), 3);
        fs::write(cache.path().join("letter.txt"), "dear").unwrap();
        let error = whole_cache(cache.path()).unwrap_err().to_string();
        assert!(error.contains("letter.txt"), "{error}");
        fs::remove_file(cache.path().join("letter.txt")).unwrap();
        std::os::unix::fs::symlink(empty.path(), cache.path().join("kernels")).unwrap();
        assert!(whole_cache(cache.path()).is_err());
        assert!(whole_cache(&cache.path().join("nowhere")).unwrap().is_empty());
    }
}
