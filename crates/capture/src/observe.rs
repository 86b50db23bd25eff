//! Each stopped call becomes what it touches.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::calls::{Call, Kind, Touch, Use};
use crate::process::Thread;
use crate::program;
use crate::reach::{self, Address};
use crate::refusal::{Refusal, Result};
use crate::tree::{Before, Tree};
use crate::walk::{Walker, is_kernels};

/// What a user should know of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Files outside the working directory and /tmp that were written.
    pub outside: BTreeSet<PathBuf>,
    /// Files of the kernel that were read: a guest's say something else.
    pub kernel: BTreeSet<PathBuf>,
    /// Folders of the system that were listed.
    pub listed: BTreeSet<PathBuf>,
    /// Programs that asked for io_uring and did not get it.
    pub io_uring: BTreeSet<String>,
    /// Programs that still ran when the command had ended.
    pub left: Vec<String>,
}

/// What to do with a stopped call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    GoOn,
    /// It goes on already.
    Gone,
    /// See what it returns.
    Await(Awaited),
    /// It fails with this error.
    Fail(i32),
}

/// A call whose result matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    Reach(Address),
    /// The new names of folders.
    Rename(Vec<PathBuf>),
}

/// A name as it was in the memory of a process.
struct Named {
    /// The folder that it starts at, or the open file if there is no name.
    base: PathBuf,
    name: OsString,
}

impl Named {
    fn read(thread: Thread, touch: &Touch) -> Option<Named> {
        let name = match touch.name {
            Some(address) => thread.name(address).filter(|name| !name.is_empty())?,
            None => OsString::new(),
        };
        Named::of(thread, touch.folder, name)
    }

    fn of(thread: Thread, folder: i32, name: OsString) -> Option<Named> {
        let base = match Path::new(&name).is_absolute() {
            true => PathBuf::from("/"),
            false => thread.open_file(folder)?,
        };
        Some(Named { base, name })
    }
}

/// Where the notes of all calls are kept.
pub struct Observer {
    pub tree: Tree,
    pub notes: Notes,
    /// Programs that ran, and from where.
    pub programs: BTreeMap<PathBuf, PathBuf>,
    walker: Walker,
    folder: PathBuf,
    /// Nothing of this folder is the command's.
    output: PathBuf,
    /// Names of sockets that the command bound.
    bound: BTreeSet<String>,
}

impl Observer {
    pub fn new(folder: &Path, output: &Path, tree: Tree) -> Observer {
        Observer {
            tree,
            notes: Notes::default(),
            programs: BTreeMap::new(),
            walker: Walker::default(),
            folder: folder.to_owned(),
            output: output.to_owned(),
            bound: BTreeSet::new(),
        }
    }

    /// A call that is about to be made.
    pub fn see(&mut self, thread: Thread, call: &Call) -> Result<Then> {
        match call.kind() {
            Kind::Files => {
                let flags = |address: u64| {
                    let mut how = [0; 8];
                    (thread.memory(address, &mut how) == how.len()).then(|| u64::from_ne_bytes(how))
                };
                let touches = call.touches(flags);
                let names: Vec<Option<Named>> = touches.iter().map(|touch| Named::read(thread, touch)).collect();
                // What only looks may go on meanwhile: all that changes something waits until this is noted.
                let changes = touches.iter().any(|touch| !matches!(touch.with, Use::Look | Use::Read));
                if !changes {
                    thread.go_on(0);
                }
                let both = touches.iter().zip(&names);
                let paths =
                    both.map(|(touch, name)| self.touch(thread, touch, name.as_ref())).collect::<Result<Vec<_>>>()?;
                if !changes {
                    return Ok(Then::Gone);
                }
                if let ([Touch { with: Use::Away, .. }, other], [Some(old), Some(new)]) = (&touches[..], &paths[..]) {
                    let mut folders = Vec::new();
                    folders.extend(self.tree.rename(old, new)?.then(|| new.clone()));
                    if other.with == Use::Away {
                        folders.extend(self.tree.rename(new, old)?.then(|| old.clone()));
                    }
                    if !folders.is_empty() {
                        return Ok(Then::Await(Awaited::Rename(folders)));
                    }
                }
                Ok(Then::GoOn)
            }
            Kind::Connect => Ok(self.reached(thread, call.arguments[1], call.arguments[2])),
            Kind::Send => Ok(self.reached(thread, call.arguments[4], call.arguments[5])),
            Kind::Bind => {
                match self.read_address(thread, call.arguments[1], call.arguments[2]) {
                    Address::File(name) => {
                        if let Some(path) = self.find_here(thread, &name, false)? {
                            self.tree.touch(&path, Use::Make)?;
                        }
                    }
                    Address::Abstract(name) => {
                        self.bound.insert(name);
                    }
                    Address::Network(_) | Address::Other => {}
                }
                Ok(Then::GoOn)
            }
            Kind::IoUring => {
                self.notes.io_uring.insert(thread.label());
                Ok(Then::Fail(libc::ENOSYS))
            }
            Kind::Trace => Err(Refusal::Tracer { program: thread.label() }),
            Kind::OtherRoot(what) => Err(Refusal::OtherRoot { program: thread.label(), what }),
        }
    }

    fn read_address(&self, thread: Thread, at: u64, length: u64) -> Address {
        let mut bytes = [0; 128];
        let length = bytes.len().min(usize::try_from(length).unwrap_or(0));
        let read = thread.memory(at, &mut bytes[..length]);
        reach::address(&bytes[..read])
    }

