//! Undoes what killed runs of the host lab left behind.
//!
//! A dead run's image is emptied only if it certainly holds nothing but that run's data: the user may have reused it
//! since. If in doubt, the data stays, and the user gets a message.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::alive::{Holds, Moment, Sign};
use super::own::{OwnImage, Stamp};
use super::undo::{self, Entries, FOLDER};
use super::{contents, lock};
use crate::cache::Lock;
use crate::loops;

/// Nanoseconds. Heartbeats of a living run are a second apart, and after a kill the kernel ends its processes and
/// writes dirty pages.
const GRACE: i64 = 10_000_000_000;
/// Nanoseconds. Kernels round times to some milliseconds, some file systems to two seconds.
const ROUNDING: i64 = 2_500_000_000;

/// What happened to something that a killed run left.
#[derive(Debug, PartialEq)]
pub enum Undone {
    PutBack(String),
    /// Left unchanged, and why.
    Left(String),
}

/// Undoes what killed runs of the host lab left behind, or only reports it. Returns the result of each; an error is
/// something that could not be undone, and its journal stays.
pub fn clean(cache: &Path, dry_run: bool) -> Vec<Result<Undone>> {
    let Ok(entries) = fs::read_dir(cache.join(FOLDER)) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let is = |path: &Path, kind: &str| path.extension().is_some_and(|extension| extension == kind);
    // A run that was killed before any change leaves only its lock.
    for file in files.iter().filter(|file| is(file, "lock") && !dry_run) {
        let journal = file.with_extension("json");
        if let Ok(Some(_lock)) = Lock::try_take(&journal)
            && !journal.exists()
        {
            undo::remove(&journal);
        }
    }
    let journals: Vec<PathBuf> = files.into_iter().filter(|path| is(path, "json")).collect();
    let undone = journals.iter().flat_map(|journal| {
        let mut done = Vec::new();
        let error = undo(journal, dry_run, &mut done).err();
        done.into_iter().map(Ok).chain(error.map(Err)).collect::<Vec<_>>()
    });
    undone.collect()
}

fn undo(journal: &Path, dry_run: bool, done: &mut Vec<Undone>) -> Result<()> {
    // Its run is alive.
    let Some(_lock) = Lock::try_take(journal)? else { return Ok(()) };
    let text = fs::read(journal).with_context(|| format!("cannot read {}", journal.display()))?;
    let entries: Entries = serde_json::from_slice(&text).with_context(|| {
        format!("{} is damaged, or of another version of mountmark; look at it and remove it", journal.display())
    })?;
    let mut attached = false;
    let seen = entries.image.as_ref().and_then(|image| Stamp::of(&image.open(false).ok()??).ok());
    for mark in &entries.loops {
        let Some(name) = loops::marked(mark) else { continue };
        attached = true;
        if !dry_run && !loops::clear(&name, mark)? {
            bail!(
                "/dev/{name} of a host lab that is gone is still in use, by a process that hangs in the kernel or one that is not ours; when it has ended, `mountmark clean` goes on"
            );
        }
        done.push(Undone::PutBack(format!("/dev/{name} (loop device of a host lab that is gone)")));
    }
    for folder in &entries.folders {
        let is_there = if dry_run { folder.path.exists() } else { folder.remove()? };
        if is_there {
            let path = folder.path.display();
            done.push(Undone::PutBack(format!("{path} (folder of a host lab that is gone)")));
        }
    }
    for group in &entries.groups {
        let is_there = if dry_run { group.path.exists() } else { group.remove()? };
        if is_there {
            let path = group.path.display();
            done.push(Undone::PutBack(format!("{path} (control group of a host lab that is gone)")));
        }
    }
    // What is on a disk is left: it may have been put to use since. The next run shows it, and is told to wipe it.
    for made in &entries.devices {
        let (device, holds) = (&made.device, made.holds.as_deref().unwrap_or("half of a new file system"));
        done.push(Undone::Left(format!(
            "{} ({}), the disk of a host lab that is gone: it held {holds} of that run; a new run names it, and --wipe gives it up",
            device.path,
            device.about()
        )));
    }
    let mut is_over = true;
    if let Some(image) = &entries.image {
        // If the run's own device is still attached, all writes until now came through it.
        let evidence = Evidence { sign: Sign::last(journal), written: seen.filter(|_| attached), dry_run };
        let (became, over) = put_back(image, &evidence)?;
        done.push(became);
        is_over = over;
    }
    if !dry_run && is_over {
        undo::remove(journal);
    }
    Ok(())
}

/// Evidence about a dead run's image, besides its present contents.
struct Evidence {
    /// The run's last heartbeat.
    sign: Option<Sign>,
    /// The image's times while the run's loop device was still attached to it, if it was.
    written: Option<Stamp>,
    dry_run: bool,
}

