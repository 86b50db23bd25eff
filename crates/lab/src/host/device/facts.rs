//! What is known about a device and about all that depends on it: data for `refuse`, gathered by `gather`.

use std::io;

use mountmark_model::Identity;

/// A path that the user gave for a device, and what was found there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// As the user wrote it.
    pub path: String,
    pub leads_to: LeadsTo,
    pub identity: Identity,
    pub read_only: bool,
    pub opened: Opened,
    /// The device itself first, then partitions, the disk that it is a part of, what holds it, what it lies on.
    pub relatives: Vec<Relative>,
    /// Loop devices below of which nobody knows what they lie on.
    pub unknown_loops: Vec<String>,
    /// Processes that have it open for writing, or a partition of it.
    pub writers: Vec<Process>,
    /// The same of its whole disk, and of disks and files on which it lies by a loop device; and what these are.
    pub writers_below: (Vec<String>, Vec<Process>),
    /// Files on which it lies by a loop device and that others use, and how.
    pub used_files: Vec<(String, &'static str)>,
    /// What was found on it; empty if it was not read.
    pub contents: Vec<Content>,
    /// The first byte that is neither zero nor erased flash, of those that were looked at.
    pub data: Option<u64>,
    /// Why it could not be read.
    pub unreadable: Option<String>,
    /// The mount points that /etc/fstab has for it.
    pub fstab: Vec<String>,
    /// Whether all that was found on it is this program's mark of a disk for tests.
    pub is_scratch: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum LeadsTo {
    #[default]
    Device,
    Nothing,
    /// A link to this path, where nothing is.
    Dangling(String),
    /// Something else: `a file`, `a folder`.
    Other(&'static str),
    /// It cannot be looked at.
    Unknown(String),
    /// To one device, and a moment later to another.
    Changed,
}

/// What opening it for this program alone (O_EXCL) gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Opened {
    #[default]
    Held,
    /// The kernel or another program holds it.
    Busy,
    /// This user may not.
    Denied,
    NoMedium,
    /// The system's reason.
    Failed(String),
}

impl Opened {
    /// What an error of opening it like this says.
    pub fn of(error: &io::Error) -> Opened {
        match error.raw_os_error() {
            Some(libc::EBUSY) => Opened::Busy,
            Some(libc::EACCES | libc::EPERM) => Opened::Denied,
            Some(libc::ENOMEDIUM | libc::ENXIO) => Opened::NoMedium,
            _ => Opened::Failed(plain(error)),
        }
    }
}

/// An error without its number.
pub fn plain(error: &io::Error) -> String {
    error
        .raw_os_error()
        .map_or_else(|| error.to_string(), |code| rustix::io::Errno::from_raw_os_error(code).to_string())
}

/// How another device belongs to the one that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Itself,
    /// A partition of it.
    Partition,
    /// The disk that it is a partition of.
    Whole,
    /// It lies on the device that was asked for.
    Above,
    /// The device that was asked for lies on it.
    Below,
    /// The same, by a loop device, which does not keep others from it.
    Backing,
    /// It lies on something that the device lies on too, and may have the same sectors.
    Beside,
    /// A loop device on the same file.
    Copy,
    /// The same drive by another path of the machine, or a partition of that.
    Path,
}

impl Relation {
    /// Whether it is the device itself or what that lies on.
    pub fn is_chain(self) -> bool {
        matches!(self, Relation::Itself | Relation::Whole | Relation::Below | Relation::Backing)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Relative {
    /// The kernel's name.
    pub name: String,
    /// `8:1`
    pub number: String,
    pub relation: Relation,
    /// As in [`Identity::sort`].
    pub sort: String,
    pub mounts: Vec<Mounted>,
    pub is_swap: bool,
    /// The mounted file system of several devices that it is one of.
    pub member_of: Option<String>,
    /// The array of /proc/mdstat that it is in, active or not.
    pub array: Option<String>,
    /// What opening it for this program alone gave, if the device cannot answer for it: [`Relation::Backing`], [`Relation::Path`].
    pub opened: Opened,
}

/// A mount, as one mount name space has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounted {
    pub point: String,
    /// A process of that name space, if it is not this program's.
    pub by: Option<Process>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub id: u32,
    pub name: String,
}

/// Something recognised on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// With what is known of it: `ext4 (label home, UUID ...)`.
    pub about: String,
    pub uuid: Option<String>,
}

impl Facts {
    /// What `--wipe` must repeat to give up the contents: the drive's serial or world-wide name, a UUID found on it;
    /// number and size of a device that has none of these.
    pub fn names(&self) -> Vec<String> {
        let identity = &self.identity;
        let own = [identity.serial.clone(), identity.wwid.clone()].into_iter();
        let uuids = self.contents.iter().filter_map(|content| content.uuid.clone());
        let mut names: Vec<String> = Vec::new();
        for name in own.chain(uuids).filter(|name| !name.is_empty()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if names.is_empty() {
            names.push(self.own_name());
        }
        names
    }

    /// Its number and size, by which it can always be named.
    pub fn own_name(&self) -> String {
        format!("{}/{}", self.identity.number, self.identity.size.0)
    }

    /// Whether `--wipe` with this name means it.
    pub fn is_named(&self, given: &String) -> bool {
        self.names().contains(given) || *given == self.own_name()
    }

    /// Everything found on it, for people; empty if nothing was.
    pub fn holds(&self) -> String {
        let mut parts: Vec<String> = self.contents.iter().map(|content| content.about.clone()).collect();
        if let Some(at) = self.data.filter(|_| parts.is_empty()) {
            parts.push(format!("data of no known kind (byte {at} is not zero)"));
        }
        parts.extend(self.fstab.iter().map(|point| format!("what /etc/fstab mounts at {point}")));
        parts.join(", ")
    }
}
