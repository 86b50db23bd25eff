//! What a run of the host lab works on: files over loop devices, real disks, or a folder of a mounted file system.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use anyhow::{Context, Result, bail};
use mountmark_job::{Device, Hold, loops::Loop};
use mountmark_model::{Bytes, Cell, DriveHealth, Event, Identity, OwnTarget, Precondition, Preconditioned, Target};

use super::device::{self, DeviceLock, Facts, Made, Opened};
use super::disks::{self, Disks};
use super::folder::{self, MountedFolder, OwnFolder};
use super::undo::Journal;
use super::{contents, image};
use crate::lab::{Options, Place};

/// The unit of a disk's size in plans, in bytes.
const UNIT: u64 = 4096;

/// The opened place of a run, with the files that second disks need.
pub(super) struct TargetSet {
    disks: Disks,
    kind: Kind,
    precondition: Option<Precondition>,
    /// What came of it, of each device.
    preconditioned: OnceLock<Vec<Preconditioned>>,
    /// What the drives of cells said about themselves, by cell: the next one may have begun when a cell is recorded.
    health: Mutex<BTreeMap<u32, DriveHealth>>,
}

enum Kind {
    Files,
    Devices(Vec<DeviceLock>),
    Folder(MountedFolder),
}

/// The disk under test of a cell that has begun.
pub(super) struct Entered {
    pub device: Device,
    /// The device that the agent holds.
    pub hold: Option<Identity>,
    /// The folder of a mounted file system in which tasks work.
    pub folder: Option<PathBuf>,
    pub notes: Vec<String>,
    with: With,
}

enum With {
    Loop(Loop),
    /// Its place among the run's devices, and bytes that it had been told to forget before.
    Device(usize, u64),
    Folder(OwnFolder),
}

/// What the user asked for, looked at; refuses what must not be touched, and changes nothing.
pub(super) fn targets(place: &Place) -> Result<Vec<OwnTarget>> {
    match place {
        Place::Image { path, .. } => {
            let path = image_path(path.as_deref());
            let (filesystem, source) = folder::below(&path);
            let target = Target::Image { path: path.display().to_string(), filesystem, source };
            Ok(vec![OwnTarget { target, size: None, free: None }])
        }
        Place::Devices { paths, wipe } => {
            let all = looked_at(paths, wipe)?;
            let own = all.into_iter().map(|examined| {
                let identity = examined.facts.identity;
                let size = Some(Bytes(identity.size.0 / UNIT * UNIT));
                OwnTarget { target: Target::Device(identity), size, free: None }
            });
            Ok(own.collect())
        }
        Place::Folder(path) => {
            let folder = MountedFolder::find(path)?;
            let (size, free) = (Some(Bytes(folder.size())), Some(Bytes(folder.free())));
            Ok(vec![OwnTarget { target: folder.target(), size, free }])
        }
    }
}

