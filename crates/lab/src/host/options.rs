//! Options of the host lab.

use std::path::PathBuf;

use mountmark_model::Bytes;

use crate::emulator::options::SILENCE_LIMIT;
use crate::lab::Place;
use crate::options::{Given, LabOption, Takes};

/// Seconds of a round of preconditioning, as SNIA has it.
const ROUND: &str = "60";

pub static IMAGE: LabOption = LabOption {
    name: "image",
    value: "PATH",
    takes: Takes::Path,
    help: "Host lab: the file that stands for the disk under test, empty or not there yet, or a folder in which to make it \
           [default: /var/tmp]. A file that is made here has no name and is gone afterwards; yours is given back empty",
    with: None,
    against: &[],
    elsewhere: "--image is an option of --lab host; the other labs need no image",
};

pub static FORCE_IMAGE: LabOption = LabOption {
    name: "force-image",
    value: "",
    takes: Takes::Nothing,
    help: "Host lab: overwrite what the file after --image holds",
    with: Some("image"),
    against: &[],
    elsewhere: "--force-image is an option of --lab host; the other labs need no image",
};

pub static DEVICE: LabOption = LabOption {
    name: "device",
    value: "DEVICE",
    takes: Takes::Paths,
    help: "Host lab: real disks, partitions, volumes or arrays to make the file systems on, separated by commas; each configuration \
           visits each. A+B are disks that one configuration takes together. All that they hold is lost; one that is in use is \
           refused, whatever else is said",
    with: None,
    against: &["image"],
    elsewhere: "--device is an option of --lab host; guests have disks of their own",
};

pub static WIPE: LabOption = LabOption {
    name: "wipe",
    value: "NAME",
    takes: Takes::Texts,
    help: "Host lab: give up what the devices hold, each by its serial number or a UUID on it, separated by commas; a refusal shows \
           these names",
    with: Some("device"),
    against: &[],
    elsewhere: "--wipe is an option of --lab host; guests have disks of their own",
};

pub static DIR: LabOption = LabOption {
    name: "dir",
    value: "FOLDER",
    takes: Takes::Path,
    help: "Host lab: a folder of a file system that is mounted already. Tasks alone run, in a new folder below it: nothing is made, \
           mounted or checked, and --fs has no effect",
    with: None,
    against: &["image", "device"],
    elsewhere: "--dir is an option of --lab host; guests have disks of their own",
};

pub static MEMORY: LabOption = LabOption {
    name: "memory",
    value: "SIZE",
    takes: Takes::Size,
    help: "Host lab: the most memory that a cell's programs and the pages they cache may take together, so that large files leave \
           the cache as on a small machine; needs cgroup v2",
    with: None,
    against: &[],
    elsewhere: "--memory is an option of --lab host; a guest has the memory of its --machine, and --vary ram=FROM..TO varies it",
};

pub static PRECONDITION: LabOption = LabOption {
    name: "precondition",
    value: "SECONDS",
    takes: Takes::Count { most: 3600, usual: None, alone: Some(ROUND) },
    help: "Host lab, with --device: bring flash disks into steady state before the first cell, as SNIA's PTS 2.0.1 has it: discard, \
           write twice from end to end, then at random in rounds of so many seconds until five of them are alike, 25 at most \
           [default: 60]. Nothing is discarded before mkfs then",
    with: None,
    against: &[],
    elsewhere: "--precondition: guest disks are models and cannot be preconditioned; name a real one with --lab host \
                --device",
};

pub(super) static ALL: [&LabOption; 8] =
    [&SILENCE_LIMIT, &IMAGE, &FORCE_IMAGE, &DEVICE, &WIPE, &DIR, &MEMORY, &PRECONDITION];

/// What the lab works on.
pub fn place(given: &Given) -> Place {
    let devices: Vec<_> = given.paths(&DEVICE).map(several).collect();
    match given.paths(&DIR).next() {
        Some(folder) => Place::Folder(folder),
        None if devices.is_empty() => Place::Image { path: given.paths(&IMAGE).next(), force: given.has(&FORCE_IMAGE) },
        None => Place::Devices { paths: devices, wipe: given.texts(&WIPE).collect() },
    }
}

/// The devices that one argument of `--device` names, with `+` between them. A node may have a `+` in its own name.
fn several(given: PathBuf) -> Vec<PathBuf> {
    match given.to_str() {
        Some(text) if text.contains('+') && !given.exists() => text.split('+').map(PathBuf::from).collect(),
        _ => vec![given],
    }
}

/// Refuses preconditioning of what is no disk, too little memory, and a device without a name.
pub(super) fn check(given: &Given) -> Result<(), String> {
    if let Some(reason) = given.value::<Bytes>(&MEMORY).and_then(super::group::too_little) {
        return Err(reason);
    }
    let no_disk = match place(given) {
        _ if !given.has(&PRECONDITION) => None,
        Place::Devices { .. } => None,
        Place::Folder(_) => Some(
            "the disk below --dir is in use, and all that it holds would be lost; name a disk that holds nothing with --device",
        ),
        Place::Image { .. } => Some(
            "an image is a file, in memory or wherever its file system puts it, and each cell gets an empty one; name the disk \
             itself with --device",
        ),
    };
    if let Some(reason) = no_disk {
        return Err(format!("--precondition: {reason}"));
    }
    match given.paths(&DEVICE).flat_map(several).any(|path| path.as_os_str().is_empty()) {
        true => Err("--device names no device; give a path, such as /dev/sdb".into()),
        false => Ok(()),
    }
}
