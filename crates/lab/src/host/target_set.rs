//! What a run of the host lab works on: files over loop devices, real disks, or a folder of a mounted file system.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use anyhow::{Context, Result};
use mountmark_job::{Device, Hold, loops::Loop};
use mountmark_model::{Bytes, Cell, DriveHealth, Event, Identity, Precondition, Preconditioned};

use super::contents;
use super::device::{DeviceLock, Made};
use super::disks::{self, Disks};
use super::folder::{MountedFolder, OwnFolder};
use super::targets::looked_at;
use super::undo::Journal;
use crate::lab::{Options, Place};

/// The opened place of a run, with the files that second disks need.
pub(super) struct TargetSet {
    disks: Disks,
    kind: Kind,
    precondition: Option<Precondition>,
    /// What came of it, of each target's devices.
    preconditioned: OnceLock<Vec<Vec<Preconditioned>>>,
    /// What the drives of cells said about themselves, by cell: the next one may have begun when a cell is recorded.
    health: Mutex<BTreeMap<u32, DriveHealth>>,
}

enum Kind {
    Files,
    /// Of each target, the devices that a configuration may take together.
    Devices(Vec<Vec<DeviceLock>>),
    Folder(MountedFolder),
}

/// The disk under test of a cell that has begun.
pub(super) struct Entered {
    pub device: Device,
    /// Further ones below the same file system.
    pub more: Vec<Device>,
    /// The devices that the agent holds.
    pub hold: Vec<Identity>,
    /// The folder of a mounted file system in which tasks work.
    pub folder: Option<PathBuf>,
    pub notes: Vec<String>,
    with: With,
}

enum With {
    Loop(Loop),
    /// Its target, how many of that one's devices it takes, and bytes that these had been told to forget before.
    Devices(usize, usize, u64),
    Folder(OwnFolder),
}

impl TargetSet {
    /// Looks at it once more, and takes hold of it; changes nothing.
    pub(super) fn open(options: &Options) -> Result<TargetSet> {
        let disks = Disks::open(options)?;
        let kind = match &options.place {
            Place::Image { .. } => Kind::Files,
            Place::Devices { paths, wipe } => {
                let targets = looked_at(paths, wipe)?.into_iter();
                let claims = targets.map(|together| together.into_iter().map(DeviceLock::of).collect());
                Kind::Devices(claims.collect::<Result<_>>()?)
            }
            Place::Folder(path) => Kind::Folder(MountedFolder::find(path)?),
        };
        let (preconditioned, health) = (OnceLock::new(), Mutex::default());
        Ok(TargetSet { disks, kind, precondition: options.precondition, preconditioned, health })
    }

    pub(super) fn journal(&self) -> &Journal {
        self.disks.journal()
    }

    /// Whether its disks are not made by this run.
    pub(super) fn is_real(&self) -> bool {
        matches!(self.kind, Kind::Devices(_))
    }

    /// Brings its devices into steady state, one after the other, if that is wanted.
    pub(super) fn precondition(&self, stop: &AtomicBool, tell: &mut dyn FnMut(&str)) -> Result<()> {
        let (Kind::Devices(claims), Some(how)) = (&self.kind, self.precondition) else { return Ok(()) };
        let mut one = |claim: &DeviceLock| -> Result<Preconditioned> {
            claim.take()?;
            let holds = Some("what --precondition wrote".to_owned());
            self.disks.journal().change_device(Made { device: claim.identity().clone(), holds })?;
            claim.precondition(how, stop, tell)
        };
        let all = claims.iter().map(|together| together.iter().map(&mut one).collect::<Result<_>>());
        let all = all.collect::<Result<_>>()?;
        let _ = self.preconditioned.set(all);
        Ok(())
    }

    /// How a cell's device was brought into steady state; of several the first that was not, if there is one.
    pub(super) fn preconditioned(&self, cell: &Cell) -> Option<Preconditioned> {
        let together = self.preconditioned.get()?.get(cell.target.unwrap_or(0) as usize)?;
        together.iter().take(cell.configuration.disks() as usize).min_by_key(|one| one.is_steady()).cloned()
    }

