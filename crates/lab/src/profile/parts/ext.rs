//! ext2, ext3 and ext4: all blocks that an inode has, and those of groups at their known places.
//!
//! What the journal has committed and not yet written in its place is read from the journal, as a mount would. Offsets:
//! `fs/ext4/ext4.h` and `include/linux/jbd2.h` of Linux.

mod journal;

use std::cell::Cell;
use std::collections::HashMap;

use mountmark_model::profile::Part;

use super::{Fields, Map, Medium, bytes};

const MAGIC: u64 = 0xef53;
/// Features of which addresses depend, and that mkfs makes on request alone.
const META_BG: u64 = 0x10;
const BIGALLOC: u64 = 0x200;
const WIDE: u64 = 0x80;
const SPARSE_SUPER: u64 = 1;
const RESIZE_INODE: u64 = 7;
const JOURNAL_INODE: u64 = 8;
/// Flag of a group none of whose inodes was ever used; its bitmap may be anything.
const NO_INODES: u64 = 1;
const EXTENTS: u64 = 0x8_0000;
const INLINE: u64 = 0x1000_0000;
const EXTENT_MAGIC: u64 = 0xf30a;
/// Bytes of an inode's own pointers.
const POINTERS: std::ops::Range<usize> = 40..100;
const DIRECTORY: u64 = 0x4000;
const REGULAR: u64 = 0x8000;
const SYMLINK: u64 = 0xa000;
/// More than any disk of a guest has.
const MOST_GROUPS: u64 = 1 << 20;
const MOST_RUNS: usize = 1 << 24;
const MOST_LOG: usize = 1 << 22;

struct Ext<'a> {
    disk: &'a dyn Medium,
    /// Bytes.
    block: u64,
    blocks: u64,
    /// How many more blocks and pointers may be looked at: a damaged disk may lead in circles.
    left: Cell<u64>,
    /// Where the journal has a block's contents, by the block.
    journal: HashMap<u64, u64>,
    /// The first block, how many, and what they are.
    runs: Vec<(u64, u64, Part)>,
}

pub(super) fn open(disk: &dyn Medium) -> Option<Map<'_>> {
    let sb = bytes(disk, 1024, 1024)?;
    let (incompatible, read_only) = (sb.le32(96), sb.le32(100));
    if sb.le16(56) != MAGIC || incompatible & META_BG != 0 || read_only & BIGALLOC != 0 || sb.le32(24) > 6 {
        return None;
    }
    let wide = incompatible & WIDE != 0;
    let blocks = sb.le32(4) | if wide { sb.le32(0x150) << 32 } else { 0 };
    let mut ext = Ext {
        disk,
        block: 1024 << sb.le32(24),
        blocks,
        left: Cell::new(8 * blocks.min(disk.size() >> 10) + 1024),
        journal: HashMap::new(),
        runs: Vec::new(),
    };
    let geometry = Geometry {
        first: sb.le32(20),
        group_blocks: sb.le32(32).max(1),
        group_inodes: sb.le32(40),
        inode: if sb.le32(76) == 0 { 128 } else { sb.le16(88) },
        descriptor: if wide { sb.le16(254).max(32) } else { 32 },
        reserved: sb.le16(206),
        is_sparse: read_only & SPARSE_SUPER != 0,
        wide,
    };
    ext.groups(&geometry)?;
    let runs = ext.runs;
    let block = ext.block;
    Some(Box::new(move |offset| {
        let wanted = offset / block;
        let after = runs.partition_point(|(first, _, _)| *first <= wanted);
        let run = after.checked_sub(1).map(|at| runs[at]);
        run.filter(|(first, count, _)| wanted - first < *count).map_or(Part::Unused, |(_, _, part)| part)
    }))
}

struct Geometry {
    first: u64,
    group_blocks: u64,
    group_inodes: u64,
    /// Bytes of an inode and of a group's descriptor.
    inode: u64,
    descriptor: u64,
    /// Blocks behind the descriptors, into which they may grow.
    reserved: u64,
    is_sparse: bool,
    wide: bool,
}

impl Geometry {
    /// Whether a group has a copy of the superblock.
    fn has_copy(&self, group: u64) -> bool {
        let is_power = |base: u64| {
            std::iter::successors(Some(base), |power| power.checked_mul(base))
                .take_while(|power| *power <= group)
                .any(|power| power == group)
        };
        !self.is_sparse || group <= 1 || [3, 5, 7].into_iter().any(is_power)
    }
}

