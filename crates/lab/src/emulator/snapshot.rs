//! Booted guests, kept: each cell starts from the same moment, a few hundredths of a second after it is asked for.
//!
//! RAM is a file that the booting guest writes and every restored guest maps privately, so that restoring copies only
//! what a cell changes; the state of the devices (`xen-save-devices-state`) is 13 kilobytes.
//! All cells start from a snapshot, also the first, because a restored guest's clock and a running one's may differ by
//! the few instructions of the pause.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::qemu::{self, Hardware, Qemu, Ram};
use crate::cache;

/// The longest boot. It takes 10 s, and more than three minutes where eighteen processes share two processors.
const BOOT_LIMIT: Duration = Duration::from_secs(600);

/// Some 30 snapshots.
const KEEP: cache::Keep = cache::Keep::at_most(8 << 30);

/// A booted guest in the cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    /// Guest RAM.
    pub ram: PathBuf,
    /// The rest of the machine.
    pub state: PathBuf,
    /// Lengths of both files: a damaged cache is noticed by them and made again.
    lengths: [u64; 2],
    /// Times of last change of both files, in nanoseconds since 1970. RAM is sparse and gigabytes long: making it
    /// again is quicker than reading all of it to see whether it is sound.
    modified: [u128; 2],
    /// What the guest said until it was ready.
    pub lines: Vec<String>,
}

/// The snapshot of `hardware` booted, made if it is not in the cache; none if `stop` was set while it booted. `image`
/// is the SHA-256 of the initramfs.
pub fn get(
    cache: &Path,
    hardware: &Hardware,
    image: &str,
    kernel: &str,
    qemu: &str,
    stop: &AtomicBool,
) -> Result<Option<Snapshot>> {
    let identity = hardware.identity();
    let parts = identity.iter().map(String::as_str).chain([image, kernel, qemu]);
    let folder = cache.join("snapshots").join(cache::key(parts));
    let _lock = cache::Lock::take(&folder)?;
    if let Some(snapshot) = load(&folder) {
        return Ok(Some(snapshot));
    }
    let snapshot = make(&folder, cache, hardware, stop);
    if !matches!(snapshot, Ok(Some(_))) {
        // Gigabytes that nobody can use.
        let _ = fs::remove_dir_all(&folder);
    }
    let snapshot = snapshot?;
    cache::prune(&cache.join("snapshots"), "snapshot.json", &KEEP);
    Ok(snapshot)
}

fn make(folder: &Path, cache: &Path, hardware: &Hardware, stop: &AtomicBool) -> Result<Option<Snapshot>> {
    let _ = fs::remove_dir_all(folder);
    cache::make_folder(folder)?;
    let ram = folder.join("ram");
    let state = folder.join("state");
    let serial = tempfile::NamedTempFile::new_in(folder)?;
    let media = qemu::media(hardware.media)?;
    let mut guest = Qemu::start(hardware, &Ram::Written(&ram), &media, serial.path(), None, false)?;
    match guest.qmp.wait_for("STOP", BOOT_LIMIT, stop) {
        Ok(true) => {}
        Ok(false) => {
            guest.end();
            return Ok(None);
        }
        Err(error) => {
            let killed = guest.killed(cache).unwrap_or_default();
            let said = guest.end();
            let log = crate::kernel_log::telling_lines(&super::read_log(serial.path()), 12);
            let events = guest.lines.try_iter().collect::<Vec<_>>().join("\n");
            return Err(error).context(format!("the guest did not boot\n{killed}{said}{log}\n{events}"));
        }
    }
    let lines = first_lines(&guest)?;
    guest.qmp.run("xen-save-devices-state", json!({ "filename": state, "live": false })).with_context(|| {
        format!(
            "QEMU could not write the snapshot to {}; free some space there or set MOUNTMARK_CACHE",
            folder.display()
        )
    })?;
    guest.end();
    // Its length is there from the start, so only this makes sure of its contents.
    fs::File::open(&ram).and_then(|ram| ram.sync_all()).with_context(|| format!("cannot write {}", ram.display()))?;
    let modified = [cache::modified(&ram), cache::modified(&state)].map(|time| time.unwrap_or(0));
    let length = |path: &Path| fs::metadata(path).map(|data| data.len());
    let snapshot = Snapshot { lengths: [length(&ram)?, length(&state)?], modified, lines, ram, state };
    cache::write_whole(&folder.join("snapshot.json"), &serde_json::to_vec_pretty(&snapshot)?)?;
    Ok(Some(snapshot))
}

/// What the guest said before it paused: its greeting and remarks. QEMU's pipe and its control socket are two ways, and
/// the news of the pause may be the quicker.
fn first_lines(guest: &Qemu) -> Result<Vec<String>> {
    let greeting = guest.lines.recv_timeout(Duration::from_secs(10)).context("the guest paused without a greeting")?;
    let mut lines = vec![greeting];
    while let Ok(line) = guest.lines.recv_timeout(Duration::from_millis(200)) {
        lines.push(line);
    }
    Ok(lines)
}

fn load(folder: &Path) -> Option<Snapshot> {
    let snapshot: Snapshot = serde_json::from_slice(&fs::read(folder.join("snapshot.json")).ok()?).ok()?;
    let files = [&snapshot.ram, &snapshot.state];
    for ((file, length), time) in files.iter().zip(snapshot.lengths).zip(snapshot.modified) {
        if fs::metadata(file).ok()?.len() != length || cache::modified(file)? != time {
            return None;
        }
    }
    cache::mark_used(&folder.join("snapshot.json"));
    Some(snapshot)
}

/// Starts a guest from a snapshot, still paused.
pub fn restore(
    hardware: &Hardware,
    snapshot: &Snapshot,
    media: &std::os::fd::OwnedFd,
    serial: &Path,
    job: &Path,
) -> Result<Qemu> {
    let mut guest = Qemu::start(hardware, &Ram::Restored(&snapshot.ram), media, serial, Some(job), true)?;
    guest.qmp.run("migrate-incoming", json!({ "uri": format!("exec:cat {}", qemu::shell_word(&snapshot.state)) }))?;
    guest.qmp.poll("query-status", |answer| Ok(answer["status"] != "inmigrate"))?;
    Ok(guest)
}
