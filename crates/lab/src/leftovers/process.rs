//! Finds this machine's guest processes, and their owners.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use crate::cache::lock::GUEST_PREFIX;
use crate::cache::own::file_name;

/// The process in a folder's name: `mountmark-guest-123-AbCdEf` belongs to process 123.
pub fn owner(folder: &Path) -> Option<i32> {
    let (process, _) =
        file_name(folder).strip_prefix(GUEST_PREFIX)?.split_once('-').map(|(a, b)| (a.to_owned(), b.to_owned()))?;
    process.parse().ok().filter(|process| *process > 0)
}

/// Whether the process lives and is older than the folder, so not a later one with the same number.
pub fn is_alive_since(process: i32, folder: &Metadata) -> bool {
    let Some(started) = started(process) else { return false };
    let made = folder.created().or_else(|_| folder.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    // A process's start is known to a hundredth of a second, the machine's to a second.
    started <= made + Duration::from_secs(2)
}

fn started(process: i32) -> Option<SystemTime> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Fields after the name, which may hold any character: the state is the third field, the start the 22nd.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    if fields.first() == Some(&"Z") {
        return None;
    }
    let ticks: u64 = fields.get(19)?.parse().ok()?;
    let boot = fs::read_to_string("/proc/stat").ok()?;
    let boot: u64 = boot.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(boot) + Duration::from_millis(ticks * 10))
}

pub fn all() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut processes: Vec<i32> = entries.flatten().filter_map(|entry| file_name(&entry.path()).parse().ok()).collect();
    processes.sort();
    processes
}

/// The arguments of a QEMU with our devices, if this is such a process of this user.
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

pub fn is_orphaned_guest(process: i32) -> bool {
    guest(process).is_some() && parent(process).is_some_and(adopts)
}

/// Whether the process is a guest whose image is in the cache.
pub fn uses(process: i32, cache: &Path) -> bool {
    let Some(arguments) = guest(process) else { return false };
    let image = arguments.iter().skip_while(|argument| *argument != "-initrd").nth(1).map(fs::canonicalize);
    matches!((image, fs::canonicalize(cache)), (Some(Ok(image)), Ok(cache)) if image.starts_with(&cache))
}

fn parent(process: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Whether a process adopts orphans: the first one, or a user's systemd.
fn adopts(process: i32) -> bool {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    (process == 1 && !name.starts_with("mountmark")) || name.trim() == "systemd"
}

pub fn end_guest(process: i32) -> Result<bool> {
    use rustix::process::{Pid, PidfdFlags, Signal};
    let Some(id) = Pid::from_raw(process) else { return Ok(false) };
    // A pidfd, so that the process checked below and the one killed are the same.
    let Ok(handle) = rustix::process::pidfd_open(id, PidfdFlags::empty()) else { return Ok(false) };
    if !is_orphaned_guest(process) {
        return Ok(false);
    }
    rustix::process::pidfd_send_signal(&handle, Signal::KILL)
        .with_context(|| format!("cannot end process {process}"))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_name_their_owner() {
        assert_eq!(owner(Path::new("/tmp/mountmark-guest-123-AbC")), Some(123));
        for other in
            ["/tmp/mountmark-guest-AbCdEf", "/tmp/mountmark-guest-0-a", "/tmp/mountmark-guest-x-a", "/tmp/other"]
        {
            assert_eq!(owner(Path::new(other)), None, "{other}");
        }
    }
}
