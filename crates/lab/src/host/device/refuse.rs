//! Why a device is not touched: a function of what is known about it.

use std::fmt;

use super::facts::{Facts, LeadsTo, Opened, Process, Relation, Relative};

/// One reason, which names the thing, the reason and the mend.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    Missing {
        path: String,
    },
    Dangling {
        path: String,
        target: String,
    },
    NoDevice {
        path: String,
        is: &'static str,
    },
    Unknown {
        path: String,
        error: String,
    },
    Changed {
        path: String,
    },
    NoMedium {
        path: String,
    },
    ReadOnly {
        path: String,
    },
    Mounted {
        path: String,
        relative: Box<Relative>,
    },
    Swap {
        path: String,
        relative: Box<Relative>,
    },
    Member {
        path: String,
        relative: Box<Relative>,
        of: String,
    },
    Array {
        path: String,
        relative: Box<Relative>,
        array: String,
    },
    Held {
        path: String,
        relative: Box<Relative>,
    },
    /// The kernel does not give a device to this program that reaches the same sectors.
    Unheld {
        path: String,
        relative: Box<Relative>,
    },
    UnknownLoop {
        path: String,
        name: String,
    },
    Partitions {
        path: String,
        names: Vec<String>,
    },
    SharesFile {
        path: String,
        relative: Box<Relative>,
    },
    Written {
        path: String,
        by: Vec<Process>,
    },
    /// One of these, on which it lies, is.
    WrittenBelow {
        path: String,
        on: Vec<String>,
        by: Vec<Process>,
    },
    FileInUse {
        path: String,
        file: String,
        used: &'static str,
    },
    Busy {
        path: String,
    },
    Unreadable {
        path: String,
        error: String,
    },
    WrongWipe {
        path: String,
        given: Vec<String>,
        names: Vec<String>,
    },
    Holds {
        path: String,
        what: String,
        names: Vec<String>,
    },
}

/// All reasons why the device must not be written, the gravest first; empty if it may. `wipe` are the names by which the
/// user gives up contents. Nothing but contents can be given up.
pub fn refusals(facts: &Facts, wipe: &[String]) -> Vec<Refusal> {
    let path = || facts.path.clone();
    match &facts.leads_to {
        LeadsTo::Device => {}
        LeadsTo::Nothing => return vec![Refusal::Missing { path: path() }],
        LeadsTo::Dangling(target) => return vec![Refusal::Dangling { path: path(), target: target.clone() }],
        LeadsTo::Other(is) => return vec![Refusal::NoDevice { path: path(), is }],
        LeadsTo::Changed => return vec![Refusal::Changed { path: path() }],
        LeadsTo::Unknown(error) => return vec![Refusal::Unknown { path: path(), error: error.clone() }],
    }
    if facts.opened == Opened::NoMedium || facts.identity.size.0 == 0 {
        return vec![Refusal::NoMedium { path: path() }];
    }
    let mut out: Vec<Refusal> = facts.relatives.iter().flat_map(|relative| of_relative(facts, relative)).collect();
    out.extend(unheld(facts, out.is_empty()));
    let is_part = |relative: &&Relative| relative.relation == Relation::Partition;
    let partitions: Vec<String> = facts.relatives.iter().filter(is_part).map(|part| part.name.clone()).collect();
    if !partitions.is_empty() && out.is_empty() {
        out.push(Refusal::Partitions { path: path(), names: partitions });
    }
    if !facts.writers.is_empty() {
        out.push(Refusal::Written { path: path(), by: facts.writers.clone() });
    }
    let (on, by) = &facts.writers_below;
    // Who has the device itself open has been named.
    let by: Vec<Process> = by.iter().filter(|process| !facts.writers.contains(process)).cloned().collect();
    if !by.is_empty() {
        out.push(Refusal::WrittenBelow { path: path(), on: on.clone(), by });
    }
    let used = facts.used_files.iter().cloned();
    out.extend(used.map(|(file, used)| Refusal::FileInUse { path: path(), file, used }));
    match &facts.opened {
        Opened::Busy if out.is_empty() => out.push(Refusal::Busy { path: path() }),
        Opened::Failed(error) => out.push(Refusal::Unreadable { path: path(), error: error.clone() }),
        _ => {}
    }
    if facts.read_only {
        out.push(Refusal::ReadOnly { path: path() });
    }
    if let Some(error) = &facts.unreadable {
        out.push(Refusal::Unreadable { path: path(), error: error.clone() });
    }
    out.extend(of_contents(facts, wipe));
    out
}

