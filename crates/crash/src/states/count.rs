//! How many images a power cut may leave.

use serde::{Deserialize, Serialize};

use super::cursor::Cursor;
use super::pending::Pending;

/// Requests that overwrite each other are counted exactly up to so many.
const COUNTED: usize = 12;

/// The number of different images that are possible, as logarithms to the base 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Possible {
    /// If requests are written whole or not at all. Where more than 12 requests overwrite each other it is a bound from
    /// above.
    pub by_request: f64,
    /// If sectors are.
    pub by_sector: f64,
}

impl Pending<'_> {
    /// How many images this epoch may leave.
    pub fn possible(&self) -> Possible {
        let by_sector = self.slots.iter().map(|slot| (self.versions(slot).count() as f64).log2()).sum();
        Possible { by_request: self.groups().into_iter().map(|bits| self.images(&bits)).sum(), by_sector }
    }

    /// Bits that decide on a cell together are in one group.
    fn groups(&self) -> Vec<Vec<usize>> {
        let mut parent: Vec<usize> = (0..self.bits).collect();
        let mut of_cell = vec![usize::MAX; self.cells.len()];
        for bit in 0..self.bits {
            for &cell in &self.touches[bit] {
                match of_cell[cell as usize] {
                    usize::MAX => of_cell[cell as usize] = bit,
                    other => {
                        let (a, b) = (root(&mut parent, bit), root(&mut parent, other));
                        parent[a] = b;
                    }
                }
            }
        }
        let mut groups = vec![Vec::new(); self.bits];
        for bit in 0..self.bits {
            groups[root(&mut parent, bit)].push(bit);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }

    fn images(&self, bits: &[usize]) -> f64 {
        if bits.len() == 1 || bits.len() > COUNTED {
            return bits.len() as f64;
        }
        let mut cursor = Cursor::new(self);
        let mut hashes = vec![cursor.hash];
        for number in 1u32..1 << bits.len() {
            cursor.flip(bits[number.trailing_zeros() as usize]);
            hashes.push(cursor.hash);
        }
        hashes.sort_unstable();
        hashes.dedup();
        (hashes.len() as f64).log2()
    }
}

fn root(parent: &mut [usize], mut bit: usize) -> usize {
    while parent[bit] != bit {
        parent[bit] = parent[parent[bit]];
        bit = parent[bit];
    }
    bit
}
