//! The map of a device mapper's device: which sectors of which devices are its own (include/uapi/linux/dm-ioctl.h).

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;

/// _IOWR(0xfd, 12, struct dm_ioctl)
const DM_TABLE_STATUS: libc::c_ulong = 0xC138_FD0C;
/// The map itself, and not how its targets are.
const DM_STATUS_TABLE_FLAG: u32 = 1 << 4;
/// Of the interface: the oldest that every kernel still takes.
const VERSION: [u32; 3] = [4, 0, 0];
/// Bytes of `struct dm_ioctl`, and of all that the kernel may answer.
const HEADER: usize = 312;
const ROOM: usize = 1 << 16;

/// The kernel's answer about the device of this number (`253:0`): empty if there is none. It may hold keys.
pub(super) fn of(number: &str) -> Vec<u8> {
    let ask = || {
        let (major, minor) = number.split_once(':')?;
        let (major, minor): (u64, u64) = (major.parse().ok()?, minor.parse().ok()?);
        let control = OpenOptions::new().read(true).write(true).open("/dev/mapper/control").ok()?;
        // Aligned as the structure is.
        let mut buffer = vec![0_u64; ROOM / 8];
        let mut put = |at: usize, value: u32| {
            let word = &mut buffer[at / 8];
            *word |= u64::from(value) << (8 * (at % 8));
        };
        for (at, number) in VERSION.into_iter().enumerate() {
            put(4 * at, number);
        }
        put(12, ROOM as u32);
        put(16, HEADER as u32);
        put(28, DM_STATUS_TABLE_FLAG);
        buffer[5] = (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12);
        // SAFETY: the argument is a buffer of the size that it states, and outlives the call.
        if unsafe { libc::ioctl(control.as_raw_fd(), DM_TABLE_STATUS, buffer.as_mut_ptr()) } < 0 {
            return None;
        }
        let bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let number = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize;
        // The header counts openings and events; the map is behind it.
        bytes.get(number(16)..number(12).min(ROOM)).map(<[u8]>::to_vec)
    };
    ask().unwrap_or_default()
}
