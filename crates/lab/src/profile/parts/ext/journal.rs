//! What a journal has committed.
//!
//! Copies that look like the journal's own blocks are escaped there; of bitmaps, inodes and directories none does.

use std::collections::HashMap;

use super::super::{Fields, Medium, bytes};

const MAGIC: u64 = 0xc03b_3998;
const DESCRIPTOR: u64 = 1;
const COMMIT: u64 = 2;
const REVOKE: u64 = 5;
/// Features of a journal.
const WIDE: u64 = 2;
const CHECKSUM_2: u64 = 8;
const CHECKSUM_3: u64 = 16;
/// Flags of a tag.
const SAME_UUID: u64 = 2;
const LAST_TAG: u64 = 8;

/// Where the newest contents of a block lie, by the block. `log` are the journal's blocks in order.
pub(super) fn committed(disk: &dyn Medium, block: u64, log: &[u64]) -> HashMap<u64, u64> {
    let read = |at: usize| bytes(disk, log.get(at)?.checked_mul(block)?, block as usize);
    let Some(head) = read(0).filter(|head| head.be32(0) == MAGIC) else { return HashMap::new() };
    let (end, first, features) = ((head.be32(16) as usize).min(log.len()), head.be32(20) as usize, head.be32(40));
    let (mut sequence, mut at) = (head.be32(24), head.be32(28) as usize);
    let next = |at: usize| if at + 1 >= end { first } else { at + 1 };
    // Block, place, and the transaction's number.
    let (mut found, mut pending) = (Vec::new(), Vec::new());
    let mut revoked: HashMap<u64, u64> = HashMap::new();
    let mut revokes = Vec::new();
    // A start of 0 is an empty journal. The walk ends after one turn.
    let mut left = if at == 0 { 0 } else { end };
    while let Some(head) = (left > 0).then(|| read(at)).flatten() {
        if head.be32(0) != MAGIC || head.be32(8) != sequence {
            break;
        }
        left -= 1;
        match head.be32(4) {
            DESCRIPTOR => {
                for number in tags(&head, features) {
                    at = next(at);
                    left = left.saturating_sub(1);
                    pending.extend(log.get(at).map(|place| (number, *place, sequence)));
                }
            }
            REVOKE => {
                let size = if features & WIDE != 0 { 8 } else { 4 };
                let used = head.get(16..(head.be32(12) as usize).clamp(16, head.len())).unwrap_or_default();
                let number = |entry: &[u8]| if size == 8 { entry.be64(0) } else { entry.be32(0) };
                revokes.extend(used.chunks_exact(size).map(number));
            }
            COMMIT => {
                found.append(&mut pending);
                revoked.extend(revokes.drain(..).map(|number| (number, sequence)));
                sequence = (sequence + 1) & 0xffff_ffff;
            }
            _ => break,
        }
        at = next(at);
    }
    // A block that was revoked is not read from that transaction or an older one.
    let is_valid = |number: &u64, of: u64| revoked.get(number).is_none_or(|last| of > *last);
    found
        .into_iter()
        .filter(|(number, _, of)| is_valid(number, *of))
        .map(|(number, place, _)| (number, place))
        .collect()
}

/// The blocks whose contents follow a descriptor.
fn tags(descriptor: &[u8], features: u64) -> Vec<u64> {
    let wide = features & WIDE != 0;
    let tail = if features & (CHECKSUM_2 | CHECKSUM_3) != 0 { 4 } else { 0 };
    let size = if features & CHECKSUM_3 != 0 {
        16
    } else if wide {
        12
    } else {
        8
    };
    // Version 2 of checksums has two more bytes in a tag, which nothing uses.
    let size = size + if features & (CHECKSUM_2 | CHECKSUM_3) == CHECKSUM_2 { 2 } else { 0 };
    let mut out = Vec::new();
    let mut at = 12;
    while at + size + tail <= descriptor.len() {
        let tag = &descriptor[at..];
        let flags = if features & CHECKSUM_3 != 0 { tag.be32(4) } else { tag.be32(4) & 0xffff };
        let high = if wide { tag.be32(8) << 32 } else { 0 };
        out.push(tag.be32(0) | high);
        at += size + if flags & SAME_UUID == 0 { 16 } else { 0 };
        if flags & LAST_TAG != 0 {
            break;
        }
    }
    out
}
