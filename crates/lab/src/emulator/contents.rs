//! What a file system holds before the tasks: made once, in a guest of its own, and kept in the cache.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use mountmark_job::Share;
use mountmark_model::{Cell, Event, Outcome, Subject, protocol_task};
use serde::{Deserialize, Serialize};

use super::layout::Layout;
use super::run::Guest;
use super::{Emulator, key, qemu};
use crate::cache::{self, KeptFile, sparse};
use crate::lab::Ended;

/// The file that describes an entry, written last.
const DESCRIPTION: &str = "contents.json";
/// As many bytes on disk; an aged disk has one or two gigabytes.
const KEEP: cache::Keep = cache::Keep::at_most(16 << 30);

/// Whether the disk of a cell gets its contents in a guest of its own. It does if all that another guest must know of it lies on
/// it: a layer has its keys and names in the guest, a server its list of exports, several disks know of each other, and a loop
/// device's file lies on a file system that each guest makes.
pub(super) fn are_apart(cell: &Cell) -> bool {
    let configuration = &cell.configuration;
    let is_alone = configuration.layers.is_empty() && configuration.below.is_none() && configuration.disks() == 1;
    let is_plain = is_alone && !configuration.filesystem.has_own_commands() && !cell.on_loop;
    is_plain && (cell.fill.is_some() || cell.age.is_some())
}

/// What cells with the same contents have in common, as a cell.
fn common(cell: &Cell) -> Cell {
    Cell {
        tasks: Vec::new(),
        conditions: None,
        source_prepare: None,
        root: None,
        // A fill draws the sizes of its files, and each repeat has others; a history is the same in all.
        seed: if cell.fill.is_some() { cell.seed } else { 0 },
        ..cell.clone()
    }
}

/// Disks with contents.
pub(super) struct Contents {
    disks: PathBuf,
    events: Vec<Event>,
}

#[derive(Serialize, Deserialize)]
struct Description {
    disks: KeptFile,
    /// Who the agent was, and what it found out about the empty file system.
    events: Vec<Event>,
}

impl Contents {
    /// Copies them to a guest's media, and passes on what is known of them.
    pub fn put(self, media: &OwnedFd, on_event: &mut dyn FnMut(Event)) -> Result<()> {
        sparse::copy_first(&self.disks, u64::MAX, media)?;
        self.events.into_iter().for_each(on_event);
        Ok(())
    }

    fn load(folder: &Path) -> Option<Contents> {
        let (description, disks) = (folder.join(DESCRIPTION), folder.join("disks"));
        let known: Description = serde_json::from_slice(&fs::read(&description).ok()?).ok()?;
        let now = known.disks.clone().check(&disks)?;
        if now != known.disks {
            let bytes = serde_json::to_vec(&Description { disks: now, events: known.events.clone() });
            // Save the new stamp, so that the file is not hashed again.
            let _ = cache::note(&description, &bytes.ok()?);
        }
        cache::mark_used(&description);
        Some(Contents { disks, events: known.events })
    }

    /// Writes the first `length` bytes of the media and the events to an empty folder.
    fn keep(folder: &Path, media: &OwnedFd, length: u64, events: Vec<Event>) -> Result<Contents> {
        let disks = folder.join("disks");
        let written = fs::File::create(&disks).context("cannot make a file").and_then(|file| {
            file.set_len(length)?;
            sparse::copy_first(Path::new(&format!("/proc/self/fd/{}", media.as_raw_fd())), length, &file)?;
            file.sync_all().context("cannot write")
        });
        let what = "the contents of a disk";
        match written {
            Err(_) if cache::is_full(folder) => return Err(cache::no_space(folder, None, what)),
            written => written.with_context(|| format!("{what}, in {}", folder.display()))?,
        }
        let described = Description { disks: KeptFile::of(&disks)?, events: events.clone() };
        cache::write_whole(&folder.join(DESCRIPTION), &serde_json::to_vec(&described)?)?;
        Ok(Contents { disks, events })
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
        // The same image as the tasks have, so that one boot serves both.
        let image = self.image(cell)?;
        let cell = common(cell);
        let layout = Layout::of(&cell)?;
        let hardware = self.hardware(&cell, &image, &layout)?;
        let key = key::of(&cell, &hardware, &layout, &image, &self.kernel.sha256)?;
        let all = self.options.cache.join("contents");
        let folder = all.join(&key.sha256[..16]);
        let _lock = cache::Lock::take(&folder)?;
        if let Some(contents) = Contents::load(&folder) {
            return Ok(Ok(contents));
        }
        let _ = fs::remove_dir_all(&folder);
        let (media, mut events) = (qemu::media(layout.total)?, Vec::new());
        let mut heard = |event| match event {
            Event::Stage { .. } | Event::Ended { task: Subject::Cell, .. } => on_event(event),
            Event::Hello { .. } => {
                events.push(event.clone());
                on_event(event);
            }
            Event::Sample { ref task, .. } if task == protocol_task::CAPACITY => events.push(event),
            // All repeats have the same disks: its time would be one figure that looks like many.
            Event::Ended { task: ref subject @ Subject::Task(ref task), outcome: Outcome::Ok }
                if task == protocol_task::MKFS =>
            {
                let reason = "it is made and filled apart from the tasks and kept, and not measured".to_owned();
                events.push(Event::Ended { task: subject.clone(), outcome: Outcome::Skipped { reason } });
            }
            // Remarks come from the guest of the tasks, too.
            _ => {}
        };
        let guest = Guest { cell: &cell, share: Share::Contents, image: &image, layout: &layout, media: &media };
        let ended = self.run_guest(&guest, None, stop, &mut heard)?;
        let Ended::Outcome { outcome: Outcome::Ok, .. } = ended else { return Ok(Err(ended)) };
        cache::make_folder(&folder)?;
        let kept = Contents::keep(&folder, &media, layout.disks_end(), events);
        match &kept {
            Ok(_) => cache::prune(&all, DESCRIPTION, &KEEP),
            Err(_) => _ = fs::remove_dir_all(&folder),
        }
        kept.map(Ok)
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
        (later.seed, later.fill) = (whole.seed + 1, None);
        let earlier = Cell { fill: None, ..whole.clone() };
        assert_eq!(common(&later), common(&earlier), "a history is the same in all repeats");
        let other = Cell { seed: whole.seed + 1, ..whole.clone() };
        assert_ne!(common(&other), common(&whole), "a fill is not");
        assert!(common(&whole).tasks.is_empty() && common(&whole).conditions.is_none());
    }
}
