//! What a file system holds before the tasks: made once, in a guest of its own, and kept in the cache.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use mountmark_job::Share;
use mountmark_model::{Cell, Event, Outcome, RealisedCorpus, Subject, protocol_task};
use serde::{Deserialize, Serialize};

use super::layout::Layout;
use super::run::Guest;
use super::{Emulator, key, qemu};
use crate::cache::{self, KeptFile, sparse};
use crate::child;
use crate::lab::Ended;

/// The file that describes an entry, written last.
const DESCRIPTION: &str = "contents.json";
/// As many bytes on disk; an aged disk has one or two gigabytes.
const KEEP: cache::Keep = cache::Keep::at_most(16 << 30);

/// Whether the disk of a cell gets its contents in a guest of its own, in a lab whose guests repeat. It does if all that another
/// guest must know of it lies on it: a layer has its keys and names in the guest, a server its list of exports, several disks know
/// of each other, and a loop device's file lies on a file system that each guest makes.
pub(super) fn are_apart(cell: &Cell) -> bool {
    let configuration = &cell.configuration;
    let is_alone = configuration.layers.is_empty() && configuration.below.is_none() && configuration.disks() == 1;
    let is_plain = is_alone && !configuration.filesystem.has_own_commands() && !cell.on_loop;
    is_plain && (cell.fill.is_some() || cell.age.is_some())
}

/// What cells with the same contents have in common, as a cell.
fn common(cell: &Cell) -> Cell {
    let mut common = Cell {
        tasks: Vec::new(),
        conditions: None,
        source_prepare: None,
        root: None,
        parameters: BTreeMap::new(),
        pause_seconds: 0.0,
        // Each repeat has another file system and draws other sizes of a fill; a history is the same in all, and its disk takes longest.
        seed: if cell.age.is_some() && cell.fill.as_ref().is_none_or(|fill| fill.percent == 0) { 0 } else { cell.seed },
        ..cell.clone()
    };
    if let Some(medium) = &mut common.second_disk {
        medium.corpus = RealisedCorpus::default();
    }
    common
}

/// Disks with contents: a file of the cache, or media that could not be kept.
pub(super) struct Contents {
    disks: PathBuf,
    /// Bytes of the disks.
    length: u64,
    media: Option<OwnedFd>,
    events: Vec<Event>,
}

#[derive(Serialize, Deserialize)]
struct Description {
    disks: KeptFile,
    /// Who the agent was, what it found out about the empty file system, and its remarks.
    events: Vec<Event>,
}

impl Contents {
    /// Copies them to a guest's media, and passes on what is known of them.
    pub fn put(self, media: &OwnedFd, on_event: &mut dyn FnMut(Event)) -> Result<()> {
        sparse::copy_first(&self.disks, self.length, media)?;
        self.events.into_iter().for_each(on_event);
        Ok(())
    }

    /// In the media of a guest that has ended.
    fn of(media: OwnedFd, length: u64, events: Vec<Event>) -> Contents {
        let disks = format!("/proc/self/fd/{}", media.as_raw_fd()).into();
        Contents { disks, length, media: Some(media), events }
    }

    fn load(folder: &Path, length: u64) -> Option<Contents> {
        let (description, disks) = (folder.join(DESCRIPTION), folder.join("disks"));
        let known: Description = serde_json::from_slice(&fs::read(&description).ok()?).ok()?;
        let now = known.disks.clone().check(&disks)?;
        if now != known.disks {
            let bytes = serde_json::to_vec(&Description { disks: now, events: known.events.clone() });
            // Save the new stamp, so that the file is not hashed again.
            let _ = cache::note(&description, &bytes.ok()?);
        }
        cache::mark_used(&description);
        Some(Contents { disks, length, media: None, events: known.events })
    }

    /// Keeps them in the cache, if that has twice their room: they are there without it, too.
    fn keep(&self, folder: &Path) -> Result<()> {
        let taken =
            self.media.as_ref().map_or(Ok(0), |media| rustix::fs::fstat(media).map(|data| data.st_blocks as u64))?;
        cache::need_room(folder, 2 * 512 * taken, "the contents of a disk")?;
        cache::make_folder(folder)?;
        // Under another name first: without locks another run may read an older one.
        let file = cache::lock::new_file(folder)?;
        file.as_file().set_len(self.length)?;
        sparse::copy_first(&self.disks, self.length, file.as_file())?;
        file.as_file().sync_all()?;
        let disks = folder.join("disks");
        file.persist(&disks)?;
        let described = Description { disks: KeptFile::of(&disks)?, events: self.events.clone() };
        cache::write_whole(&folder.join(DESCRIPTION), &serde_json::to_vec(&described)?)
    }
}