    /// Whether it matters that a socket reaches its address.
    fn reached(&mut self, thread: Thread, at: u64, length: u64) -> Then {
        let address = match self.read_address(thread, at, length) {
            Address::Other => return Then::GoOn,
            Address::Abstract(name) if self.bound.contains(&name) => return Then::GoOn,
            Address::File(name) => {
                let Ok(Some(path)) = self.find_here(thread, &name, true) else { return Then::GoOn };
                // Sockets of the command's own programs are new.
                if self.tree.touch(&path, Use::Look).is_err() || self.tree.before(&path) != &Before::Special {
                    return Then::GoOn;
                }
                Address::File(path)
            }
            other => other,
        };
        Then::Await(Awaited::Reach(address))
    }

    /// A call that returned.
    pub fn returned(&mut self, thread: Thread, awaited: &Awaited, result: i64) -> Result<()> {
        if result < 0 && result != -i64::from(libc::EINPROGRESS) {
            return Ok(());
        }
        let address = match awaited {
            Awaited::Reach(address) => address,
            Awaited::Rename(folders) => {
                folders.iter().for_each(|folder| self.tree.replaced(folder));
                return Ok(());
            }
        };
        let program = thread.label();
        Err(match address {
            Address::Network(address) => Refusal::Network { program, address: address.clone() },
            Address::File(path) => Refusal::Daemon { program, address: path.display().to_string() },
            Address::Abstract(name) => Refusal::Daemon { program, address: name.clone() },
            Address::Other => return Ok(()),
        })
    }

    /// The real path of a name that starts at the working directory.
    fn find_here(&mut self, thread: Thread, name: &Path, follows: bool) -> Result<Option<PathBuf>> {
        match Named::of(thread, libc::AT_FDCWD, name.as_os_str().to_owned()) {
            Some(named) => self.find(&named, follows),
            None => Ok(None),
        }
    }

    /// The real path of a name. None where the kernel finds none either.
    fn find(&mut self, named: &Named, follows: bool) -> Result<Option<PathBuf>> {
        let Some(found) = self.walker.walk(&named.base, &named.name, follows) else { return Ok(None) };
        for link in &found.links {
            self.tree.touch(link, Use::Look)?;
        }
        Ok(Some(found.path))
    }

    fn touch(&mut self, thread: Thread, touch: &Touch, named: Option<&Named>) -> Result<Option<PathBuf>> {
        let Some(named) = named else { return Ok(None) };
        let path = match touch.name {
            Some(_) => self.find(named, touch.follows)?,
            None => Some(named.base.clone()),
        };
        let Some(path) = path else { return Ok(None) };
        if path.starts_with(&self.output) {
            return Ok(None);
        }
        if is_kernels(&path) {
            // What /dev/stdin leads to is not the kernel's.
            let is_descriptor = path.iter().any(|part| part == "fd");
            if touch.with != Use::Look && !is_descriptor {
                self.notes.kernel.insert(reach::without_numbers(&path));
            }
            return Ok(None);
        }
        self.tree.touch(&path, touch.with)?;
        if (touch.is_open || touch.with == Use::Read) && self.tree.before(&path) == &Before::Special {
            reach::check_open(&path, &thread.label())?;
        }
        self.follow_up(thread, touch, &path)?;
        Ok(Some(path))
    }

    /// What a use means beyond its file.
    fn follow_up(&mut self, thread: Thread, touch: &Touch, path: &Path) -> Result<()> {
        let kind = self.tree.before(path).clone();
        match touch.with {
            Use::Execute => self.executed(thread, path, 0)?,
            Use::Read if kind == Before::Folder => {
                self.tree.list(path)?;
                if is_systems(path) {
                    self.notes.listed.insert(path.to_owned());
                }
            }
            _ => {}
        }
        let is_name = matches!(touch.with, Use::Remove | Use::Away | Use::Onto);
        if is_name && (kind != Before::File || std::fs::symlink_metadata(path).is_ok_and(|now| !now.is_file())) {
            self.walker.forget();
        }
        let is_memory = ["/tmp", "/dev"].iter().any(|place| path.starts_with(place));
        if touch.with.changes() && !path.starts_with(&self.folder) && !is_memory {
            self.notes.outside.insert(path.to_owned());
        }
        Ok(())
    }

    /// A file is about to be executed: what starts it is executed, too.
    fn executed(&mut self, thread: Thread, path: &Path, depth: usize) -> Result<()> {
        // As deep as the kernel goes.
        if depth > 4 || self.programs.contains_key(path) {
            return Ok(());
        }
        let starter = program::starter(path)?;
        if std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
            let from = thread.open_file(libc::AT_FDCWD).unwrap_or_default();
            self.programs.insert(path.to_owned(), from);
        }
        let Some(starter) = starter else { return Ok(()) };
        if let Some(found) = self.find_here(thread, &starter, true)? {
            self.tree.touch(&found, Use::Execute)?;
            self.executed(thread, &found, depth + 1)?;
        }
        Ok(())
    }

    /// A file that this program opens for the command.
    pub fn opened_for(&mut self, path: &Path) -> Result<()> {
        self.tree.touch(path, Use::Read)
    }
}

/// Whether a guest has files of its own there, which are not those of this machine.
pub fn is_systems(path: &Path) -> bool {
    ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/boot", "/opt"].iter().any(|place| path.starts_with(place))
        || path == Path::new("/")
}
