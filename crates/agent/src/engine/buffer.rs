//! Memory for data: aligned for direct I/O, allocated once before the loop.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};

use mountmark_model::workload::Data;
use mountmark_random::Stream;

use super::tags::UNIT;

/// The largest page or sector size in bytes that direct I/O requires on any supported machine.
const ALIGNMENT: usize = 4096;

pub(super) struct Aligned {
    start: *mut u8,
    layout: Layout,
}

// SAFETY: the memory is owned by this value alone, as a Vec's is.
unsafe impl Send for Aligned {}

impl Aligned {
    /// Zeroed memory. A `length` of 0 counts as one page.
    pub(super) fn new(length: usize) -> Aligned {
        let length = length.max(1).next_multiple_of(ALIGNMENT);
        let Ok(layout) = Layout::from_size_align(length, ALIGNMENT) else {
            // Lengths are blocks times depth, both bounded, far below the half of the address space.
            return Aligned::new(ALIGNMENT);
        };
        // SAFETY: the size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Aligned { start, layout }
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and freed once.
        unsafe { dealloc(self.start, self.layout) };
    }
}

impl Deref for Aligned {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: start and size are those of the live allocation, which was zeroed.
        unsafe { std::slice::from_raw_parts(self.start, self.layout.size()) }
    }
}

impl DerefMut for Aligned {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.layout.size()) }
    }
}

/// Least bytes of a pool: file systems' compressors look back 128 KiB, so repetitions must be farther apart.
const LEAST_POOL: usize = 1 << 18;

/// Contents to write, made once: a ring of blocks, each stamped with a number when it is taken, so that no two written
/// blocks are equal (except blocks of zeroes).
pub(super) struct Pool {
    bytes: Aligned,
    block: usize,
    /// Bytes from one block to the next: aligned for direct I/O.
    step: usize,
    next: usize,
    last: usize,
    count: u64,
    stamped: bool,
}

impl Pool {
    pub(super) fn new(block: usize, data: Data, stream: &mut Stream) -> Pool {
        let step = block.next_multiple_of(UNIT);
        let blocks = (LEAST_POOL / step).max(1) + 1;
        let mut bytes = Aligned::new(step * blocks);
        let random = match data {
            Data::Zero => 0,
            Data::Random => UNIT,
            Data::Compressible(ratio) => ((UNIT as f64 / ratio).round() as usize).clamp(8, UNIT),
        };
        for unit in bytes.chunks_mut(UNIT) {
            let length = random.min(unit.len());
            stream.fill(&mut unit[..length]);
        }
        Pool { bytes, block, step, next: 0, last: step * (blocks - 1), count: stream.next_u64(), stamped: random > 0 }
    }

    /// The next block: a pointer to `block` bytes that stay unchanged until the pool wraps around.
    #[inline(always)]
    pub(super) fn take(&mut self) -> *mut u8 {
        let start = self.next;
        self.next = if start == self.last { 0 } else { start + self.step };
        if self.stamped {
            self.count = self.count.wrapping_add(1);
            // A stamp every 4096 bytes, so that a deduplicating file system finds no equal blocks.
            let mut at = start;
            while at + 8 <= start + self.block {
                self.bytes[at..at + 8].copy_from_slice(&self.count.to_le_bytes());
                at += ALIGNMENT;
            }
        }
        self.bytes[start..start + self.block].as_mut_ptr()
    }
}