    pub(super) fn has_room(&self, cell: &Cell) -> Result<()> {
        let needed = disks::needs(cell);
        match &self.kind {
            Kind::Files => self.disks.has_room(needed),
            _ if needed.1 == 0 => Ok(()),
            _ => self.disks.has_room((0, needed.1)),
        }
    }

    /// The second disk, of `size` bytes.
    pub(super) fn source(&self, size: u64) -> Result<Loop> {
        self.disks.source(size)
    }

    /// The disk under test, empty.
    pub(super) fn enter(&self, cell: &Cell) -> Result<Entered> {
        let size = cell.disk_size.0;
        let none = (Vec::new(), Vec::new());
        match &self.kind {
            Kind::Files => {
                let attached = self.disks.test(size)?;
                let device = disks::device(&attached, size);
                let notes = self.disks.notes(&attached, "disk under test", Some(size));
                let (more, hold) = none;
                Ok(Entered { device, more, hold, folder: None, notes, with: With::Loop(attached) })
            }
            Kind::Devices(_) => {
                let (at, count) = (cell.target.unwrap_or(0) as usize, cell.configuration.disks() as usize);
                let claims = self.members(at, count).context("the plan has a device that the run has not")?;
                let (mut devices, mut notes) = (Vec::new(), Vec::new());
                for claim in claims {
                    let note = self.empty(claim)?;
                    if !cell.configuration.layers.is_empty() {
                        claim.unmark()?;
                    }
                    notes.push(if count > 1 { format!("{}: {note}", claim.identity().path) } else { note.to_owned() });
                    let path = claim.node().display().to_string();
                    let name = claim.identity().name.clone();
                    devices.push(Device { path, name, size, server: None, backing: None });
                }
                let discarded = claims.iter().map(DeviceLock::discarded).sum();
                if let Some(before) = claims[0].health() {
                    self.health().insert(cell.index, DriveHealth { before, ..DriveHealth::default() });
                }
                // The agent takes them next.
                claims.iter().for_each(DeviceLock::let_go);
                let hold = claims.iter().map(|claim| claim.identity().clone()).collect();
                let device = devices.remove(0);
                let with = With::Devices(at, count, discarded);
                Ok(Entered { device, more: devices, hold, folder: None, notes, with })
            }
            Kind::Folder(mounted) => {
                mounted.check()?;
                let own = mounted.new_name(cell.index);
                self.disks.journal().add_folder(own.clone())?;
                own.make()?;
                let path = mounted.path().display().to_string();
                let device =
                    Device { path, name: mounted.device.clone(), size: mounted.size(), server: None, backing: None };
                let folder = Some(own.path.clone());
                let (more, hold) = none;
                Ok(Entered { device, more, hold, folder, notes: Vec::new(), with: With::Folder(own) })
            }
        }
    }

    /// The devices that a cell on a target takes; `None` if there are none, or too few.
    fn members(&self, target: usize, count: usize) -> Option<&[DeviceLock]> {
        let Kind::Devices(claims) = &self.kind else { return None };
        claims.get(target)?.get(..count).filter(|claims| !claims.is_empty())
    }

