//! What a command may not do, though it is root.
//!
//! Figures come from the agent alone, so a command must reach neither the agent, nor its line to the host, nor the
//! machine under both. What file systems' own tools need stays: CAP_SYS_ADMIN (mount, subvolumes, quotas, fstrim,
//! shutting a file system down), CAP_MKNOD, CAP_CHOWN, CAP_SETUID, CAP_IPC_LOCK, CAP_SYS_RESOURCE, CAP_SYS_NICE.
//!
//! Left out on purpose: no_new_privs would add nothing to the bounding set, and would break `su`; a seccomp filter would
//! make every system call dearer, and so change what is measured. What CAP_SYS_ADMIN opens beyond that (bpf, the serial
//! driver's ports, ACPI tables) a guest closes with the kernel's lockdown.

use std::io;

use rustix::thread::{
    CapabilitySet, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// What is taken away, and what it would open.
const TAKEN: [CapabilitySet; 5] = [
    // /dev/mem, /dev/port, /proc/kcore, I/O ports, model-specific registers.
    CapabilitySet::SYS_RAWIO,
    // Code in the kernel.
    CapabilitySet::SYS_MODULE,
    // The memory and the open files of processes that have more rights: the agent and the disks' servers.
    CapabilitySet::SYS_PTRACE,
    // The end of the machine, and another kernel.
    CapabilitySet::SYS_BOOT,
    // The clock by which everything is measured.
    CapabilitySet::SYS_TIME,
];

/// Takes those rights from this process and all that it starts. Allocates nothing.
pub(super) fn drop_rights() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    for right in TAKEN {
        if capability_is_in_bounding_set(right)? {
            remove_capability_from_bounding_set(right)?;
        }
        sets.effective.remove(right);
        sets.permitted.remove(right);
    }
    sets.inheritable = CapabilitySet::empty();
    // Linux older than 4.3 has no such set.
    let _ = clear_ambient_capability_set();
    set_capabilities(None, sets)?;
    close_ports();
    Ok(())
}

/// A guest's agent has I/O ports open, which processes inherit and keep over exec.
fn close_ports() {
    const ALL: libc::c_ulong = 1 << 16;
    // SAFETY: changes this thread's I/O permissions and touches no memory. A kernel without them has nothing to close.
    unsafe { libc::ioperm(0, ALL, 0) };
}
