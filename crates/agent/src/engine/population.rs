//! Which of a thread's files exist, while some operations create and others remove them: one bit per file.

use mountmark_random::Stream;

/// File numbers count from the thread's first file.
pub(super) struct Population {
    bits: Vec<u64>,
    count: u64,
    present: u64,
    stream: Stream,
}

impl Population {
    /// `count` files, none of which exists.
    pub(super) fn new(count: u64, stream: Stream) -> Population {
        Population { bits: vec![0; count.div_ceil(64) as usize], count, present: 0, stream }
    }

    pub(super) fn insert(&mut self, file: u64) {
        self.set(file, true);
    }

    fn has(&self, file: u64) -> bool {
        self.bits[(file / 64) as usize] >> (file % 64) & 1 == 1
    }

    fn set(&mut self, file: u64, there: bool) {
        if self.has(file) != there {
            self.bits[(file / 64) as usize] ^= 1 << (file % 64);
            self.present = if there { self.present + 1 } else { self.present - 1 };
        }
    }

    /// A random file that exists (or does not), or the next one after it; `None` if there is none.
    fn find(&mut self, there: bool) -> Option<u64> {
        let candidates = if there { self.present } else { self.count - self.present };
        if candidates == 0 {
            return None;
        }
        let start = self.stream.below(self.count);
        // Word by word: a sparse set of millions is searched in microseconds.
        let words = self.bits.len();
        let first = (start / 64) as usize;
        for step in 0..=words {
            let index = (first + step) % words;
            let mut word = if there { self.bits[index] } else { !self.bits[index] };
            if step == 0 {
                word &= u64::MAX << (start % 64);
            }
            if word != 0 {
                let file = index as u64 * 64 + u64::from(word.trailing_zeros());
                // The last word's spare bits stand for no file.
                if file < self.count {
                    return Some(file);
                }
            }
        }
        None
    }

    /// A file that exists.
    pub(super) fn any(&mut self) -> Option<u64> {
        self.find(true)
    }

    /// A file that exists and will be removed.
    pub(super) fn take(&mut self) -> Option<u64> {
        let file = self.find(true)?;
        self.set(file, false);
        Some(file)
    }

    /// A file that does not exist and will be created.
    pub(super) fn make(&mut self) -> Option<u64> {
        let file = self.find(false)?;
        self.set(file, true);
        Some(file)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_agrees_with_a_set(count in 1u64..300, moves in prop::collection::vec(0u8..3, 0..600)) {
            let mut population = Population::new(count, Stream::new(1, "population"));
            let mut set = BTreeSet::new();
            for which in moves {
                match which {
                    0 => {
                        let made = population.make();
                        prop_assert_eq!(made.is_none(), set.len() as u64 == count);
                        prop_assert!(made.is_none_or(|file| file < count && set.insert(file)));
                    }
                    1 => {
                        let taken = population.take();
                        prop_assert_eq!(taken.is_none(), set.is_empty());
                        prop_assert!(taken.is_none_or(|file| set.remove(&file)));
                    }
                    _ => prop_assert!(population.any().is_none_or(|file| set.contains(&file))),
                }
            }
        }
    }
}
