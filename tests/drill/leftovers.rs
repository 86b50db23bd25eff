//! Leftovers of a killed program: processes, temporary folders, loop devices, mounts, unfinished entries of the cache.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Time for the kernel to clean up after a kill: a guest's memory is gigabytes.
const GRACE: Duration = Duration::from_secs(3);
/// Where agents store the output of tasks.
const SHARED_MEMORY: &str = "/dev/shm";
/// Prefix of a finding about the cache, followed by the path.
const HALF_MADE: &str = "half-made in the cache: ";

/// Where to look.
pub struct Places<'a> {
    /// `NAME=VALUE` in the environment of all processes that the program has started.
    pub mark: &'a str,
    /// The drill's own folder, with everything below it.
    pub root: &'a Path,
    pub temporary: &'a Path,
    pub cache: &'a Path,
    /// Whether it may run agents on this machine, whose folders all programs share.
    pub host: bool,
    /// The drill's own device, which stays.
    pub device: Option<&'a str>,
    /// When the program was started.
    pub since: SystemTime,
}

/// All leftovers, one sentence each.
pub fn find(places: &Places) -> Vec<String> {
    let begin = Instant::now();
    let mut living = processes(places.mark);
    while !living.is_empty() && begin.elapsed() < GRACE {
        thread::sleep(Duration::from_millis(20));
        living = processes(places.mark);
    }
    let mut left: Vec<String> = living.into_iter().map(|line| format!("a process lives on: {line}")).collect();
    left.extend(names(places.temporary).into_iter().map(|name| format!("a temporary file is left: {name}")));
    left.extend(half_made_entries(places.cache));
    left.extend(loop_devices(places.root, places.device));
    left.extend(mounts(places.root));
    if places.host {
        left.extend(scratch(places.since));
    }
    left
}

/// Command lines of living processes with `mark` in their environment. Exiting processes have none.
pub fn processes(mark: &str) -> Vec<String> {
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let ours = folders.filter(|folder| {
        let environment = fs::read(folder.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
    });
    ours.map(|folder| {
        let line = fs::read(folder.join("cmdline")).unwrap_or_default();
        let line: String = String::from_utf8_lossy(&line).replace('\0', " ").chars().take(120).collect();
        format!("{} {line}", folder.file_name().unwrap_or_default().to_string_lossy())
    })
    .collect()
}

/// Removes the leftovers that [`find`] found, so that they are not attributed to the next kill.
pub fn take_away(places: &Places, found: &[String]) {
    for line in processes(places.mark) {
        if let Some(process) = line.split(' ').next().and_then(|number| number.parse().ok()) {
            // SAFETY: takes two numbers; the process has the drill's own mark.
            unsafe { libc::kill(process, libc::SIGKILL) };
        }
    }
    let half_made = found.iter().filter_map(|text| text.strip_prefix(HALF_MADE)).map(|name| places.cache.join(name));
    let temporary = names(places.temporary).into_iter().map(|name| places.temporary.join(name));
    for path in half_made.chain(temporary) {
        let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn half_made_entries(cache: &Path) -> Vec<String> {
    let mut left = Vec::new();
    for (folder, last) in [("images", "image.json"), ("packages", ".complete"), ("snapshots", "snapshot.json")] {
        let half = names(&cache.join(folder)).into_iter().filter(|name| {
            let path = cache.join(folder).join(name);
            !name.starts_with('.') && path.is_dir() && !path.join(last).exists()
        });
        left.extend(half.map(|name| format!("{HALF_MADE}{folder}/{name}")));
    }
    for folder in names(cache) {
        let partial = names(&cache.join(&folder)).into_iter();
        let partial = partial.filter(|name| name.starts_with(".tmp") || name.starts_with(".partial"));
        left.extend(partial.map(|name| format!("{HALF_MADE}{folder}/{name}")));
    }
    let journals = names(&cache.join("undo")).into_iter().filter(|name| name.ends_with(".json"));
    left.extend(journals.map(|name| format!("a journal of the host lab is left: {name}")));
    left
}

/// Loop devices on files below `root`, but for `own`.
fn loop_devices(root: &Path, own: Option<&str>) -> Vec<String> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let backed = devices.filter_map(|device| {
        let file = fs::read_to_string(device.path().join("loop/backing_file")).ok()?;
        let name = format!("/dev/{}", device.file_name().to_string_lossy());
        let is_left = file.starts_with(&*root.to_string_lossy()) && own != Some(&*name);
        is_left.then(|| format!("{name} stands on {}", file.trim()))
    });
    backed.collect()
}

fn mounts(root: &Path) -> Vec<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let root = root.to_string_lossy().into_owned();
    table.lines().filter(|line| line.contains(&root)).map(|line| format!("a mount is left: {line}")).collect()
}

/// Folders of agents of this machine that have ended.
fn scratch(since: SystemTime) -> Vec<String> {
    let is_new = |name: &str| {
        let made = fs::metadata(Path::new(SHARED_MEMORY).join(name)).and_then(|data| data.modified());
        made.is_ok_and(|made| made >= since)
    };
    let is_orphan = |name: &String| {
        let process = name.strip_prefix("mountmark-").filter(|process| process.parse::<u32>().is_ok());
        process.is_some_and(|process| !Path::new("/proc").join(process).exists()) && is_new(name)
    };
    let left = names(Path::new(SHARED_MEMORY)).into_iter().filter(is_orphan);
    left.map(|name| format!("a folder of an agent that is gone is left: {SHARED_MEMORY}/{name}")).collect()
}
