//! The file system of disks that only hold files for the one under test: ext2, the simplest. It has no journal that
//! would take part in their I/O.

/// What `mount -t` calls it.
pub const TYPE: &str = "ext2";

/// Makes it on a device.
pub fn make_command(device: &str) -> Vec<String> {
    ["mke2fs", "-q", "-F", "-t", TYPE, device].map(str::to_owned).into()
}
