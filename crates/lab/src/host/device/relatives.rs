//! Which other devices belong to a device, from /sys: its partitions and its disk, what lies on it, what it lies on.

use std::fs;
use std::path::{Path, PathBuf};

use mountmark_job::loops::{self, Attached};
use sha2::{Digest, Sha256};

use super::drive::Drive;
use super::facts::Relation;
use super::mapping;

const BLOCK: &str = "/sys/class/block";

pub(super) fn folder(name: &str) -> PathBuf {
    Path::new(BLOCK).join(name)
}

/// One line of a file in /sys; empty if it is not there.
pub(super) fn fact(name: &str, file: &str) -> String {
    fs::read_to_string(folder(name).join(file)).unwrap_or_default().trim().to_owned()
}

/// The kernel's name of a device number (`8:1`).
pub fn name_of(number: &str) -> Option<String> {
    let link = fs::canonicalize(format!("/sys/dev/block/{number}")).ok()?;
    Some(link.file_name()?.to_string_lossy().into_owned())
}

/// The kernel's names of all block devices.
pub(super) fn devices() -> Vec<String> {
    entries(Path::new(BLOCK))
}

/// Bytes that a device was told to forget since the machine was started (Documentation/admin-guide/iostats.rst).
pub(super) fn discarded(name: &str) -> u64 {
    let sectors = fact(name, "stat").split_whitespace().nth(13).and_then(|text| text.parse::<u64>().ok());
    sectors.unwrap_or(0).saturating_mul(512)
}

/// The disk that a partition is a part of; `None` for all else.
pub(super) fn whole(name: &str) -> Option<String> {
    let folder = fs::canonicalize(folder(name)).ok()?;
    if !folder.join("partition").exists() {
        return None;
    }
    Some(folder.parent()?.file_name()?.to_string_lossy().into_owned())
}

fn partitions(name: &str) -> Vec<String> {
    entries(&folder(name)).into_iter().filter(|part| folder(name).join(part).join("partition").exists()).collect()
}

fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// What a device is, in a few words.
pub(super) fn sort(name: &str) -> String {
    if let Some(whole) = whole(name) {
        return format!("partition of {whole}");
    }
    let on = |kind: String| match entries(&folder(name).join("slaves")) {
        below if below.is_empty() => kind,
        below => format!("{kind} on {}", below.join(", ")),
    };
    let uuid = fact(name, "dm/uuid");
    if folder(name).join("dm").exists() {
        let mapped = fact(name, "dm/name");
        let kinds = [
            ("LVM-", "LVM volume"),
            ("CRYPT-", "dm-crypt mapping"),
            ("mpath-", "multipath device"),
            ("part", "partition mapping"),
        ];
        let kind =
            kinds.iter().find(|(start, _)| uuid.starts_with(start)).map_or("device mapper's device", |kind| kind.1);
        return on(format!("{kind} {mapped}"));
    }
    if folder(name).join("md").exists() {
        return on(format!("RAID array ({})", fact(name, "md/level")));
    }
    match fact(name, "loop/backing_file") {
        file if !file.is_empty() => format!("loop device on {file}"),
        _ if folder(name).join("bcache").exists() => on("bcache device".into()),
        _ => "disk".into(),
    }
}