/// Why a device that belongs to it forbids it.
fn of_relative(facts: &Facts, relative: &Relative) -> Vec<Refusal> {
    let (path, boxed) = (facts.path.clone(), Box::new(relative.clone()));
    if !relative.mounts.is_empty() {
        return vec![Refusal::Mounted { path, relative: boxed }];
    }
    if relative.is_swap {
        return vec![Refusal::Swap { path, relative: boxed }];
    }
    // Volumes and partitions beside it may lie on the same disk; only what is made of that disk as a whole counts.
    let is_part_of_it = relative.relation != Relation::Below;
    if let Some(of) = relative.member_of.clone().filter(|_| is_part_of_it) {
        return vec![Refusal::Member { path, relative: boxed, of }];
    }
    if let Some(array) = relative.array.clone().filter(|_| is_part_of_it) {
        return vec![Refusal::Array { path, relative: boxed, array }];
    }
    match relative.relation {
        Relation::Above | Relation::Beside => vec![Refusal::Held { path, relative: boxed }],
        Relation::Copy => vec![Refusal::SharesFile { path, relative: boxed }],
        _ => Vec::new(),
    }
}

/// Why what reaches the same sectors is not this program's alone. That a use which is named already keeps it busy is not said.
fn unheld(facts: &Facts, is_unexplained: bool) -> Vec<Refusal> {
    // Who may not open the device itself learns about that alone.
    if facts.opened == Opened::Denied {
        return Vec::new();
    }
    let is_unheld = |relative: &&Relative| match relative.opened {
        Opened::Held => false,
        Opened::Busy => is_unexplained,
        // Nobody uses a path that does not reach its drive.
        Opened::NoMedium => relative.relation != Relation::Path,
        Opened::Denied | Opened::Failed(_) => true,
    };
    let unheld = facts.relatives.iter().filter(is_unheld).cloned().map(Box::new);
    let unheld = unheld.map(|relative| Refusal::Unheld { path: facts.path.clone(), relative });
    let unknown = facts.unknown_loops.iter().cloned();
    unheld.chain(unknown.map(|name| Refusal::UnknownLoop { path: facts.path.clone(), name })).collect()
}

fn of_contents(facts: &Facts, wipe: &[String]) -> Option<Refusal> {
    let (path, names) = (facts.path.clone(), facts.names());
    let is_given_up = wipe.iter().any(|given| facts.is_named(given));
    let what = facts.holds();
    if is_given_up || what.is_empty() {
        return None;
    }
    Some(match wipe {
        [] => Refusal::Holds { path, what, names },
        given => Refusal::WrongWipe { path, given: given.to_vec(), names },
    })
}

/// The device that a reason is about, in words.
fn which(path: &str, relative: &Relative) -> String {
    let Relative { name, sort, .. } = relative;
    match relative.relation {
        Relation::Itself => path.to_owned(),
        Relation::Partition => format!("{path} has the partition {name}, which"),
        Relation::Whole => format!("{path} is a part of {name}, which as a whole"),
        Relation::Above => format!("{path} carries {name} ({sort}), which"),
        Relation::Below => format!("{path} lies on {name} ({sort}), which"),
        Relation::Backing => format!("{path} lies by a loop device on {name} ({sort}), which"),
        Relation::Beside => format!("{path} shares a disk with {name} ({sort}), which"),
        Relation::Path => format!("{path} is also there as {name} ({sort}), by another path to the same disk, which"),
        Relation::Copy => format!("{path} and {name} are loop devices on one file, and {name}"),
    }
}

fn list(names: &[String]) -> String {
    names.join(" or ")
}