/// Empties an image if that loses none of the user's data. Returns the result, and whether it is final.
fn put_back(image: &OwnImage, evidence: &Evidence) -> Result<(Undone, bool)> {
    let path = image.path.display();
    let left = |why: &str| Ok((Undone::Left(format!("{path}, the image of a host lab that is gone: {why}")), true));
    let file = match image.open(!evidence.dry_run) {
        Ok(Some(file)) => file,
        Ok(None) => return left("another file has its name now, which was left as it is"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return left("it is not there any more"),
        Err(error) => return Err(error).with_context(|| format!("cannot write {path}")),
    };
    // Held until the file is closed, so that no run begins on it meanwhile.
    let is_used = if evidence.dry_run { lock::is_held(&file) } else { lock::take(&file).map(|taken| !taken) };
    if is_used.with_context(|| format!("cannot lock {path}"))? {
        let text = format!(
            "{path}, the image of a host lab that is gone: another program uses it now (a run, a virtual machine); when that has ended, `mountmark clean` looks at it again"
        );
        return Ok((Undone::Left(text), false));
    }
    if !evidence.dry_run
        && let Some(name) = loops::device_of(&image.id)
    {
        bail!("the image {path} is in use as /dev/{name}; detach it (losetup -d /dev/{name}), then clean again");
    }
    if let Some(doubt) = doubt(image, &file, evidence)? {
        return left(&format!(
            "{doubt}; it was left as it is and will not be asked for again. Remove it if nothing in it is wanted, or give it to a run with --force-image"
        ));
    }
    let about = format!("test data in {path} (image of a host lab that is gone)");
    if evidence.dry_run {
        return Ok((Undone::PutBack(about), true));
    }
    let has_room = image.give_back(&file).with_context(|| format!("cannot write {path}"))?;
    let note = if has_room { "" } else { "; it was allocated and is sparse now, as there is no room for it" };
    Ok((Undone::PutBack(about + note), true))
}

/// Why an image may hold data of others than its run; `None` if it certainly does not.
fn doubt(image: &OwnImage, file: &File, evidence: &Evidence) -> Result<Option<String>> {
    let path = image.path.display();
    let now = Stamp::of(file)?;
    if now == image.found {
        return Ok(Some("the run had not written to it".into()));
    }
    let emptied =
        [0, image.found.size].contains(&now.size) || evidence.sign.as_ref().is_some_and(|s| s.began.size == now.size);
    if emptied && contents::first_data(file).with_context(|| format!("cannot read {path}"))?.is_none() {
        return Ok(None);
    }
    let Some(sign) = &evidence.sign else {
        return Ok(Some("it holds data, and nothing is known of what the run put there".into()));
    };
    if now.size != sign.began.size {
        return Ok(Some(format!("its size is {} bytes, and was {} when the run used it", now.size, sign.began.size)));
    }
    // Later writes through its own device are the run's.
    let stamp = evidence.written.unwrap_or(now);
    if let Some(doubt) = late(sign, &stamp, &Moment::now()) {
        return Ok(Some(doubt));
    }
    if evidence.written.is_none() && !is_as_made(&sign.holds, contents::identity(file)) {
        let is = contents::recognise(file).unwrap_or("data");
        return Ok(Some(format!("it holds {is} that the run may not have made")));
    }
    Ok(None)
}

/// Whether an image's contents are those that its run recorded last. While a file system is being made, only
/// unrecognisable contents count as the run's.
fn is_as_made(said: &Holds, is: Option<String>) -> bool {
    match said {
        Holds::Changing => is.is_none(),
        Holds::Made(made) => *made == is,
    }
}

/// Why a file with these times may have been written after its run's last heartbeat; `None` if it certainly was not.
fn late(sign: &Sign, stamp: &Stamp, now: &Moment) -> Option<String> {
    let (began, at) = (&sign.began, &sign.at);
    if (began.changed - sign.began_at.wall).abs() > ROUNDING {
        return Some("its file system's clock is not this machine's, so that its times tell nothing".into());
    }
    let was_set = if now.boot == at.boot {
        let (wall, uptime) = (now.wall - at.wall, now.uptime - at.uptime);
        // Clocks are slewed by at most one part in two thousand.
        uptime < 0 || (wall - uptime).abs() > ROUNDING + uptime / 1000
    } else {
        // The machine was started after the run's end.
        now.wall - now.uptime < at.wall
    };
    if was_set {
        return Some("the clock was set since, so that its times tell nothing".into());
    }
    // Either time alone may have been set back; that updates the other one.
    let (first, last) = (stamp.modified.min(stamp.changed), stamp.modified.max(stamp.changed));
    if first < began.changed.min(began.modified) {
        return Some("its times are older than the run".into());
    }
    let after = last - at.wall;
    (after > GRACE).then(|| format!("it was changed {} after the run's last sign of life", duration(after)))
}

/// Nanoseconds in words.
fn duration(nanoseconds: i64) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests;
