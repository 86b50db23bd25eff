//! Steps on names in the order in which directories list them, read inside the steps and in batches, as programs do that
//! go over a folder.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::Pick;
use crate::engine::io::Engine;
use crate::engine::sys;
use crate::engine::worker::{Core, Worker};

/// How far directories are read.
#[derive(Default)]
pub(in crate::engine) struct Listing {
    /// The one that is read; closed at its end.
    open: Option<OwnedFd>,
    /// Its number.
    directory: u64,
    /// What is left of the last batch, in the core's room for entries.
    from: usize,
    to: usize,
}

/// Where the parts of a linux_dirent64 are: its length, and its name, which ends with a zero byte.
const LENGTH: usize = 16;
const NAME: usize = 19;

pub(super) fn stat<E: Engine>(worker: &mut Worker<'_, E>, _: Pick) -> i64 {
    let core = &mut worker.core;
    let found = next(core);
    // What a stat finds is no data that was moved.
    if found < 0 { found } else { sys::stat(core.set.folder(), &core.name).min(0) }
}

pub(super) fn unlink<E: Engine>(worker: &mut Worker<'_, E>, _: Pick) -> i64 {
    let core = &mut worker.core;
    let found = next(core);
    if found < 0 { found } else { sys::unlink(core.set.folder(), &core.name) }
}

/// Names the next file of the set that is listed; after the last directory come the first one's again. 0 or a negative
/// error number.
fn next(core: &mut Core<'_>) -> i64 {
    let directories = core.set.directories().max(1);
    let mut ends = 0;
    loop {
        while let Some(entry) = core.memory.entries[core.listing.from..core.listing.to].get(LENGTH..) {
            let length = usize::from(u16::from_ne_bytes([entry[0], entry[1]]));
            let name = &entry[NAME - LENGTH..length - LENGTH];
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            core.listing.from += length;
            if core.set.recognise(name, core.listing.directory, &mut core.name) {
                return 0;
            }
        }
        let directory = match &core.listing.open {
            Some(directory) => directory.as_raw_fd(),
            None => {
                core.set.directory_name(core.listing.directory, &mut core.name);
                let opened = sys::openat(core.set.folder(), &core.name, libc::O_RDONLY | libc::O_DIRECTORY);
                if opened < 0 {
                    return opened;
                }
                // SAFETY: the file was just opened, and nobody else knows its number.
                core.listing.open.insert(unsafe { OwnedFd::from_raw_fd(opened as i32) }).as_raw_fd()
            }
        };
        match sys::getdents(directory, &mut core.memory.entries) {
            0 => {
                core.listing.open = None;
                core.listing.directory = (core.listing.directory + 1) % directories;
                ends += 1;
                // The rest of one directory and then all of them had none of the set's files.
                if ends > directories {
                    core.set.directory_name(core.listing.directory, &mut core.name);
                    return -i64::from(libc::ENOENT);
                }
            }
            read if read < 0 => return read,
            read => (core.listing.from, core.listing.to) = (0, read as usize),
        }
    }
}
