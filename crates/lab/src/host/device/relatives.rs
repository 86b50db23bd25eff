//! Which other devices belong to a device, from /sys: its partitions and its disk, what lies on it, what it lies on.

use std::fs;
use std::path::{Path, PathBuf};

use mountmark_job::loops::{self, Attached};
use sha2::{Digest, Sha256};

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
    family.below(name);
    family.above(name);
    for copy in family.copies(name) {
        if family.add(&copy, Relation::Copy) {
            family.above(&copy);
        }
    }
    family.found
}

struct Family {
    loops: Vec<Attached>,
    found: Vec<(String, Relation)>,
}

impl Family {
    fn add(&mut self, name: &str, relation: Relation) -> bool {
        let is_new = self.found.iter().all(|(known, _)| known != name);
        if is_new {
            self.found.push((name.to_owned(), relation));
        }
        is_new
    }

    fn above(&mut self, name: &str) {
        for partition in partitions(name) {
            if self.add(&partition, Relation::Partition) {
                self.above(&partition);
            }
        }
        for holder in self.holders(name) {
            if self.add(&holder, Relation::Above) {
                self.above(&holder);
            }
        }
    }

    /// What lies on a device as a whole; the kernel does not count loop devices.
    fn holders(&self, name: &str) -> Vec<String> {
        let number = fact(name, "dev");
        let loops = self.loops.iter().filter(|attached| attached.on_device.as_ref() == Some(&number));
        let loops = loops.map(|attached| attached.name.clone());
        entries(&folder(name).join("holders")).into_iter().chain(loops).collect()
    }

    fn below(&mut self, name: &str) {
        if let Some(whole) = whole(name)
            && self.add(&whole, Relation::Whole)
        {
            // What is made of the disk as a whole holds this partition too.
            for holder in self.holders(&whole) {
                if self.add(&holder, Relation::Above) {
                    self.above(&holder);
                }
            }
            self.below(&whole);
        }
        let on =
            self.loops.iter().find(|attached| attached.name == name).and_then(|attached| attached.on_device.clone());
        for below in entries(&folder(name).join("slaves")).into_iter().chain(on.and_then(|number| name_of(&number))) {
            if self.add(&below, Relation::Below) {
                self.below(&below);
            }
        }
    }

    /// Other loop devices on the file of this one, or of one below it.
    fn copies(&self, name: &str) -> Vec<String> {
        let own = self
            .found
            .iter()
            .filter(|(_, relation)| matches!(relation, Relation::Itself | Relation::Whole | Relation::Below));
        let own: Vec<&str> = own.map(|(name, _)| name.as_str()).chain([name]).collect();
        let files = self.loops.iter().filter(|attached| own.contains(&attached.name.as_str()));
        let files: Vec<(u64, u64)> = files.map(|attached| attached.file).collect();
        let others = self.loops.iter().filter(|attached| files.contains(&attached.file));
        others.map(|attached| attached.name.clone()).filter(|other| !own.contains(&other.as_str())).collect()
    }
}
