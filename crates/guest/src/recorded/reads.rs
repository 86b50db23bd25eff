//! What was read of a disk.

use std::collections::HashSet;

/// Parts of a disk, each where it was read first: offset and length.
#[derive(Default)]
pub(super) struct Reads {
    all: Vec<(u64, u64)>,
    known: HashSet<(u64, u64)>,
}

impl Reads {
    pub fn add(&mut self, part: (u64, u64)) {
        if self.known.insert(part) {
            self.all.push(part);
        }
    }

    pub fn all(&self) -> Vec<(u64, u64)> {
        self.all.clone()
    }

    /// Begins anew; what was read until now.
    pub fn begin(&mut self) -> Reads {
        std::mem::take(self)
    }

    /// Goes on after what was read `before` it began anew; all that was read since, be it for the first time or not.
    pub fn go_on(&mut self, before: Reads) -> Vec<(u64, u64)> {
        let own = std::mem::replace(self, before).all;
        own.iter().for_each(|part| self.add(*part));
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_part_of_the_time_all_reads_are_known() {
        let mut reads = Reads::default();
        [(0, 512), (4096, 512), (0, 512)].into_iter().for_each(|part| reads.add(part));
        let before = reads.begin();
        [(4096, 512), (8192, 512)].into_iter().for_each(|part| reads.add(part));
        assert_eq!(reads.go_on(before), [(4096, 512), (8192, 512)], "what another has read before it too");
        assert_eq!(reads.all(), [(0, 512), (4096, 512), (8192, 512)]);
    }
}
