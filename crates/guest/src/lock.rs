//! Locks the guest's kernel down before its suite's commands run, once the agent has opened all that it needs.
//!
//! Commands run as root with CAP_SYS_ADMIN, which file system tools need. The agent drops the capabilities that reach
//! the machine directly; this file closes what CAP_SYS_ADMIN and root-writable files still allow.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// The capabilities of programs that the kernel starts by itself (core_pattern, modprobe, request-key): two 32-bit
/// numbers. A guest needs none of these programs, and a command could name its own.
const HELPERS: [&str; 2] = ["/proc/sys/kernel/usermodehelper/bset", "/proc/sys/kernel/usermodehelper/inheritable"];

/// Locks down until the next boot.
///
/// Afterwards no process gets I/O ports (by ioperm, /dev/port, serial driver settings or ACPI tables), physical memory,
/// unsigned modules or another kernel, or may write into other processes from BPF. This needs a kernel with lockdown
/// (CONFIG_SECURITY_LOCKDOWN_LSM, as Debian's). Ports and memory that are already open stay open.
pub(super) fn close() -> Result<()> {
    for limit in HELPERS {
        // A kernel that cannot start programs does not have this file.
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

/// Hides this process's memory and open files from all others.
pub(super) fn hide_memory() {
    // Permissions already keep commands out; this is a second barrier.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
