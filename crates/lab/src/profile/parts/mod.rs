//! What a disk holds at a block: which part of the file system a request touched.
//!
//! The medium is read as it is while the guest stands still, and the guest notices nothing. Sizes and addresses on it are a
//! stranger's: what does not fit has no part, and never an error.

mod btrfs;
mod ext;
mod xfs;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;

use mountmark_job::{Region, mark::SECTOR};
use mountmark_model::profile::Part;

/// Readers of file systems; the first that knows the disk is asked.
const READERS: [fn(&dyn Medium) -> Option<Map<'_>>; 3] = [ext::open, xfs::open, btrfs::open];

/// Tells what the disk holds at a byte.
type Map<'a> = Box<dyn Fn(u64) -> Part + 'a>;

/// A disk's contents.
pub(crate) trait Medium {
    /// Bytes.
    fn size(&self) -> u64;

    /// Reads `into.len()` bytes from `offset` on; `false` beyond the end.
    fn read(&self, offset: u64, into: &mut [u8]) -> bool;
}

/// The medium of a guest's disk.
pub(crate) struct Disk {
    pub media: File,
    pub region: Region,
}

impl Medium for Disk {
    fn size(&self) -> u64 {
        self.region.size
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> bool {
        // A mapping would take memory for each page of zeros that is looked at.
        let is_inside = offset.checked_add(into.len() as u64).is_some_and(|end| end <= self.region.size);
        is_inside && self.media.read_exact_at(into, self.region.offset + offset).is_ok()
    }
}

/// What is at sectors of [`SECTOR`] bytes.
pub(crate) fn parts(disk: &dyn Medium, sectors: &BTreeSet<u64>) -> BTreeMap<u64, Part> {
    if sectors.is_empty() {
        return BTreeMap::new();
    }
    let part = (disk.size() / 16).max(1);
    let map = READERS.iter().find_map(|open| open(disk));
    let map = map.unwrap_or_else(|| Box::new(move |offset| Part::Sixteenth((offset / part).min(15) as u8)));
    sectors.iter().map(|sector| (*sector, map(sector.saturating_mul(SECTOR)))).collect()
}

/// `count` bytes from `offset` on.
fn bytes(disk: &dyn Medium, offset: u64, count: usize) -> Option<Vec<u8>> {
    let mut out = vec![0; count];
    disk.read(offset, &mut out).then_some(out)
}

/// Numbers in a structure of a disk; 0 beyond its end.
trait Fields {
    fn field<const N: usize>(&self, at: usize) -> [u8; N];

    fn le16(&self, at: usize) -> u64 {
        u16::from_le_bytes(self.field(at)).into()
    }

    fn le32(&self, at: usize) -> u64 {
        u32::from_le_bytes(self.field(at)).into()
    }

    fn le64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.field(at))
    }

    fn be16(&self, at: usize) -> u64 {
        u16::from_be_bytes(self.field(at)).into()
    }

    fn be32(&self, at: usize) -> u64 {
        u32::from_be_bytes(self.field(at)).into()
    }

    fn be64(&self, at: usize) -> u64 {
        u64::from_be_bytes(self.field(at))
    }
}

impl Fields for [u8] {
    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        self.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
    }
}

#[cfg(test)]
mod tests;