fn image_path(given: Option<&Path>) -> PathBuf {
    let path = given.unwrap_or(Path::new(image::DEFAULT_FOLDER));
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Whether the disk under test is a file in memory.
pub(super) fn is_in_memory(place: &Place) -> bool {
    let Place::Image { path, .. } = place else { return false };
    ["tmpfs", "ramfs", "rootfs"].contains(&folder::below(&image_path(path.as_deref())).0.as_str())
}

/// What is on each device, for people: one line a device.
pub(super) fn about(place: &Place) -> Vec<String> {
    let Place::Devices { paths, .. } = place else { return Vec::new() };
    paths.iter().map(|path| shown(&device::examine(path).facts)).collect()
}

fn shown(facts: &Facts) -> String {
    let holds = match facts.holds() {
        _ if facts.opened == Opened::Denied => "what it holds is unknown: this user may not read it".into(),
        holds if holds.is_empty() && facts.is_scratch => "it was used for tests before and holds nothing else".into(),
        holds if holds.is_empty() => "it holds nothing known".into(),
        holds => format!("it holds {holds}, which is lost"),
    };
    format!("{}: {}; {holds}", facts.path, facts.identity.about())
}

/// All devices, looked at and held.
fn looked_at(paths: &[PathBuf], wipe: &[String]) -> Result<Vec<device::Examined>> {
    let mut all: Vec<device::Examined> = Vec::new();
    for path in paths {
        // Before it is opened: one that is held already is busy.
        let number = device::number_of(path);
        if let Some(other) = all.iter().find(|other| Some(&other.facts.identity.number) == number.as_ref()) {
            bail!(
                "--device {} and {} are one device; name each once; nothing was changed",
                other.facts.path,
                path.display()
            );
        }
        let examined = device::examine(path);
        let is_relative = |other: &&device::Examined| {
            examined.facts.relatives.iter().any(|relative| relative.number == other.facts.identity.number)
        };
        if let Some(other) = all.iter().find(is_relative) {
            let (one, other) = (&examined.facts.path, &other.facts.path);
            bail!("--device {other} and {one} lie on one another; name one of them; nothing was changed");
        }
        device::check(&examined.facts, wipe)?;
        all.push(examined);
    }
    let unused = wipe.iter().find(|name| all.iter().all(|examined| !examined.facts.names().contains(name)));
    if let Some(name) = unused {
        let names: Vec<String> = all.iter().map(|examined| examined.facts.names().join(" or ")).collect();
        bail!("--wipe {name} names no device of this run; they are {}; nothing was changed", names.join(", "));
    }
    Ok(all)
}

impl TargetSet {
    /// Looks at it once more, and takes hold of it; changes nothing.
    pub(super) fn open(options: &Options) -> Result<TargetSet> {
        let disks = Disks::open(options)?;
        let kind = match &options.place {
            Place::Image { .. } => Kind::Files,
            Place::Devices { paths, wipe } => {
                let claims = looked_at(paths, wipe)?.into_iter().map(DeviceLock::of);
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
        let mut all = Vec::new();
        for claim in claims {
            claim.take()?;
            let holds = Some("what --precondition wrote".to_owned());
            self.disks.journal().change_device(Made { device: claim.identity().clone(), holds })?;
            all.push(claim.precondition(how, stop, tell)?);
        }
        let _ = self.preconditioned.set(all);
        Ok(())
    }

    /// How a cell's device was brought into steady state.
    pub(super) fn preconditioned(&self, cell: &Cell) -> Option<Preconditioned> {
        self.preconditioned.get()?.get(cell.target.unwrap_or(0) as usize).cloned()
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
        match &self.kind {
            Kind::Files => {
                let attached = self.disks.test(size)?;
                let device = disks::device(&attached, size);
                let notes = self.disks.notes(&attached, "disk under test", Some(size));
                Ok(Entered { device, hold: None, folder: None, notes, with: With::Loop(attached) })
            }
            Kind::Devices(claims) => {
                let at = cell.target.unwrap_or(0) as usize;
                let claim = claims.get(at).context("the plan has a device that the run has not")?;
                claim.take()?;
                let identity = claim.identity().clone();
                // The journal first; then all that was there goes.
                self.disks.journal().change_device(Made { device: identity.clone(), holds: None })?;
                let keeps = self.precondition.is_some();
                let notes = vec![match claim.empty(keeps)? {
                    true => "the disk was discarded before mkfs".to_owned(),
                    false if keeps => "the disk was not discarded before mkfs, as it was preconditioned".to_owned(),
                    false => "the disk takes no discards: what lies beyond its ends is older data".to_owned(),
                }];
                let discarded = claim.discarded();
                if let Some(before) = claim.health() {
                    self.health().insert(cell.index, DriveHealth { before, ..DriveHealth::default() });
                }
                // The agent takes it next.
                claim.let_go();
                let path = claim.node().display().to_string();
                let device = Device { path, name: identity.name.clone(), size, server: None, backing: None };
                Ok(Entered { device, hold: Some(identity), folder: None, notes, with: With::Device(at, discarded) })
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
                Ok(Entered { device, hold: None, folder, notes: Vec::new(), with: With::Folder(own) })
            }
        }
    }

    /// After the agent's end.
    pub(super) fn leave(&self, entered: Entered) -> Result<()> {
        match (entered.with, &self.kind) {
            (With::Loop(attached), _) => self.detach(attached),
            // A device that is gone or was taken fails the next cell on it, and no other.
            (With::Device(at, _), Kind::Devices(claims)) => {
                if let Some(claim) = claims.get(at) {
                    let _ = claim.take();
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
        if let (With::Device(at, _), Kind::Devices(claims), true) = (&entered.with, &self.kind, is_made)
            && let Some(claim) = claims.get(*at)
        {
            let holds = std::fs::File::open(claim.node()).ok().and_then(|file| contents::identity(&file));
            let _ = self.disks.journal().change_device(Made { device: claim.identity().clone(), holds });
        }
    }

    fn health(&self) -> MutexGuard<'_, BTreeMap<u32, DriveHealth>> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the drive of a cell said about itself.
    pub(super) fn health_of(&self, cell: &Cell) -> Option<DriveHealth> {
        self.health().get(&cell.index).cloned()
    }

    /// Asks the drive of a cell that has been measured.
    pub(super) fn look_after(&self, cell: &Cell, entered: &Entered) {
        let (With::Device(at, _), Kind::Devices(claims)) = (&entered.with, &self.kind) else { return };
        let after = claims.get(*at).and_then(DeviceLock::health);
        if let (Some(health), Some(after)) = (self.health().get_mut(&cell.index), after) {
            health.after = after;
        }
    }

    /// What a cell has undone of preconditioning.
    pub(super) fn undone(&self, entered: &Entered) -> Option<String> {
        let (With::Device(at, before), Kind::Devices(claims)) = (&entered.with, &self.kind) else { return None };
        let discarded = claims.get(*at)?.discarded().saturating_sub(*before);
        (discarded > 0 && self.precondition.is_some()).then(|| {
            format!("mkfs or the file system discarded {}, which are not in steady state any more", Bytes(discarded))
        })
    }

    /// Where the disks are, for the record.
    pub(super) fn about(&self, cell: &Cell) -> String {
        match &self.kind {
            Kind::Files => self.disks.about(cell.disk_size.0),
            Kind::Devices(claims) => {
                let claim = claims.get(cell.target.unwrap_or(0) as usize);
                claim.map_or_else(String::new, |claim| format!("the disk is {}", claim.identity().path))
            }
            Kind::Folder(folder) => format!("the tasks' files are in {}", folder.path().display()),
        }
    }
}

impl Drop for TargetSet {
    fn drop(&mut self) {
        let Kind::Devices(claims) = &self.kind else { return };
        for claim in claims {
            // What this run has not changed stays as it was.
            let is_own = self.disks.journal().has_device(claim.identity());
            if is_own && claim.take().is_ok() && claim.empty(false).is_ok() {
                let _ = self.disks.journal().remove_device(claim.identity());
            }
        }
    }
}
