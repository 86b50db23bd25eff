//! Runs a command without root, learns which files and programs it needs, and packs these as they were before, so that the
//! same command runs elsewhere.
//!
//! A seccomp filter stops the calls that name files; this process looks at them by ptrace before they are made. Reads,
//! writes and all other calls run as they do without it.

mod calls;
mod child;
mod command;
mod filter;
mod observe;
mod pack;
mod process;
mod program;
mod reach;
mod refusal;
mod tracer;
mod tree;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;

pub use command::Command;
pub use observe::Notes;
pub use pack::{Contents, Pack, Packed, Replaced, suite_name};
pub use refusal::{Refusal, Result};
pub use tracer::{Ended, MOST_MEMORY};

use child::{Child, Streams};
use observe::Observer;
use tree::{Before, Tree};

/// A command that ran, and what it needs to run again.
pub struct Recording {
    pub command: Command,
    pub ended: Ended,
    pub notes: Notes,
    /// Programs that ran, scripts and loaders among them, each with the folder that it first ran in.
    pub programs: BTreeMap<PathBuf, PathBuf>,
    /// The most memory that its programs had at once, in bytes.
    pub memory: u64,
    /// System calls that were looked at.
    pub calls: u64,
    tree: Tree,
}

/// Runs `command`. Copies of what it changes are put into `spool`, which it must not see. Nothing of `output` is its own.
/// Setting `stop` ends it.
pub fn record(command: Command, spool: &Path, output: &Path, limit: u64, stop: &AtomicBool) -> Result<Recording> {
    if !cfg!(target_arch = "x86_64") {
        return Err(Refusal::Machine);
    }
    let mut observer = Observer::new(&command.folder, output, Tree::new(spool, limit));
    observer.tree.touch(&command.folder, calls::Use::Look)?;
    if let Some(input) = &command.input {
        observer.opened_for(input)?;
    }
    let (streams, terminal) = streams().map_err(Refusal::input("a pipe"))?;
    let mut child = Child::new(&command, streams)?;
    let copied = terminal.map(|read| thread::spawn(move || copy(read)));
    let followed = tracer::follow(&mut child, &mut observer, stop);
    if let Some(copied) = copied {
        let _ = copied.join();
    }
    let followed = followed?;
    if let Some(error) = child.failure() {
        return Err(Refusal::NotStarted(command.line(), error));
    }
    let Observer { mut tree, mut notes, programs, .. } = observer;
    tree.finish();
    // What could not be written was not.
    notes.outside.retain(|path| tree.get(path).is_some_and(|node| node.before != Before::Absent || node.uses.made));
    // Folders of which all names are in the pack are as they were.
    notes.listed.retain(|folder| tree.has_unused(folder));
    let is_failure = followed.ended != Ended::Code(0);
    if let Some(program) = notes.io_uring.first().filter(|_| is_failure) {
        return Err(Refusal::IoUring { program: program.clone(), ended: followed.ended.to_string() });
    }
    let tracer::Followed { ended, memory, stops } = followed;
    Ok(Recording { command, ended, notes, programs, memory, calls: stops, tree })
}

impl Recording {
    /// Paths that were there before and were read, listed, executed or changed.
    pub fn needed(&self) -> BTreeSet<&Path> {
        self.select(|node| node.before != Before::Absent && (node.uses.read || node.uses.executed || node.uses.changed))
    }

    /// Paths that were made, those that are gone again among them.
    pub fn made(&self) -> BTreeSet<&Path> {
        self.select(|node| node.before == Before::Absent && node.uses.made)
    }

    /// Paths from before that were written, removed, renamed, or whose mode or times were set.
    pub fn changed(&self) -> BTreeSet<&Path> {
        self.select(|node| node.before != Before::Absent && node.uses.changed)
    }

    fn select(&self, is_wanted: impl Fn(&tree::Node) -> bool) -> BTreeSet<&Path> {
        self.tree.nodes().filter(|(_, node)| is_wanted(node)).map(|(path, _)| path).collect()
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ended::Code(code) => write!(f, "ended with code {code}"),
            Ended::Signal(signal) => write!(f, "was ended by signal {signal}"),
        }
    }
}

/// What the command prints to. As in a guest, no terminal: programs would ask it, page their output or colour it. What goes
/// to one comes by a pipe.
fn streams() -> io::Result<(Streams, Option<File>)> {
    let (output, errors) = (io::stdout().is_terminal(), io::stderr().is_terminal());
    if !output && !errors {
        return Ok((Streams { output: None, errors: None }, None));
    }
    let (read, write) = io::pipe()?;
    let write = |is_terminal: bool| -> io::Result<Option<OwnedFd>> {
        is_terminal.then(|| write.as_fd().try_clone_to_owned()).transpose()
    };
    let streams = Streams { output: write(output)?, errors: write(errors)? };
    Ok((streams, Some(File::from(OwnedFd::from(read)))))
}

/// Copies to the terminal until nobody writes any more.
fn copy(mut from: File) {
    let mut part = vec![0; 1 << 16];
    let is_output = io::stdout().is_terminal();
    while let Ok(length @ 1..) = from.read(&mut part) {
        let written = match is_output {
            true => io::stdout().write_all(&part[..length]).and_then(|()| io::stdout().flush()),
            false => io::stderr().write_all(&part[..length]),
        };
        if written.is_err() {
            break;
        }
    }
}
