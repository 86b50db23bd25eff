//! A medium whose contents can be set back to a base.

use mountmark_trace::recording::{SECTOR, poison};

use super::super::media::Medium;

/// The old contents are kept in pieces of this size, in bytes.
const PAGE: u64 = 4096;

/// A medium, and what it held where it was written since the last [`Layer::keep`].
pub(super) struct Layer {
    medium: Medium,
    size: u64,
    /// By page; `None` for a page that holds what the base holds.
    old: Vec<Option<Box<[u8]>>>,
    /// Indices of the pages in `old`.
    touched: Vec<usize>,
}

impl Layer {
    pub fn new(medium: Medium, size: u64) -> Layer {
        Layer { medium, size, old: vec![None; size.div_ceil(PAGE) as usize], touched: Vec::new() }
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether this part lies on the disk.
    pub fn holds(&self, offset: u64, length: u64) -> bool {
        self.medium.slice(offset, length).is_some()
    }

    /// The bytes of a range; empty if it reaches beyond the end.
    pub fn read(&self, offset: u64, length: u64) -> &[u8] {
        self.medium.slice(offset, length).unwrap_or_default()
    }

    /// Room for new bytes in a range, whose old ones are kept; `None` if it reaches beyond the end.
    pub fn write(&mut self, offset: u64, length: u64) -> Option<&mut [u8]> {
        if length > 0 && self.holds(offset, length) {
            for page in offset / PAGE..=(offset + length - 1) / PAGE {
                self.save(page as usize);
            }
        }
        self.medium.slice_mut(offset, length)
    }

    /// Fills a range with what the disk held before it was formatted.
    pub fn poison(&mut self, offset: u64, length: u64) {
        if let Some(target) = self.write(offset, length) {
            poison::fill(offset, target);
        }
    }

    fn save(&mut self, page: usize) {
        let start = page as u64 * PAGE;
        let length = PAGE.min(self.size - start);
        if self.old[page].is_none() {
            self.old[page] = self.medium.slice(start, length).map(Box::from);
            self.touched.push(page);
        }
    }

    /// Makes the present contents the base.
    pub fn keep(&mut self) {
        for page in self.touched.drain(..) {
            self.old[page] = None;
        }
    }

    /// Brings the base back.
    pub fn set_back(&mut self) {
        for page in self.touched.drain(..) {
            if let Some(old) = self.old[page].take()
                && let Some(target) = self.medium.slice_mut(page as u64 * PAGE, old.len() as u64)
            {
                target.copy_from_slice(&old);
            }
        }
    }

    /// The sectors that differ from the base, in order, with what they hold.
    pub fn changes(&mut self) -> impl Iterator<Item = (u64, &[u8])> {
        self.touched.sort_unstable();
        let sectors = self.touched.iter().flat_map(|&page| {
            let now =
                self.medium.slice(page as u64 * PAGE, PAGE.min(self.size - page as u64 * PAGE)).unwrap_or_default();
            let old = self.old[page].as_deref().unwrap_or_default();
            let pairs = now.chunks(SECTOR as usize).zip(old.chunks(SECTOR as usize));
            pairs.enumerate().map(move |(index, pair)| (page as u64 * (PAGE / SECTOR) + index as u64, pair))
        });
        sectors.filter(|(_, (now, old))| now != old).map(|(sector, (now, _))| (sector, now))
    }
}