impl fmt::Display for Refusal {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        let text = match self {
            Refusal::Missing { path } => format!("{path} is not there; lsblk lists the disks of this machine"),
            Refusal::Dangling { path, target } => {
                format!("{path} is a link to {target}, which is not there; is the disk plugged in? lsblk lists disks")
            }
            Refusal::NoDevice { path, is } => format!(
                "{path} is {is} and no block device; --image takes a file as a disk, --dir a folder of a mounted file system"
            ),
            Refusal::Unknown { path, error } => format!("{path} cannot be looked at: {error}; run it as root"),
            Refusal::Changed { path } => {
                format!(
                    "{path} leads to another device than a moment before; name it by a path that stays, and start again"
                )
            }
            Refusal::NoMedium { path } => {
                format!("{path} has a size of 0: it holds no medium; put one in, or name another disk")
            }
            Refusal::ReadOnly { path } => format!(
                "{path} is read-only; unlock it if it has a switch, or allow writing (blockdev --setrw {path}), if nothing wants it so"
            ),
            Refusal::Mounted { path, relative } => mounted(path, relative),
            Refusal::Swap { path, relative } => format!(
                "{} is in use as swap; take it out first (swapoff /dev/{}), if there is memory enough",
                which(path, relative),
                relative.name
            ),
            Refusal::Member { path, relative, of } => format!(
                "{} is one of the devices of {of}, which is mounted; unmount that, or name another disk",
                which(path, relative)
            ),
            Refusal::Array { path, relative, array } => format!(
                "{} is in the RAID array {array}; stop that first (mdadm --stop /dev/{array}), if nothing needs it",
                which(path, relative)
            ),
            Refusal::Held { path, relative } if relative.relation == Relation::Beside => format!(
                "{} may have the same sectors; take that down first, or name another disk",
                which(path, relative)
            ),
            Refusal::Held { path, relative } => format!(
                "{path} is in use: {} ({}) lies on it; take that down first, or name another disk",
                relative.name, relative.sort
            ),
            Refusal::Unheld { path, relative } => unheld_text(path, relative),
            Refusal::UnknownLoop { path, name } => format!(
                "{path} lies on the loop device {name}, and nobody knows what that lies on, as /dev/{name} cannot be asked; make that node, or name another disk"
            ),
            Refusal::SharesFile { path, relative } => format!(
                "{path} and {} are loop devices on one file; detach that one (losetup -d /dev/{}), if nothing needs it",
                relative.name, relative.name
            ),
            Refusal::Partitions { path, names } => format!(
                "{path} has partitions ({}); name one of them, or remove them first (sfdisk --delete {path}), if nothing in them is wanted",
                names.join(", ")
            ),
            Refusal::Written { path, by } => {
                format!("{path} is open for writing in process {}; end that first", processes(by))
            }
            Refusal::WrittenBelow { path, on, by } => format!(
                "{path} lies on {}, which process {} may write; end that first, or name another disk",
                list(on),
                processes(by)
            ),
            Refusal::FileInUse { path, file, used } => {
                format!("{path} is a loop device on {file}, and that {used}; end that first, or name another disk")
            }
            Refusal::Busy { path } => format!(
                "{path} is in use by the kernel or by a program that has it for itself (a pool of ZFS, a file system that another container mounts, a journal of another disk); end that first, or name another disk"
            ),
            Refusal::Unreadable { path, error } => format!(
                "{path} cannot be read, so nobody knows what is on it: {error}; look at the kernel's messages (dmesg), or name another disk"
            ),
            Refusal::WrongWipe { path, given, names } => {
                format!("--wipe {} does not name what {path} holds; its names are {}", list(given), list(names))
            }
            Refusal::Holds { path, what, names } => format!(
                "{path} holds {what}, which would be lost; if nothing of it is wanted, say so with --wipe {}",
                list(names)
            ),
        };
        to.write_str(&text)
    }
}

fn unheld_text(path: &str, relative: &Relative) -> String {
    let device = which(path, relative);
    match &relative.opened {
        Opened::Failed(error) => format!("{device} cannot be held against other programs: {error}; name another disk"),
        Opened::NoMedium => format!("{device} has no medium; name another disk"),
        Opened::Denied => format!("{device} this user may not open; run it as root"),
        Opened::Held | Opened::Busy => format!(
            "{device} the kernel or a program has for itself (a mounted partition, a volume, an array, a pool of ZFS); end that first, or name another disk"
        ),
    }
}

fn processes(by: &[Process]) -> String {
    let by: Vec<String> = by.iter().map(|Process { id, name }| format!("{id} ({name})")).collect();
    by.join(", ")
}

fn mounted(path: &str, relative: &Relative) -> String {
    let (device, mount) = (which(path, relative), &relative.mounts[0]);
    let mend = match &mount.by {
        None => format!("; unmount it first (umount /dev/{}), if nothing needs it", relative.name),
        Some(Process { id, name }) => {
            format!(" in another mount name space, that of process {id} ({name}); end that, or name another disk")
        }
    };
    format!("{device} is mounted at {}{mend}", mount.point)
}

#[cfg(test)]
mod tests;
