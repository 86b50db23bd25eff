//! Cache of booted guests: each cell starts from the same moment, within a few hundredths of a second.
//!
//! RAM is a file that the booting guest writes and every restored guest maps privately, so that restoring copies only
//! the pages that a cell changes; the device state (`xen-save-devices-state`) is 13 kilobytes.
//! All cells start from a snapshot, also the first, because a restored guest's clock and a running one's may differ by
//! the few instructions of the pause.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mountmark_job::kernel_log::{read_log, telling_lines};
use mountmark_model::Event;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::hardware::{Clock, Hardware};
use super::icount;
use super::qemu::{self, Qemu, Ram};
use super::qmp::{Gone, Qmp, Silent};
use crate::cache::{self, KeptFile, sparse};

/// Limit of a boot's instructions; a boot takes some 3 billion. Beyond it the guest hangs, on any host under any load.
const BOOT_MOST: u64 = 20_000_000_000;
/// More than any boot that succeeds takes: beyond it the silence limit holds, too.
const BOOT_USUAL: u64 = 6_000_000_000;
/// Longest wait for QEMU's answers while a guest boots.
const PATIENCE: Duration = Duration::from_secs(30);
/// A larger `shift` (log2 of an instruction's nanoseconds) is a machine slower than any in the catalogue.
const SHIFT_USUAL: u8 = 4;
/// Wall time between two looks at a guest that boots slowly.
const LOOK: Duration = Duration::from_secs(5);

/// The file that describes a snapshot, written last.
const DESCRIPTION: &str = "snapshot.json";

/// Some 30 snapshots.
const KEEP: cache::Keep = cache::Keep::at_most(8 << 30);

/// A booted guest in the cache.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub ram: PathBuf,
    /// Everything but RAM.
    pub state: PathBuf,
    /// Events that the guest sent before it was ready.
    pub lines: Vec<String>,
}

/// The description of a snapshot. It holds no path, so that a cache can be moved.
#[derive(Serialize, Deserialize)]
struct Description {
    ram: KeptFile,
    state: KeptFile,
    lines: Vec<String>,
}

fn files(folder: &Path) -> [PathBuf; 2] {
    [folder.join("ram"), folder.join("state")]
}

/// The snapshot of `hardware`, booted if it is not in the cache; `None` if `stop` was set during the boot. `image` is
/// the SHA-256 of the initramfs, and `qemu` names the emulator and its firmware by their contents: the same version built
/// again may boot otherwise.
pub fn get(
    cache: &Path,
    hardware: &Hardware,
    image: &str,
    kernel: &str,
    qemu: &str,
    silence_limit: Duration,
    stop: &AtomicBool,
) -> Result<Option<Snapshot>> {
    let identity = hardware.identity();
    let parts = identity.iter().map(String::as_str).chain([image, kernel, qemu]);
    let folder = cache.join("snapshots").join(cache::key(parts));
    let _lock = cache::Lock::take(&folder)?;
    if let Some(snapshot) = load(&folder) {
        return Ok(Some(snapshot));
    }
    let made = make(&folder, hardware, silence_limit, stop);
    if !matches!(made, Ok(Some(_))) {
        // Remove gigabytes that are of no use.
        let _ = fs::remove_dir_all(&folder);
    }
    let made = match made {
        // That is no fault of the cache.
        Err(error) if error.is::<NotBooted>() => Err(error),
        made => made.with_context(|| format!("the cache {} lacks the snapshot of a booted guest", cache.display())),
    }?;
    if made.is_some() {
        cache::prune(&cache.join("snapshots"), "snapshot.json", &KEEP);
    }
    Ok(made)
}

fn make(folder: &Path, hardware: &Hardware, silence_limit: Duration, stop: &AtomicBool) -> Result<Option<Snapshot>> {
    let _ = fs::remove_dir_all(folder);
    cache::make_folder(folder)?;
    // The kernel, the image packed and unpacked; the kernel's own memory comes on top.
    let length = |path: &Path| fs::metadata(path).map_or(0, |data| data.len());
    let (least, what) = (length(&hardware.kernel) + 2 * length(&hardware.image), "the snapshot of a booted guest");
    cache::need_room(folder, least, what)?;
    match boot(folder, hardware, silence_limit, stop) {
        // QEMU fails in many ways when the file of its memory has no room.
        Err(_) if cache::is_full(folder) => Err(cache::no_space(folder, Some(least), what)),
        other => other,
    }
}

/// The reason, and what QEMU and the kernel said.
#[derive(Debug, thiserror::Error)]
#[error("the guest did not boot: {0}")]
struct NotBooted(String);

