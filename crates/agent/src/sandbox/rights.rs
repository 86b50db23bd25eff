//! Takes rights from commands, although they run as root.
//!
//! Figures come from the agent alone, so a command must reach neither the agent, nor its line to the host, nor the
//! machine below. It keeps what file system tools need: CAP_SYS_ADMIN (mount, subvolumes, quotas, fstrim, shutting a
//! file system down), CAP_MKNOD, CAP_CHOWN, CAP_SETUID, CAP_IPC_LOCK, CAP_SYS_RESOURCE, CAP_SYS_NICE.
//!
//! Deliberately unused: no_new_privs would add nothing to the bounding set, and would break `su`; a seccomp filter
//! would slow every system call, and so change the figures. What else CAP_SYS_ADMIN allows (bpf, the serial driver's
//! ports, ACPI tables) a guest closes with the kernel's lockdown.

use std::io;

use rustix::thread::{
    CapabilitySet, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// The capabilities removed, each with what it would allow.
const TAKEN: [CapabilitySet; 5] = [
    // /dev/mem, /dev/port, /proc/kcore, I/O ports, model-specific registers.
    CapabilitySet::SYS_RAWIO,
    // Code in the kernel.
    CapabilitySet::SYS_MODULE,
    // The memory and the open files of more privileged processes: the agent and the disks' servers.
    CapabilitySet::SYS_PTRACE,
    // Rebooting, and starting another kernel.
    CapabilitySet::SYS_BOOT,
    // Setting the clock of all measurements.
    CapabilitySet::SYS_TIME,
];

/// Removed too where a device is hidden.
const TAKEN_WITH_DEVICE: [CapabilitySet; 2] = [
    // Another node of the device.
    CapabilitySet::MKNOD,
    // Taking away what hides it.
    CapabilitySet::SYS_ADMIN,
];

/// Removes those capabilities from this process and its children. Does not allocate.
pub(super) fn drop_rights(hides_device: bool) -> io::Result<()> {
    let mut sets = capabilities(None)?;
    let more: &[CapabilitySet] = if hides_device { &TAKEN_WITH_DEVICE } else { &[] };
    for right in TAKEN.into_iter().chain(more.iter().copied()) {
        if capability_is_in_bounding_set(right)? {
            remove_capability_from_bounding_set(right)?;
        }
        sets.effective.remove(right);
        sets.permitted.remove(right);
    }
    sets.inheritable = CapabilitySet::empty();
    // Linux before 4.3 has no ambient set.
    let _ = clear_ambient_capability_set();
    set_capabilities(None, sets)?;
    close_ports();
    Ok(())
}

/// Closes I/O ports: a guest's agent has them open, and processes inherit them and keep them over exec.
fn close_ports() {
    const ALL: libc::c_ulong = 1 << 16;
    // SAFETY: changes this thread's I/O permissions and touches no memory. A kernel without ports has none to close.
    unsafe { libc::ioperm(0, ALL, 0) };
}
