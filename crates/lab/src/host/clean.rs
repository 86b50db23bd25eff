//! Undoes what killed runs of the host lab left behind.
//!
//! A dead run's image is emptied only if it certainly holds nothing but that run's data: the user may have reused it
//! since. If in doubt, the data stays, and the user gets a message.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use mountmark_job::loops;

use super::guard::{self, Note};
use super::own::{OwnImage, Stamp};
use super::undo::{self, Entries, FOLDER};
use super::{contents, lock};
use crate::cache::Lock;

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
    // First: they hold the loop devices below them.
    for stack in &entries.stacks {
        for path in stack.take_down(dry_run)? {
            done.push(Undone::PutBack(format!("{path} (layer of a host lab that is gone)")));
        }
    }
    for mark in &entries.loops {
        let Some(name) = loops::marked(mark) else { continue };
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
        let (became, over) = put_back(image, journal, dry_run)?;
        done.push(became);
        is_over = over;
    }
    if !dry_run && is_over {
        undo::remove(journal);
    }
    Ok(())
}

/// Empties an image if that loses none of the user's data. Returns the result, and whether it is final.
fn put_back(image: &OwnImage, journal: &Path, dry_run: bool) -> Result<(Undone, bool)> {
    let path = image.path.display();
    let left = |why: &str| Ok((Undone::Left(format!("{path}, the image of a host lab that is gone: {why}")), true));
    let note = match guard::note(journal) {
        Ok(note) => note,
        Err(error) => {
            return Ok((Undone::Left(format!("{path}, the image of a host lab that is gone: {error}")), false));
        }
    };
    let file = match image.open(!dry_run) {
        Ok(Some(file)) => file,
        Ok(None) => return left("another file has its name now, which was left as it is"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return left("it is not there any more"),
        Err(error) => return Err(error).with_context(|| format!("cannot write {path}")),
    };
    // Held until the file is closed, so that no run begins on it meanwhile.
    let is_used = if dry_run { lock::is_held(&file) } else { lock::take(&file).map(|taken| !taken) };
    if is_used.with_context(|| format!("cannot lock {path}"))? {
        let text = format!(
            "{path}, the image of a host lab that is gone: another program uses it now (a run, a virtual machine); when that has ended, `mountmark clean` looks at it again"
        );
        return Ok((Undone::Left(text), false));
    }
    if !dry_run && let Some(name) = loops::device_of(&image.id) {
        bail!("the image {path} is in use as /dev/{name}; detach it (losetup -d /dev/{name}), then clean again");
    }
    if let Some(doubt) = doubt(image, &file, note)? {
        return left(&format!(
            "{doubt}; it was left as it is and will not be asked for again. Remove it if nothing in it is wanted, or give it to a run with --force-image"
        ));
    }
    let about = format!("test data in {path} (image of a host lab that is gone)");
    if dry_run {
        return Ok((Undone::PutBack(about), true));
    }
    let has_room = image.give_back(&file).with_context(|| format!("cannot write {path}"))?;
    let note = if has_room { "" } else { "; it was allocated and is sparse now, as there is no room for it" };
    Ok((Undone::PutBack(about + note), true))
}

/// Why an image may hold data of others than its run; `None` if it certainly does not.
fn doubt(image: &OwnImage, file: &File, note: Option<Note>) -> Result<Option<String>> {
    let path = image.path.display();
    let now = Stamp::of(file)?;
    if now == image.found {
        return Ok(Some("the run had not written to it".into()));
    }
    let is_emptied = [0, image.found.size].contains(&now.size);
    if is_emptied && contents::first_data(file).with_context(|| format!("cannot read {path}"))?.is_none() {
        return Ok(None);
    }
    let is = contents::recognise(file).unwrap_or("data");
    Ok(match note {
        None => Some(format!(
            "it holds {is}, and nothing is known of how the run left it, as all its processes were killed or the machine was"
        )),
        Some(Note::Doubt(why)) => Some(format!("it holds {is} that need not be the run's: {why}")),
        Some(Note::Ended(stamp)) if stamp != now => Some(format!("it holds {is}, and was changed after the run's end")),
        Some(Note::Ended(_)) => None,
    })
}

#[cfg(test)]
mod tests;
