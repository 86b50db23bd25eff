//! What closes a guest to its suite's commands, once all that the agent needs is open.
//!
//! Commands are root, with CAP_SYS_ADMIN, since tools of file systems need that. The agent takes the rights from them
//! that reach the machine directly; here goes what is left for CAP_SYS_ADMIN and for files that root may write.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// The capabilities that programs have which the kernel starts by itself (core_pattern, modprobe, request-key): two
/// numbers of 32 bits. A guest needs none of these programs, and a command could name its own.
const HELPERS: [&str; 2] = ["/proc/sys/kernel/usermodehelper/bset", "/proc/sys/kernel/usermodehelper/inheritable"];

/// Closes it for good: the kernel takes none of this back before the next boot.
///
/// Afterwards nobody gets I/O ports (by ioperm, /dev/port, the serial driver's settings or tables of ACPI), physical
/// memory, unsigned modules, another kernel, or may write into other processes from BPF, where the kernel has lockdown
/// (CONFIG_SECURITY_LOCKDOWN_LSM, as Debian's). Ports and memory that are open already stay so.
pub(super) fn close() -> Result<()> {
    for limit in HELPERS {
        // A kernel that starts no programs has none.
        if Path::new(limit).exists() {
            fs::write(limit, "0 0").with_context(|| format!("cannot write {limit}"))?;
        }
    }
    hide_memory();
    let folder = Path::new("/sys/kernel/security");
    if mount("securityfs", folder, "securityfs", MountFlags::empty(), None).is_err() {
        return Ok(());
    }
    let lockdown = folder.join("lockdown");
    let written = if lockdown.exists() { fs::write(&lockdown, "integrity") } else { Ok(()) };
    let _ = unmount(folder, UnmountFlags::DETACH);
    written.context("the kernel cannot be locked down")
}

/// Keeps this process's memory and open files from all others.
pub(super) fn hide_memory() {
    // Rights alone keep commands from it too.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