/// Boots a guest and saves its state.
fn boot(folder: &Path, hardware: &Hardware, silence_limit: Duration, stop: &AtomicBool) -> Result<Option<Snapshot>> {
    let [ram, state] = files(folder);
    let serial = tempfile::NamedTempFile::new_in(folder)?;
    let media = qemu::media(hardware.media)?;
    let booting = Hardware { clock: hardware.clock.of_boot(), ..hardware.clone() };
    let mut guest = Qemu::start(&booting, &Ram::Written(&ram), &media, serial.path(), None, false, None)?;
    match pause(&mut guest.qmp, hardware.clock, silence_limit, stop) {
        Ok(true) => {}
        Ok(false) => {
            guest.end();
            return Ok(None);
        }
        Err(error) => {
            let killed = guest.killed().unwrap_or_default();
            let said = qemu::without_warnings(&guest.end());
            let log = telling_lines(&read_log(serial.path()), 12);
            // The init's error is the reason; its earlier events are not.
            let reason = guest.lines.try_iter().find_map(|line| match serde_json::from_str(&line) {
                Ok(Event::Ended { outcome, .. }) => outcome.reason().map(str::to_owned),
                _ => None,
            });
            let ends = if error.is::<Silent>() {
                Some("it takes all the emulator's time and says nothing")
            } else {
                Some("its machine stopped at once").filter(|_| error.is::<Gone>() && killed.is_empty())
            };
            let ends = ends.map(|ends| {
                format!(
                    "this kernel does not boot: {ends}; mountmark doctor --kernel tells what a guest needs, and --kernel \
                     takes another"
                )
            });
            let reason = reason.or(ends).unwrap_or_else(|| format!("{error:#}"));
            bail!(NotBooted(format!("{reason}\n{killed}{said}\n{log}").trim_end().to_owned()));
        }
    }
    let lines = first_lines(&guest)?;
    guest
        .qmp
        .run("xen-save-devices-state", json!({ "filename": state, "live": false }))
        .with_context(|| format!("QEMU could not write the snapshot to {}", folder.display()))?;
    guest.end();
    icount::go_on(&state, booting.clock, hardware.clock).with_context(|| format!("cannot use {}", state.display()))?;
    // The file has its full length from the start, so only a sync ensures its contents.
    fs::File::open(&ram).and_then(|ram| ram.sync_all()).with_context(|| format!("cannot write {}", ram.display()))?;
    let described = Description { ram: KeptFile::of(&ram)?, state: KeptFile::of(&state)?, lines: lines.clone() };
    cache::write_whole(&folder.join(DESCRIPTION), &serde_json::to_vec_pretty(&described)?)?;
    Ok(Some(Snapshot { ram, state, lines }))
}

/// Waits until a booting guest pauses; false if `stop` was set first. The guest sends nothing while it boots: it hangs
/// if its instruction count stands still for `silence_limit` of wall time, or passes the limit; and past the usual count if it has
/// booted for `silence_limit`.
fn pause(qmp: &mut Qmp, clock: Clock, silence_limit: Duration, stop: &AtomicBool) -> Result<bool> {
    let (mut moved, mut last, begin) = (0, Instant::now(), Instant::now());
    qmp.be_patient(PATIENCE);
    loop {
        if let Some(paused) = qmp.heard("STOP", LOOK.min(silence_limit), stop)? {
            qmp.be_patient(Duration::MAX);
            return Ok(paused);
        }
        let now = qmp.instructions()?;
        if now > BOOT_MOST || now > BOOT_USUAL && begin.elapsed() > silence_limit {
            bail!(
                "it has not come to its init after {} billion instructions; {}",
                now / 1_000_000_000,
                match clock {
                    Clock::Instructions { shift } if shift > SHIFT_USUAL => format!(
                        "an instruction of its machine takes {} ns, and the kernel's own work at each tick of its clock may \
                     take longer than a tick: a smaller `shift` in the machine's definition is a quicker machine",
                        1_u64 << shift
                    ),
                    _ => "its kernel may lack what a guest needs: mountmark doctor --kernel, or another kernel"
                        .to_owned(),
                }
            );
        }
        if now != moved {
            (moved, last) = (now, Instant::now());
        } else if last.elapsed() > silence_limit {
            bail!(
                "it did nothing for {} s and was ended; if this machine is under so much load, --silence-limit allows more",
                silence_limit.as_secs()
            );
        }
    }
}