/// Tells where a device's sectors lie: it and each device below, the part of it, its count of media, and its map.
pub(super) fn ground(name: &str) -> String {
    let mut hash = Sha256::new();
    add_ground(name, &mut hash);
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn add_ground(name: &str, hash: &mut Sha256) {
    for file in ["dev", "diskseq", "start", "loop/offset", "loop/sizelimit", "pid"] {
        hash.update(fact(name, file));
        hash.update([0]);
    }
    if folder(name).join("dm").exists() {
        hash.update(mapping::of(&fact(name, "dev")));
    }
    for below in whole(name).into_iter().chain(entries(&folder(name).join("slaves"))) {
        add_ground(&below, hash);
    }
}

/// The device itself and all that belongs to it, each once.
pub(super) fn all(name: &str) -> Vec<(String, Relation)> {
    let mut family = Family { loops: loops::attached(), found: vec![(name.to_owned(), Relation::Itself)] };
    // First the whole chain: what it is made of is on none of its own parts.
    family.below(name);
    family.beside();
    family.above(name);
    for copy in family.copies() {
        if family.add(&copy, Relation::Copy) {
            family.above(&copy);
        }
    }
    for path in family.paths() {
        if family.add(&path, Relation::Path) {
            family.upon(&path, Relation::Path, Relation::Beside);
        }
    }
    family.found
}

/// Loop devices below one, or itself, of which the kernel does not say what they lie on, by their names.
pub(super) fn unknown_loops(family: &[(String, Relation)]) -> Vec<String> {
    let known = loops::attached();
    let chain = family.iter().filter(|(_, relation)| relation.is_chain()).map(|(name, _)| name);
    let loops = chain.filter(|name| !fact(name, "loop/backing_file").is_empty());
    loops.filter(|name| known.iter().all(|attached| attached.name != **name)).cloned().collect()
}

struct Family {
    loops: Vec<Attached>,
    found: Vec<(String, Relation)>,
}

impl Family {
    fn add(&mut self, name: &str, relation: Relation) -> bool {
        let known = self.found.iter_mut().find(|(known, _)| known == name);
        match known {
            None => self.found.push((name.to_owned(), relation)),
            // What a loop device lies on is looked at more closely than what a mapping has for itself.
            Some((_, known)) if (*known, relation) == (Relation::Below, Relation::Backing) => *known = relation,
            Some(_) => return false,
        }
        true
    }

    fn above(&mut self, name: &str) {
        self.upon(name, Relation::Partition, Relation::Above);
    }

    /// What lies in a device and on it, as these relations.
    fn upon(&mut self, name: &str, part: Relation, holding: Relation) {
        for partition in partitions(name) {
            if self.add(&partition, part) {
                self.upon(&partition, part, holding);
            }
        }
        self.each_upon(self.holders(name), part, holding);
    }

    /// Adds what lies on a device, with all that lies on that.
    fn each_upon(&mut self, holders: Vec<String>, part: Relation, holding: Relation) {
        for holder in holders {
            if self.add(&holder, holding) {
                self.upon(&holder, part, holding);
            }
        }
    }

    /// What lies on a device as a whole; the kernel does not count loop devices.
    fn holders(&self, name: &str) -> Vec<String> {
        entries(&folder(name).join("holders")).into_iter().chain(self.loops_on(name)).collect()
    }

    fn loops_on(&self, name: &str) -> Vec<String> {
        let number = fact(name, "dev");
        let loops = self.loops.iter().filter(|attached| attached.on_device.as_ref() == Some(&number));
        loops.map(|attached| attached.name.clone()).collect()
    }

    /// The chain of devices on which one lies.
    fn below(&mut self, name: &str) {
        if let Some(whole) = whole(name)
            && self.add(&whole, Relation::Whole)
        {
            self.below(&whole);
        }
        for below in entries(&folder(name).join("slaves")) {
            if self.add(&below, Relation::Below) {
                self.below(&below);
            }
        }
        let attached = self.loops.iter().find(|attached| attached.name == name);
        let on = attached.and_then(|attached| attached.on_device.as_ref()).and_then(|number| name_of(number));
        if let Some(backing) = on
            && self.add(&backing, Relation::Backing)
        {
            self.below(&backing);
        }
    }

    /// What else reaches the sectors of the chain.
    fn beside(&mut self) {
        for (name, relation) in self.found.clone() {
            self.snapshots(&name);
            match relation {
                // What is made of the disk as a whole holds this partition too.
                Relation::Whole => {
                    let holders = self.holders(&name);
                    self.each_upon(holders, Relation::Partition, Relation::Above);
                }
                // Mappings and arrays have what they lie on for themselves; a loop device asks nobody.
                Relation::Below => {
                    let loops = self.loops_on(&name);
                    self.each_upon(loops, Relation::Beside, Relation::Beside);
                }
                // A loop device does not have it for itself, so each other use of it may be of the same sectors.
                Relation::Backing => self.upon(&name, Relation::Beside, Relation::Beside),
                _ => {}
            }
        }
    }

    /// Snapshots of a volume lie on the device below it, and not on it. They are full soon if all of it is written, and the
    /// kernel drops those.
    fn snapshots(&mut self, name: &str) {
        if !folder(name).join("dm").exists() || !mapping::has(&fact(name, "dev"), "snapshot-origin") {
            return;
        }
        for below in entries(&folder(name).join("slaves")) {
            self.each_upon(self.holders(&below), Relation::Partition, Relation::Above);
        }
    }

    /// Other loop devices on the file of this one, or of one below it.
    fn copies(&self) -> Vec<String> {
        let own = self.found.iter().filter(|(_, relation)| relation.is_chain());
        let own: Vec<&str> = own.map(|(name, _)| name.as_str()).collect();
        let files = self.loops.iter().filter(|attached| own.contains(&attached.name.as_str()));
        let files: Vec<(u64, u64)> = files.map(|attached| attached.file).collect();
        let others = self.loops.iter().filter(|attached| files.contains(&attached.file));
        others.map(|attached| attached.name.clone()).filter(|other| !own.contains(&other.as_str())).collect()
    }

    /// Other disks of the kernel that are the same drives, as the two ports of a drive are without multipath.
    fn paths(&self) -> Vec<String> {
        let chain = self.found.iter().filter(|(name, relation)| relation.is_chain() && whole(name).is_none());
        let drives: Vec<Drive> = chain.map(|(name, _)| Drive::of(name)).filter(Drive::is_named).collect();
        if drives.is_empty() {
            return Vec::new();
        }
        let is_one = |name: &String| {
            let other = Drive::of(name);
            drives.iter().any(|drive| drive.is(&other))
        };
        let known = |name: &String| self.found.iter().any(|(known, _)| known == name);
        devices().into_iter().filter(|name| !known(name) && whole(name).is_none() && is_one(name)).collect()
    }
}
