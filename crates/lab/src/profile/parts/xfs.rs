//! xfs by its superblock, and by the marks with which its blocks of metadata begin.
//!
//! Offsets and marks: `fs/xfs/libxfs/xfs_format.h` and `xfs_da_format.h` of Linux, version 5 of the format. A block without
//! a mark counts as data.

use mountmark_job::mark::SECTOR;
use mountmark_model::profile::Part;

use super::{Fields, Map, Medium, bytes};

/// What a block begins with.
const MARKS: [(&[u8], Part); 15] = [
    (b"XFSB", Part::Superblock),
    (b"XAGF", Part::Groups),
    (b"XAGI", Part::Groups),
    (b"XAFL", Part::Groups),
    (b"AB3B", Part::FreeSpace),
    (b"AB3C", Part::FreeSpace),
    (b"IAB3", Part::FreeSpace),
    (b"FIB3", Part::FreeSpace),
    (b"BMA3", Part::Mapping),
    (b"RMB3", Part::OtherTrees),
    (b"R3FC", Part::OtherTrees),
    (b"XDB3", Part::Directories),
    (b"XDD3", Part::Directories),
    (b"XDF3", Part::Directories),
    (b"XARM", Part::Attributes),
];
/// An inode begins with this.
const INODE: &[u8] = b"IN";
/// Its fifth byte, since version 5 of the format.
const INODE_VERSION: u8 = 3;
const VERSION: u64 = 5;
/// Marks of nodes of directories and attributes, behind their links.
const NODES: [(u64, Part); 4] =
    [(0x3df1, Part::Directories), (0x3dff, Part::Directories), (0x3ebe, Part::Directories), (0x3bee, Part::Attributes)];
const NODE_MARK: usize = 8;

pub(super) fn open(disk: &dyn Medium) -> Option<Map<'_>> {
    let sb = bytes(disk, 0, 512)?;
    if &sb[..4] != b"XFSB" {
        return None;
    }
    let (block, log, group) = (sb.be32(4), sb.be64(48), sb.be32(84));
    let (log_blocks, sector, group_bits) = (sb.be32(96), sb.be16(102), sb[124]);
    let is_known = sb.be16(100) & 0xf == VERSION;
    if !is_known || !(512..=65536).contains(&block) || group == 0 || group_bits > 31 {
        return None;
    }
    // A block's number has its group above its place in the group. A log that lies elsewhere has none.
    let start = (log >> group_bits).checked_mul(group)?.checked_add(log & ((1 << group_bits) - 1))?;
    let log_blocks = if log == 0 { 0 } else { log_blocks };
    let log = start.saturating_mul(block)..start.saturating_add(log_blocks).saturating_mul(block);
    Some(Box::new(move |offset| {
        let in_group = offset % (group * block);
        if in_group < sector {
            Part::Superblock
        } else if in_group < 4 * sector {
            Part::Groups
        } else if log.contains(&offset) && !log.is_empty() {
            Part::Journal
        } else {
            by_mark(offset, &bytes(disk, offset, 24).unwrap_or_default())
        }
    }))
}

fn by_mark(offset: u64, head: &[u8]) -> Part {
    if let Some((_, part)) = MARKS.iter().find(|(mark, _)| head.starts_with(mark)) {
        return *part;
    }
    let node = head.be16(NODE_MARK);
    match NODES.iter().find(|(mark, _)| *mark == node) {
        _ if head.starts_with(INODE) && head.get(4) == Some(&INODE_VERSION) => Part::Inodes,
        // Such a node knows its own address.
        Some((_, part)) if head.be64(16) == offset / SECTOR => *part,
        _ => Part::Data,
    }
}