/// What the guest sent before it paused: its greeting and remarks. They come by a pipe and the pause by the control
/// socket, so the pause may be seen first.
fn first_lines(guest: &Qemu) -> Result<Vec<String>> {
    let greeting = guest.lines.recv_timeout(Duration::from_secs(10)).context("the guest paused without a greeting")?;
    let mut lines = vec![greeting];
    while let Ok(line) = guest.lines.recv_timeout(Duration::from_millis(200)) {
        lines.push(line);
    }
    Ok(lines)
}

/// The snapshot in `folder`, if its contents are unchanged.
fn load(folder: &Path) -> Option<Snapshot> {
    let description = folder.join(DESCRIPTION);
    let kept: Description = serde_json::from_slice(&fs::read(&description).ok()?).ok()?;
    let [ram, state] = files(folder);
    let now = Description {
        ram: kept.ram.clone().check(&ram)?,
        state: kept.state.clone().check(&state)?,
        lines: kept.lines.clone(),
    };
    if now.ram != kept.ram || now.state != kept.state {
        // Save the new stamps, so that the files are not hashed again.
        let _ = cache::note(&description, &serde_json::to_vec_pretty(&now).ok()?);
    }
    cache::mark_used(&description);
    Some(Snapshot { ram, state, lines: now.lines })
}

/// Starts a guest from a snapshot, still paused; `plugin` as in [`Qemu::start`].
pub(crate) fn restore(
    hardware: &Hardware,
    snapshot: &Snapshot,
    media: &std::os::fd::OwnedFd,
    serial: &Path,
    job: &Path,
    plugin: Option<&str>,
) -> Result<Qemu> {
    // QEMU opens the file for writing even if it maps it privately.
    let is_writable = fs::File::options().write(true).open(&snapshot.ram).is_ok();
    let ram = if is_writable { Ram::Restored(&snapshot.ram) } else { Ram::Copied(copied(&snapshot.ram)?) };
    let mut guest = Qemu::start(hardware, &ram, media, serial, Some(job), true, plugin)?;
    let state = snapshot.state.display().to_string();
    let state = shlex::try_quote(&state).context("no shell takes the snapshot's path")?;
    guest.qmp.run("migrate-incoming", json!({ "uri": format!("exec:cat {state}") }))?;
    guest.qmp.poll("query-status", |answer| Ok(answer["status"] != "inmigrate"))?;
    Ok(guest)
}

/// The contents of a file, in memory.
fn copied(file: &Path) -> Result<std::os::fd::OwnedFd> {
    let memory = qemu::media(0)?;
    sparse::copy(file, &memory)?;
    Ok(memory)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Result for a guest whose instruction count grows by `step` at each query, and which pauses after three queries
    /// if `pauses`.
    fn booted(step: u64, pauses: bool) -> Result<bool> {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let emulator = std::thread::spawn(move || {
            let (mut out, mut asked, mut count) = (theirs.try_clone().unwrap(), 0, 1_000_000);
            let _ = out.write_all(b"{\"QMP\": {}}\n");
            for line in BufReader::new(theirs).lines().map_while(Result::ok) {
                let asks = line.contains("query-replay");
                let (mode, icount) = ("record", count);
                let answer = if asks { json!({ "mode": mode, "icount": icount }) } else { json!({}) };
                let _ = out.write_all(format!("{}\n", json!({ "return": answer })).as_bytes());
                (asked, count) = (asked + u32::from(asks), count + step);
                if pauses && asked == 3 {
                    let _ = out.write_all(b"{\"event\": \"STOP\"}\n");
                }
            }
        });
        let mut qmp = Qmp::connect(ours, std::process::id())?;
        let clock = Clock::Instructions { shift: 10 };
        let result = pause(&mut qmp, clock, Duration::from_millis(400), &AtomicBool::new(false));
        drop(qmp);
        emulator.join().unwrap();
        result
    }

    #[test]
    fn a_slow_boot_is_waited_for_and_one_that_hangs_is_not() {
        // It is silent for three times the limit, but working.
        assert!(booted(1_000_000, true).unwrap());
        let error = booted(0, false).unwrap_err().to_string();
        assert!(error.contains("did nothing for") && error.contains("--silence-limit"), "{error}");
        // It works, and has done more than a boot takes when the limit has passed.
        let error = booted(4_000_000_000, false).unwrap_err().to_string();
        assert!(error.contains("after 8 billion") || error.contains("after 12 billion"), "{error}");
        let error = booted(9_000_000_000, false).unwrap_err().to_string();
        assert!(error.contains("billion instructions") && error.contains("smaller `shift`"), "{error}");
    }
}
