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

/// Of `struct dm_target_spec`, behind which a target's own words are: its bytes, where it says where the next one begins, and
/// where its type is.
const SPEC: usize = 40;
const NEXT: usize = 20;
const TYPE: std::ops::Range<usize> = 24..SPEC;

/// Whether a target of this type is in the map of the device of this number.
pub(super) fn has(number: &str, kind: &str) -> bool {
    types(&of(number)).iter().any(|known| known == kind)
}

/// The types of the targets of a map.
fn types(map: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = 0;
    while let Some(spec) = map.get(rest..).and_then(|map| map.get(..SPEC)) {
        let name = spec[TYPE].split(|byte| *byte == 0).next().unwrap_or_default();
        found.push(String::from_utf8_lossy(name).into_owned());
        // From the first one.
        let next = u32::from_ne_bytes([spec[NEXT], spec[NEXT + 1], spec[NEXT + 2], spec[NEXT + 3]]) as usize;
        if next <= rest {
            break;
        }
        rest = next;
    }
    found
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// As the kernel writes it: 40 bytes and words, each at a multiple of 8.
    fn map(targets: &[(&str, &str)]) -> Vec<u8> {
        let mut map = Vec::new();
        for (kind, words) in targets {
            let length = (SPEC + words.len() + 1).next_multiple_of(8);
            let begin = map.len();
            map.resize(begin + length, 0);
            map[begin + NEXT..begin + NEXT + 4].copy_from_slice(&((begin + length) as u32).to_ne_bytes());
            map[begin + TYPE.start..begin + TYPE.start + kind.len()].copy_from_slice(kind.as_bytes());
            map[begin + SPEC..begin + SPEC + words.len()].copy_from_slice(words.as_bytes());
        }
        map
    }

    #[test]
    fn the_targets_of_a_map_are_read() {
        assert_eq!(types(&map(&[("snapshot-origin", "253:2")])), ["snapshot-origin"]);
        let two = map(&[("linear", "8:0 2048"), ("striped-with-16-", "2 8 8:0 0 8:16 0"), ("error", "")]);
        assert_eq!(types(&two), ["linear", "striped-with-16-", "error"]);
        let mut endless = map(&[("linear", "8:0 0")]);
        endless[NEXT..NEXT + 4].fill(0);
        assert_eq!(types(&endless), ["linear"]);
        assert_eq!(types(&two[..SPEC - 1]), [""; 0]);
        assert!(types(&[]).is_empty() && !has("no number", "linear"));
    }
}
