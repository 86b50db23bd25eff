//! A cell's disks: images, loop devices on them, and the journal of what must be undone.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};
use mountmark_job::{
    Device,
    loops::{self, Loop, Use},
};
use mountmark_model::{Bytes, Cell, Event, Stage, protocol_task};

use super::folder;
use super::guard::Guard;
use super::image::{self, Place, new_image};
use super::own::{OwnImage, Stamp};
use super::undo::Journal;
use crate::lab::{Options, Place as Asked};

/// The place of a run's disks, and its journal.
pub(super) struct Disks {
    place: Place,
    journal: Journal,
    /// Set while the user's image is in use.
    guard: Mutex<Option<Guard>>,
    /// Whether the user's image has lost its allocation, which its file system could not keep.
    lost_room: AtomicBool,
}

impl Disks {
    /// Finds and locks the place; changes nothing.
    pub(super) fn open(options: &Options) -> Result<Disks> {
        let place = match &options.place {
            Asked::Image { path, force } => Place::find(path.as_deref(), *force)?,
            // Second disks alone are files, and a suite may have none.
            Asked::Devices { .. } | Asked::Folder(_) => Place::Folder(image::DEFAULT_FOLDER.into()),
        };
        let journal = Journal::open(&options.cache)?;
        Ok(Disks { place, journal, guard: Mutex::default(), lost_room: AtomicBool::new(false) })
    }

    pub(super) fn folder(&self) -> &Path {
        self.place.parent()
    }

    /// An error if there is no room for a disk under test and for others, both in bytes.
    pub(super) fn has_room(&self, needed: (u64, u64)) -> Result<()> {
        self.place.has_room(needed)
    }

    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Whether a disk under test of this size is allocated before it is written.
    pub(super) fn is_allocated(&self, size: u64) -> bool {
        matches!(&self.place, Place::Own { image, .. } if image.is_allocated_for(size))
            && !self.lost_room.load(Ordering::Relaxed)
    }

    /// The second disk, of `size` bytes.
    pub(super) fn source(&self, size: u64) -> Result<Loop> {
        self.attach(&new_image(self.folder(), size)?, size)
    }

    /// The disk under test, of `size` bytes, empty.
    pub(super) fn test(&self, size: u64) -> Result<Loop> {
        let (file, image) = match &self.place {
            Place::Folder(folder) => return self.attach(&new_image(folder, size)?, size),
            Place::Own { file, image } => (file, image),
        };
        let mut guard = locked(&self.guard);
        match &*guard {
            Some(_) => {
                if let Some(device) = loops::device_of(&image.id) {
                    bail!("the image {} is in use as /dev/{device} since the last cell", image.path.display());
                }
                // Every cell finds it in the same state as the first one.
                self.empty(file, image, size)?;
            }
            None => {
                // Up to here the user's image is unchanged, and everything that can be tried before has been.
                self.detach(self.attach(&new_image(self.folder(), 1 << 20)?, 1 << 20)?)?;
                let watching = Guard::start(self.journal.path(), file, self.journal.mark())?;
                image::is_as_found(file, image)?;
                self.journal.add_image(image.clone())?;
                *guard = Some(watching);
                self.empty(file, image, size)?;
            }
        }
        self.attach(file, size)
    }

    fn empty(&self, file: &File, image: &OwnImage, size: u64) -> Result<()> {
        let has_room = image.empty(file, size).with_context(|| {
            format!("cannot make {} of {} bytes; choose a smaller --size", image.path.display(), Bytes(size))
        })?;
        self.lost_room.store(!has_room, Ordering::Relaxed);
        Ok(())
    }

    /// Remarks on a disk for readers of the figures.
    /// `size`: the disk's, if it may be the user's image.
    pub(super) fn notes(&self, attached: &Loop, what: &str, size: Option<u64>) -> Vec<String> {
        let folder = self.folder().display();
        let mut notes = Vec::new();
        if !attached.direct {
            notes.push(format!(
                "the {what} is buffered in this machine's page cache: the file system of {folder} refuses direct I/O"
            ));
        }
        let Some(size) = size else { return notes };
        if self.lost_room.load(Ordering::Relaxed) {
            notes.push(format!(
                "the image was allocated and is sparse now: the file system of {folder} cannot empty a file and keep its room"
            ));
        } else if self.is_allocated(size) {
            notes.push(
                "the image is allocated when the cell begins; discards, which most mkfs do, make holes in it"
                    .to_owned(),
            );
        }
        notes
    }

    /// Where they are, for the record.
    pub(super) fn about(&self, size: u64) -> String {
        let folder = self.folder();
        let below = match folder::below(folder).0 {
            unknown if unknown.is_empty() => "an unknown file system".into(),
            known => known,
        };
        let files = if self.is_allocated(size) { "files with their room allocated" } else { "sparse files" };
        format!("the disks are loop devices on {files} in {}, on {below}", folder.display())
    }

    fn attach(&self, image: &File, size: u64) -> Result<Loop> {
        Loop::attach(image, size, &self.journal.add_loop()?, Use::Run)
    }

    /// Detaches a device; an error if another process still has it open.
    pub(super) fn detach(&self, attached: Loop) -> Result<()> {
        let (path, mark) = (attached.path(), attached.mark().to_owned());
        if !attached.detach() {
            bail!(
                "{path} is still in use, by a process that hangs in the kernel or one that is not ours; when it has ended, `mountmark clean` detaches it"
            );
        }
        self.journal.remove_loop(&mark)
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        // A device that could not be detached keeps the journal, and the data on the device.
        let is_free = self.journal.forget_loops().unwrap_or(false);
        let guard = locked(&self.guard).take();
        let Place::Own { file, image } = &self.place else { return };
        if !is_free || !self.journal.has_image() {
            return;
        }
        // The journal was written, and then an error came before the first change.
        let is_as_found = Stamp::of(file).is_ok_and(|now| now == image.found);
        // If another program has made a device of it meanwhile, it uses the file.
        let is_wanted = loops::device_of(&image.id).is_some();
        if is_as_found || !is_wanted && image.give_back(file).is_ok() {
            let _ = self.journal.remove_image();
            if let Some(guard) = guard {
                guard.done();
            }
        }
    }
}

/// The sizes of a cell's disk under test and of all others, in bytes.
pub(super) fn needs(cell: &Cell) -> (u64, u64) {
    (cell.disk_size.0, cell.second_disk.as_ref().map_or(0, |medium| medium.size.0))
}

/// A loop device as the agent gets it.
pub(super) fn device(attached: &Loop, size: u64) -> Device {
    Device { path: attached.path(), name: attached.name.clone(), size, server: None, backing: Some(attached.backing()) }
}

/// Follows a cell's events, to know when its disk holds another file system.
#[derive(Default)]
pub(super) struct Observer {
    is_making: bool,
}

impl Observer {
    /// Whether mkfs has ended and nothing is measured, so that the disk may be looked at.
    pub(super) fn hear(&mut self, event: &Event) -> bool {
        let Event::Stage { name } = event else { return false };
        let is_made = self.is_making && matches!(name, Stage::Settle | Stage::Fill);
        self.is_making = *name == Stage::Measured(protocol_task::MKFS.to_owned());
        is_made
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
