//! Operations on names in directory order. Directories are read within the operations, in batches, as in programs that
//! traverse a folder.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::Pick;
use crate::engine::io::Engine;
use crate::engine::sys;
use crate::engine::worker::{Core, Worker};

/// Position in the directories.
#[derive(Default)]
pub(in crate::engine) struct Listing {
    /// The directory being read; closed at its end.
    open: Option<OwnedFd>,
    /// Number of that directory.
    directory: u64,
    /// The rest of the last batch, in the core's entry buffer.
    from: usize,
    to: usize,
}

/// Offsets in a linux_dirent64: its length, and its name, which ends with a zero byte.
const LENGTH: usize = 16;
const NAME: usize = 19;

pub(super) fn stat<E: Engine>(worker: &mut Worker<'_, E>, _: Pick) -> i64 {
    let core = &mut worker.core;
    let found = next(core);
    // A stat returns a size, but moves no data.
    if found < 0 { found } else { sys::stat(core.set.folder(), &core.name).min(0) }
}

pub(super) fn unlink<E: Engine>(worker: &mut Worker<'_, E>, _: Pick) -> i64 {
    let core = &mut worker.core;
    let found = next(core);
    if found < 0 { found } else { sys::unlink(core.set.folder(), &core.name) }
}

/// Sets the name to that of the next listed file of the set; wraps around after the last directory. Returns 0 or a
/// negative error number.
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
                // SAFETY: the file was just opened, and no other code has its number.
                core.listing.open.insert(unsafe { OwnedFd::from_raw_fd(opened as i32) }).as_raw_fd()
            }
        };
        match sys::getdents(directory, &mut core.memory.entries) {
            0 => {
                core.listing.open = None;
                core.listing.directory = (core.listing.directory + 1) % directories;
                ends += 1;
                // The rest of one directory and then all others held none of the set's files.
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
