//! The write cache: acknowledged writes that are not yet on the medium, as extents sorted by address, neighbours
//! joined.

use std::collections::BTreeMap;

/// The extents, from start to end.
#[derive(Clone, Debug, Default)]
pub(super) struct WriteCache {
    extents: BTreeMap<u64, u64>,
    bytes: u64,
}

impl WriteCache {
    pub(super) fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether every byte is cached; neighbours are joined, so that is one look-up.
    pub(super) fn covers(&self, from: u64, to: u64) -> bool {
        self.extents.range(..=from).next_back().is_some_and(|(_, &end)| end >= to)
    }

    /// Adds `from` to `to`, joined with all extents that it touches or overlaps.
    pub(super) fn insert(&mut self, mut from: u64, mut to: u64) {
        if let Some((&start, &end)) = self.extents.range(..=from).next_back()
            && end >= from
        {
            self.take(start, end);
            from = start;
            to = to.max(end);
        }
        while let Some((&start, &end)) = self.extents.range(from..=to).next() {
            self.take(start, end);
            to = to.max(end);
        }
        self.put(from, to);
    }

    /// Removes `from` to `to`; splits extents that reach beyond.
    pub(super) fn remove(&mut self, from: u64, to: u64) {
        if let Some((&start, &end)) = self.extents.range(..from).next_back()
            && end > from
        {
            self.take(start, end);
            self.put(start, from);
            if end > to {
                self.put(to, end);
            }
        }
        while let Some((&start, &end)) = self.extents.range(from..to).next() {
            self.take(start, end);
            if end > to {
                self.put(to, end);
            }
        }
    }

    /// The next extent in C-LOOK order for an arm at `at`: the next one upwards, else the lowest.
    pub(super) fn next(&self, at: u64) -> Option<(u64, u64)> {
        let upwards = self.extents.range(at..).next();
        upwards.or_else(|| self.extents.iter().next()).map(|(&from, &to)| (from, to))
    }

    fn put(&mut self, from: u64, to: u64) {
        self.extents.insert(from, to);
        self.bytes += to - from;
    }

    fn take(&mut self, from: u64, to: u64) {
        self.extents.remove(&from);
        self.bytes -= to - from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn neighbours_join_and_the_arm_wraps() {
        let mut cache = WriteCache::default();
        cache.insert(10, 20);
        cache.insert(30, 40);
        assert_eq!(cache.next(25), Some((30, 40)));
        assert_eq!(cache.next(41), Some((10, 20)));
        cache.insert(20, 30);
        assert_eq!(cache.next(0), Some((10, 40)));
        cache.remove(15, 20);
        assert!(cache.covers(20, 40) && cache.covers(10, 15) && !cache.covers(10, 20));
    }

    proptest! {
        #[test]
        fn it_is_a_set_of_bytes(steps in prop::collection::vec((any::<bool>(), 0u64..200, 1u64..40), 1..80)) {
            let mut cache = WriteCache::default();
            let mut set = [false; 256];
            for (add, from, length) in steps {
                let to = from + length;
                if add { cache.insert(from, to) } else { cache.remove(from, to) }
                set[from as usize..to as usize].fill(add);
                prop_assert_eq!(cache.bytes(), set.iter().filter(|&&held| held).count() as u64);
                let extents: Vec<_> = cache.extents.iter().map(|(&from, &to)| (from, to)).collect();
                prop_assert!(extents.windows(2).all(|pair| pair[0].1 < pair[1].0), "{:?}", extents);
                for (from, to) in extents {
                    prop_assert!(set[from as usize..to as usize].iter().all(|&held| held));
                }
            }
        }
    }
}
