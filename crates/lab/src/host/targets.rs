//! What a run of the host lab is to work on, looked at before anything is changed.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use mountmark_model::{Bytes, Identity, OwnTarget, Target};

use super::device::{self, Facts, Opened, Relation};
use super::folder::{self, MountedFolder};
use super::image;
use crate::lab::Place;

/// The unit of a disk's size in plans, in bytes.
const UNIT: u64 = 4096;

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
            let own = looked_at(paths, wipe)?.into_iter().map(|together| {
                let mut devices: Vec<Identity> = together.into_iter().map(|examined| examined.facts.identity).collect();
                // The smallest one's, as arrays have it.
                let size = devices.iter().map(|device| device.size.0 / UNIT * UNIT).min().map(Bytes);
                let target = match devices.len() {
                    1 => Target::Device(devices.remove(0)),
                    _ => {
                        let paths = devices.iter().map(|device| device.path.as_str()).collect::<Vec<_>>();
                        Target::Devices { path: paths.join("+"), devices }
                    }
                };
                OwnTarget { target, size, free: None }
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
    paths.iter().flatten().map(|path| shown(&device::examine(path).facts)).collect()
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

/// All devices, looked at and held, by target.
pub(super) fn looked_at(targets: &[Vec<PathBuf>], wipe: &[String]) -> Result<Vec<Vec<device::Examined>>> {
    let mut all: Vec<device::Examined> = Vec::new();
    for path in targets.iter().flatten() {
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
        if let Some((other, relation)) =
            all.iter().find_map(|other| Some((other, relation(&examined.facts, &other.facts)?)))
        {
            let (one, other) = (&examined.facts.path, &other.facts.path);
            bail!("--device {other} and {one} {}; name one of them; nothing was changed", between(relation));
        }
        device::check(&examined.facts, wipe)?;
        all.push(examined);
    }
    let facts: Vec<&Facts> = all.iter().map(|examined| &examined.facts).collect();
    for name in wipe {
        match facts.iter().filter(|facts| facts.is_named(name)).count() {
            0 => {
                let names: Vec<String> = facts.iter().map(|facts| facts.names().join(" or ")).collect();
                bail!("--wipe {name} names no device of this run; they are {}; nothing was changed", names.join(", "));
            }
            1 => {}
            _ => bail!("{}; nothing was changed", shared(name, &facts)),
        }
    }
    let mut all = all.into_iter();
    Ok(targets.iter().map(|together| all.by_ref().take(together.len()).collect()).collect())
}

/// How one device belongs to the other, if it does.
fn relation(one: &Facts, other: &Facts) -> Option<Relation> {
    let relative = one.relatives.iter().find(|relative| relative.number == other.identity.number);
    relative.map(|relative| relative.relation)
}

fn between(relation: Relation) -> &'static str {
    match relation {
        Relation::Path => "are one disk by two paths",
        Relation::Beside | Relation::Copy => "share their sectors",
        _ => "lie on one another",
    }
}

/// Why a name that several devices have, as disks of one array do, gives up none of them.
fn shared(name: &String, facts: &[&Facts]) -> String {
    let own = facts.iter().filter(|one| one.is_named(name)).map(|one| {
        let is_own = |name: &String| facts.iter().filter(|facts| facts.names().contains(name)).count() == 1;
        let named = one.names().into_iter().find(is_own).unwrap_or_else(|| one.own_name());
        format!("{named} for {}", one.path)
    });
    let own: Vec<String> = own.collect();
    format!("--wipe {name} names {} devices; name each by itself: {}", own.len(), own.join(", "))
}