    /// Takes a device, and all that was on it goes; returns a remark on that.
    fn empty(&self, claim: &DeviceLock) -> Result<&'static str> {
        claim.take()?;
        // The journal first.
        self.disks.journal().change_device(Made { device: claim.identity().clone(), holds: None })?;
        let keeps = self.precondition.is_some();
        Ok(match claim.empty(keeps)? {
            true => "the disk was discarded before mkfs",
            false if keeps => "the disk was not discarded before mkfs, as it was preconditioned",
            false => "the disk takes no discards: what lies beyond its ends is older data",
        })
    }

    /// After the agent's end. `failure`: why its cell failed; `remark` is told what came of its devices.
    pub(super) fn leave(
        &self,
        cell: &Cell,
        entered: Entered,
        failure: &str,
        remark: &mut dyn FnMut(String),
    ) -> Result<()> {
        match (entered.with, &self.kind) {
            (With::Loop(attached), _) => self.detach(attached),
            // A device that is gone or was taken is lost: the next cells on it fail, and no other.
            (With::Devices(at, count, _), _) => {
                let claims = self.members(at, count).unwrap_or_default();
                let mut is_held = true;
                for claim in claims {
                    claim.hear(failure);
                    if let Err(error) = claim.take() {
                        is_held = false;
                        remark(format!("{error:#}"));
                    }
                }
                // Asking takes seconds, in which nobody else may have it.
                if is_held {
                    self.look_after(cell, claims);
                }
                Ok(())
            }
            (With::Folder(own), Kind::Folder(mounted)) => {
                // Else it lies in what was there before, and `clean` finds it when that is back.
                mounted.check()?;
                own.remove()?;
                self.disks.journal().remove_folder(&own)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn detach(&self, attached: Loop) -> Result<()> {
        self.disks.detach(attached)
    }

    /// Remarks on the second disk.
    pub(super) fn notes(&self, source: &Loop) -> Vec<String> {
        self.disks.notes(source, "second disk", None)
    }

    /// A cell's event, to know what its disk holds.
    pub(super) fn heard(&self, entered: &Entered, event: &Event, observer: &mut disks::Observer) {
        let is_made = observer.hear(event);
        if !is_made {
            return;
        }
        for claim in self.taken(entered) {
            let holds = std::fs::File::open(claim.node()).ok().and_then(|file| contents::identity(&file));
            let _ = self.disks.journal().change_device(Made { device: claim.identity().clone(), holds });
        }
    }

    /// The devices of a cell that has begun.
    fn taken(&self, entered: &Entered) -> &[DeviceLock] {
        let With::Devices(at, count, _) = entered.with else { return &[] };
        self.members(at, count).unwrap_or_default()
    }

    fn health(&self) -> MutexGuard<'_, BTreeMap<u32, DriveHealth>> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the drive of a cell said about itself.
    pub(super) fn health_of(&self, cell: &Cell) -> Option<DriveHealth> {
        self.health().get(&cell.index).cloned()
    }

    /// Asks the drive of a cell that has been measured, the first of several.
    fn look_after(&self, cell: &Cell, claims: &[DeviceLock]) {
        let after = claims.first().and_then(DeviceLock::health);
        if let (Some(health), Some(after)) = (self.health().get_mut(&cell.index), after) {
            health.after = after;
        }
    }

    /// What a cell has undone of preconditioning.
    pub(super) fn undone(&self, entered: &Entered) -> Option<String> {
        let With::Devices(_, _, before) = entered.with else { return None };
        let discarded = self.taken(entered).iter().map(DeviceLock::discarded).sum::<u64>().saturating_sub(before);
        (discarded > 0 && self.precondition.is_some()).then(|| {
            format!("mkfs or the file system discarded {}, which are not in steady state any more", Bytes(discarded))
        })
    }

    /// Where the disks are, for the record.
    pub(super) fn about(&self, cell: &Cell) -> String {
        match &self.kind {
            Kind::Files => self.disks.about(cell.disk_size.0),
            Kind::Devices(_) => {
                let (at, count) = (cell.target.unwrap_or(0) as usize, cell.configuration.disks() as usize);
                let taken = self.members(at, count).unwrap_or_default().iter();
                match taken.map(|claim| claim.identity().path.as_str()).collect::<Vec<_>>()[..] {
                    [one] => format!("the disk is {one}"),
                    ref several => format!("the disks are {}", several.join(", ")),
                }
            }
            Kind::Folder(folder) => format!("the tasks' files are in {}", folder.path().display()),
        }
    }
}

impl Drop for TargetSet {
    fn drop(&mut self) {
        let Kind::Devices(claims) = &self.kind else { return };
        for claim in claims.iter().flatten() {
            // What this run has not changed stays as it was.
            let is_own = self.disks.journal().has_device(claim.identity());
            if is_own && claim.take().is_ok() && claim.empty(false).is_ok() {
                let _ = self.disks.journal().remove_device(claim.identity());
            }
        }
    }
}