impl Emulator {
    /// The disks of a cell with what they hold before the tasks, from the cache or made now; how that ended, if it did not come
    /// to disks.
    pub(super) fn contents(
        &self,
        cell: &Cell,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<Result<Contents, Ended>> {
        // The same image as the tasks have, so that mostly one boot serves both.
        let image = self.image(cell)?;
        let cell = common(cell);
        let layout = Layout::of(&cell)?;
        let hardware = self.hardware(&cell, &image, &layout)?;
        let key = key::of(&cell, &hardware, &layout, &image, &self.kernel.sha256)?;
        let all = self.options.cache.join("contents");
        let folder = all.join(&key.sha256[..16]);
        let stops = &mut || stop.load(Ordering::Relaxed) || child::is_interrupted();
        let Some(_lock) = cache::Lock::take_unless(&folder, stops)? else { return Ok(Err(Ended::Interrupted)) };
        if let Some(contents) = Contents::load(&folder, layout.disks_end()) {
            return Ok(Ok(contents));
        }
        let _ = fs::remove_dir_all(&folder);
        let (media, mut events, mut begun) = (qemu::media(layout.total)?, Vec::new(), false);
        let mut heard = |event: Event| match &event {
            Event::Stage { .. } => {
                begun = true;
                on_event(event);
            }
            Event::Hello { .. } => {
                events.push(event.clone());
                on_event(event);
            }
            // All cells with these disks would have the same time, which would look like many figures.
            Event::Ended { task: Subject::Task(task), outcome: Outcome::Ok } if task == protocol_task::MKFS => {
                let reason = "it is made apart from the tasks and kept, and not measured".to_owned();
                events.push(Event::Ended { task: task.clone().into(), outcome: Outcome::Skipped { reason } });
            }
            Event::Ended { outcome, .. } if outcome.is_failed() => on_event(event),
            Event::Sample { task, .. } if task == protocol_task::CAPACITY => events.push(event),
            // Those of the boot come from the guest of the tasks, too.
            Event::Note { .. } if begun => events.push(event),
            _ => {}
        };
        let guest = Guest { cell: &cell, share: Share::Contents, image: &image, layout: &layout, media: &media };
        let ended = self.run_guest(&guest, None, stop, &mut heard)?;
        let Ended::Outcome { outcome: Outcome::Ok, .. } = ended else { return Ok(Err(ended)) };
        let mut contents = Contents::of(media, layout.disks_end(), events);
        match contents.keep(&folder) {
            Ok(()) => cache::prune(&all, DESCRIPTION, &KEEP),
            // A cache that is full or read-only is no reason to measure nothing.
            Err(_) => _ = fs::remove_dir_all(&folder),
        }
        // It was passed on already.
        contents.events.retain(|event| !matches!(event, Event::Hello { .. }));
        Ok(Ok(contents))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_filled_apart_if_nothing_but_it_must_be_known() {
        let whole: Cell = toml::from_str(include_str!("key/cell.toml")).unwrap();
        let changed = |change: &dyn Fn(&mut Cell)| {
            let mut cell = whole.clone();
            change(&mut cell);
            are_apart(&cell)
        };
        assert!(changed(&|_| ()));
        assert!(changed(&|cell| cell.fill = None), "an age alone");
        assert!(!changed(&|cell| (cell.fill, cell.age) = (None, None)));
        assert!(!changed(&|cell| cell.on_loop = true));
        assert!(!changed(&|cell| cell.configuration.below = Some(Box::new(whole.configuration.clone()))));
        assert!(!changed(&|cell| cell.configuration.filesystem.mount = vec![vec!["zpool".into()]]));
    }

    #[test]
    fn what_is_not_of_the_disk_is_not_of_its_contents() {
        let whole: Cell = toml::from_str(include_str!("key/cell.toml")).unwrap();
        let mut later = whole.clone();
        (later.seed, later.fill, later.second_disk.as_mut().unwrap().corpus.bytes) = (whole.seed + 1, None, 7);
        later.parameters.clear();
        let earlier = Cell { fill: None, ..whole.clone() };
        assert_eq!(common(&later), common(&earlier), "a history is the same in all repeats");
        let other = Cell { seed: whole.seed + 1, ..whole.clone() };
        assert_ne!(common(&other), common(&whole), "a fill is not");
        assert!(common(&whole).tasks.is_empty() && common(&whole).conditions.is_none());
    }
}
