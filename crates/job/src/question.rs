//! The memory through which a host asks its guest: the question in the first half, the answer in the second, each
//! behind its length.

use crate::Region;

/// Bytes of a length.
pub const HEAD: u64 = 8;

/// Where the answer's length is, in bytes from the region's start.
pub fn answer(region: &Region) -> u64 {
    region.size / 2
}
