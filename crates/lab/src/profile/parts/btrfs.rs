//! btrfs by its chunks, which say what an area of the disk is for, and by the heads of its trees' nodes.
//!
//! Offsets and numbers: `include/uapi/linux/btrfs_tree.h` of Linux.

use std::collections::BTreeMap;

use mountmark_model::profile::Part;

use super::{Fields, Map, Medium, bytes};

/// The places of superblocks.
const SUPERBLOCKS: [u64; 3] = [64 << 10, 64 << 20, 256 << 30];
const SUPERBLOCK_SIZE: u64 = 4096;
const MARK: &[u8] = b"_BHRfS_M";
/// Of a node's head, an item of a leaf, a pointer, a key, a chunk before its stripes, and a stripe.
const HEAD: usize = 101;
const ITEM: usize = 25;
const POINTER: usize = 33;
const KEY: usize = 17;
const CHUNK: usize = 48;
const STRIPE: usize = 32;
const CHUNK_ITEM: u8 = 228;
const DATA: u64 = 1;
/// Of the system, and of all others. A small file system may have chunks for data and trees alike.
const TREES: u64 = 2 | 4;
/// The feature by which nodes have another id than the file system.
const OTHER_ID: u64 = 1 << 10;
/// More chunks than a disk of a guest has.
const MOST_CHUNKS: usize = 1 << 16;
/// No tree is deeper, and no tree of chunks has more nodes.
const DEEPEST: u32 = 8;
const MOST_NODES: u32 = 4096;

/// An area of the disk, from its first byte on.
struct Area {
    size: u64,
    holds_data: bool,
    holds_trees: bool,
}

/// By the first logical byte: where a chunk lies on the disk, and its size.
type Chunks = BTreeMap<u64, (u64, u64)>;

struct Tree<'a> {
    disk: &'a dyn Medium,
    node: u64,
    /// What a node's head says of whose it is.
    id: [u8; 16],
    /// Nodes that may still be read.
    left: u32,
    chunks: Chunks,
    areas: BTreeMap<u64, Area>,
}

pub(super) fn open(disk: &dyn Medium) -> Option<Map<'_>> {
    let sb = bytes(disk, SUPERBLOCKS[0], SUPERBLOCK_SIZE as usize)?;
    if sb.get(64..72) != Some(MARK) {
        return None;
    }
    let (root, node, size) = (sb.le64(88), sb.le32(148), sb.le32(160) as usize);
    if !(4096..=65536).contains(&node) {
        return None;
    }
    let id = sb.field(if sb.le64(188) & OTHER_ID == 0 { 32 } else { 571 });
    let mut tree = Tree { disk, node, id, left: MOST_NODES, chunks: Chunks::new(), areas: BTreeMap::new() };
    // Chunks that hold the tree of chunks stand in the superblock.
    let mut at = 811;
    while at + KEY + CHUNK <= 811 + size.min(2048) {
        let key = &sb[at..];
        at += KEY + tree.chunk(key.le64(9), &sb[at + KEY..])?;
    }
    tree.walk(root, DEEPEST)?;
    Some(Box::new(move |offset| tree.place(offset)))
}

impl Tree<'_> {
    /// Takes a chunk; its bytes, or `None` if it cannot be one.
    fn chunk(&mut self, logical: u64, chunk: &[u8]) -> Option<usize> {
        let (size, holds, stripes) = (chunk.le64(0), chunk.le64(24), chunk.le16(44) as usize);
        if stripes == 0 || stripes > 16 || self.areas.len() > MOST_CHUNKS {
            return None;
        }
        for stripe in (0..stripes).rev() {
            let begin = chunk.le64(CHUNK + stripe * STRIPE + 8);
            self.areas.insert(begin, Area { size, holds_data: holds & DATA != 0, holds_trees: holds & TREES != 0 });
            self.chunks.insert(logical, (begin, size));
        }
        Some(CHUNK + stripes * STRIPE)
    }

    /// Takes all chunks below a node of their tree.
    fn walk(&mut self, logical: u64, depth: u32) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        let (begin, (physical, size)) = self.chunks.range(..=logical).next_back()?;
        let within = logical.checked_sub(*begin).filter(|within| within < size)?;
        let node = bytes(self.disk, physical.checked_add(within)?, self.node as usize)?;
        let (items, level) = (node.le32(96) as usize, node[100]);
        for at in 0..items.min(node.len() / ITEM) {
            if level > 0 {
                self.walk(node.le64(HEAD + at * POINTER + KEY), depth.checked_sub(1)?)?;
                continue;
            }
            let item = HEAD + at * ITEM;
            if node.get(item + 8) == Some(&CHUNK_ITEM) {
                let data = HEAD + node.le32(item + KEY) as usize;
                self.chunk(node.le64(item + 9), node.get(data..)?)?;
            }
        }
        Some(())
    }

    fn place(&self, offset: u64) -> Part {
        if SUPERBLOCKS.iter().any(|begin| (*begin..begin + SUPERBLOCK_SIZE).contains(&offset)) {
            return Part::Superblock;
        }
        let area = self.areas.range(..=offset).next_back().filter(|(begin, area)| offset - *begin < area.size);
        let Some((begin, area)) = area else { return Part::Unused };
        if !area.holds_trees {
            return Part::Data;
        }
        let node = offset - (offset - begin) % self.node;
        let head = bytes(self.disk, node, HEAD).filter(|head| head.field(32) == self.id);
        match head.map(|head| head.le64(88)) {
            Some(5 | 256..=0xffff_ffff_ffff_ff00) => Part::FileTree,
            Some(2 | 10 | 11) => Part::FreeSpace,
            Some(7) => Part::Checksums,
            // -6: what fsync writes.
            Some(0xffff_ffff_ffff_fffa) => Part::Journal,
            None if area.holds_data => Part::Data,
            None | Some(0) => Part::Unused,
            Some(_) => Part::OtherTrees,
        }
    }
}
