//! What the warden mounts for its command: settings that cannot be written, and a tree of files of its own. It neither
//! allocates memory nor takes a lock.

use std::ffi::{CStr, CString};
use std::io;

use crate::tree::Tree;

/// What of procfs is no process: settings of the kernel and of its drivers.
const PROC_SETTINGS: [&CStr; 10] = [
    c"/proc/sys", c"/proc/sysrq-trigger", c"/proc/fs", c"/proc/irq", c"/proc/bus", c"/proc/scsi", c"/proc/driver",
    c"/proc/acpi", c"/proc/dynamic_debug", c"/proc/mtrr",
];

/// Mounts the tree, with what of the machine is in it, and makes it this process's root.
pub(super) fn enter(tree: &Tree) -> io::Result<()> {
    let nothing = std::ptr::null();
    let checked = |result: libc::c_int| match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    };
    // SAFETY: plain system calls with strings that outlive them.
    unsafe {
        let (kind, root) = (c"overlay".as_ptr(), tree.root.as_ptr());
        checked(libc::mount(kind, root, kind, 0, tree.options.as_ptr().cast()))?;
        for [from, to] in &tree.binds {
            checked(libc::mount(from.as_ptr(), to.as_ptr(), nothing, libc::MS_BIND | libc::MS_REC, nothing.cast()))?;
        }
        checked(libc::chroot(root))
    }
}

/// Makes settings read-only in this process's mounts. The mounts that are there already are this name space's own copies.
pub(super) fn protect(points: &[CString]) -> io::Result<()> {
    for place in PROC_SETTINGS {
        read_only(place, true)?;
    }
    points.iter().try_for_each(|point| read_only(point, false))
}

/// Makes what lies at `path` read-only; it need not be there. `binds`: it is no mount point yet.
fn read_only(path: &CStr, binds: bool) -> io::Result<()> {
    const CONFINED: libc::c_ulong = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    let nothing = std::ptr::null();
    let mount = |from: *const libc::c_char, flags: libc::c_ulong| {
        // SAFETY: a plain system call with strings that outlive it.
        match unsafe { libc::mount(from, path.as_ptr(), nothing, flags, nothing.cast()) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    let bound = if binds { mount(path.as_ptr(), libc::MS_BIND) } else { Ok(()) };
    let made = bound.and_then(|()| mount(nothing, libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY | CONFINED));
    match made {
        // Nothing is there, or another mount hides it.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINVAL)) => Ok(()),
        made => made,
    }
}