impl Ext<'_> {
    /// A block as a mount would see it.
    fn block(&self, number: u64) -> Option<Vec<u8>> {
        self.spend()?;
        let place = self.journal.get(&number).copied().unwrap_or(number);
        bytes(self.disk, place.checked_mul(self.block)?, self.block as usize)
    }

    fn spend(&self) -> Option<()> {
        self.left.set(self.left.get().checked_sub(1)?);
        Some(())
    }

    fn run(&mut self, first: u64, count: u64, part: Part) {
        if first < self.blocks && self.runs.len() < MOST_RUNS {
            self.runs.push((first, count.min(self.blocks - first), part));
        }
    }

    fn groups(&mut self, geometry: &Geometry) -> Option<()> {
        let count = self.blocks.checked_sub(geometry.first)?.div_ceil(geometry.group_blocks);
        let is_inode = (128..=self.block).contains(&geometry.inode);
        // The bitmap of a group's inodes is one block.
        if count == 0 || count > MOST_GROUPS || !is_inode || geometry.group_inodes > 8 * self.block {
            return None;
        }
        let descriptors = (count * geometry.descriptor).div_ceil(self.block);
        let group = |ext: &Self, group: u64| -> Option<[u64; 4]> {
            let byte = group * geometry.descriptor;
            let block = ext.block(geometry.first + 1 + byte / ext.block)?;
            let descriptor = block.get((byte % ext.block) as usize..)?;
            let high =
                |at: usize| if geometry.wide && geometry.descriptor >= 64 { descriptor.le32(at) << 32 } else { 0 };
            let [blocks, inodes, table] = [0, 4, 8].map(|at| descriptor.le32(at) | high(at + 32));
            Some([blocks, inodes, table, descriptor.le16(18)])
        };
        let [_, _, table, _] = group(self, 0)?;
        self.replay(geometry, table);
        for number in 0..count {
            let first = geometry.first + number * geometry.group_blocks;
            if geometry.has_copy(number) {
                self.run(first, 1, Part::Superblock);
                self.run(first + 1, descriptors + geometry.reserved, Part::Groups);
            }
            let [blocks, inodes, table, flags] = group(self, number)?;
            self.run(blocks, 1, Part::FreeSpace);
            self.run(inodes, 1, Part::FreeSpace);
            self.run(table, (geometry.group_inodes * geometry.inode).div_ceil(self.block), Part::Inodes);
            if flags & NO_INODES == 0 {
                self.inodes(geometry, number * geometry.group_inodes + 1, inodes, table);
            }
        }
        // Block 0 of a disk with blocks of 1 KiB is in no group.
        if geometry.first == 1 {
            self.run(0, 1, Part::Superblock);
        }
        self.runs.sort_unstable_by_key(|(first, count, _)| (*first, *count));
        Some(())
    }

    /// Finds what the journal has that is not in its place yet.
    fn replay(&mut self, geometry: &Geometry, table: u64) {
        let at = (JOURNAL_INODE - 1) * geometry.inode;
        let Some(block) = table.checked_add(at / self.block).and_then(|number| self.block(number)) else { return };
        let inode = &block[(at % self.block) as usize..];
        self.own(inode, Part::Journal);
        let log = std::mem::take(&mut self.runs);
        let log = log.into_iter().filter(|(_, _, part)| *part == Part::Journal);
        let log: Vec<u64> = log.flat_map(|(first, count, _)| first..first + count).take(MOST_LOG).collect();
        self.journal = journal::committed(self.disk, self.block, &log);
    }

    /// All inodes of a group that are in use, the first of which has the number `first`.
    fn inodes(&mut self, geometry: &Geometry, first: u64, bitmap: u64, table: u64) -> Option<()> {
        let used = self.block(bitmap)?;
        let each = self.block / geometry.inode;
        for from in (0..geometry.group_inodes).step_by(each as usize) {
            let of_block = from..(from + each).min(geometry.group_inodes);
            let is_used = |at: &u64| used.get((at / 8) as usize).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
            let here: Vec<u64> = of_block.filter(is_used).collect();
            if here.is_empty() {
                continue;
            }
            let block = self.block(table.checked_add(from / each)?)?;
            for at in here {
                let inode = &block[((at - from) * geometry.inode) as usize..];
                let part = match (first + at, inode.le16(0) & 0xf000) {
                    // The reserved blocks behind the descriptors.
                    (RESIZE_INODE, _) => continue,
                    (JOURNAL_INODE, _) => Part::Journal,
                    (_, DIRECTORY) => Part::Directories,
                    (_, REGULAR) => Part::Data,
                    (_, SYMLINK) if inode.le32(4) >= 60 => Part::Data,
                    _ => continue,
                };
                self.own(inode, part);
                let attributes = inode.le32(104) | inode.le16(118) << 32;
                if attributes != 0 {
                    self.run(attributes, 1, Part::Attributes);
                }
            }
        }
        Some(())
    }

    /// The blocks of an inode, which hold `part`.
    fn own(&mut self, inode: &[u8], part: Part) -> Option<()> {
        let (flags, pointers) = (inode.le32(32), inode.get(POINTERS)?);
        if flags & INLINE != 0 {
            return Some(());
        }
        if flags & EXTENTS != 0 {
            return self.extents(pointers, part, 5);
        }
        for at in 0..15 {
            self.pointed(pointers.le32(4 * at), (at as u32).saturating_sub(11), part);
        }
        Some(())
    }

    /// A block that a pointer names: of the file, or `depth` levels above such.
    fn pointed(&mut self, number: u64, depth: u32, part: Part) -> Option<()> {
        self.spend()?;
        if number == 0 {
            return Some(());
        }
        if depth == 0 {
            match self.runs.last_mut() {
                Some((first, count, last)) if *first + *count == number && *last == part => *count += 1,
                _ => self.run(number, 1, part),
            }
            return Some(());
        }
        let block = self.block(number)?;
        self.run(number, 1, Part::Mapping);
        for at in 0..block.len() / 4 {
            self.pointed(block.le32(4 * at), depth - 1, part);
        }
        Some(())
    }

    /// The extents of a node, of which at most `depth` levels lie below.
    fn extents(&mut self, node: &[u8], part: Part, depth: u32) -> Option<()> {
        if node.le16(0) != EXTENT_MAGIC {
            return None;
        }
        let (count, is_leaf) = (node.le16(2) as usize, node.le16(6) == 0);
        for entry in node.get(12..)?.chunks_exact(12).take(count) {
            self.spend()?;
            if is_leaf {
                // Longer ones are allocated and not written yet.
                let length = entry.le16(4);
                let length = if length > 32768 { length - 32768 } else { length };
                self.run(entry.le32(8) | entry.le16(6) << 32, length, part);
            } else {
                let below = entry.le32(4) | entry.le16(8) << 32;
                let block = self.block(below)?;
                self.run(below, 1, Part::Mapping);
                self.extents(&block, part, depth.checked_sub(1)?)?;
            }
        }
        Some(())
    }
}
