//! The numbers below n in a random order without a table: a Feistel network over the next power of two, repeated until
//! the result is below n (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). The order is random enough
//! for access patterns; it is no encryption.

use mountmark_random::{STEP, mix};

/// Rounds: even, so that the halves end with their original widths.
const ROUNDS: usize = 6;

/// A bijection of `0..count`.
#[derive(Clone, Debug)]
pub(super) struct Permutation {
    count: u64,
    /// Widths of the halves in bits; they differ by one at most.
    low: u32,
    high: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// `count` at least 1.
    pub(super) fn new(count: u64, key: u64) -> Permutation {
        let bits = (64 - (count - 1).leading_zeros()).max(2);
        let keys = std::array::from_fn(|round| mix(key.wrapping_add((round as u64).wrapping_mul(STEP))));
        Permutation { count, low: bits / 2, high: bits - bits / 2, keys }
    }

    /// The image of `index`, which is below `count`.
    #[inline]
    pub(super) fn apply(&self, index: u64) -> u64 {
        let mut value = index;
        loop {
            value = self.once(value);
            if value < self.count {
                return value;
            }
        }
    }

    #[inline]
    fn once(&self, value: u64) -> u64 {
        // `right` has `low` bits; a round moves it to the left and replaces it with the mixed old left, so widths swap.
        let (mut left_width, mut right_width) = (self.high, self.low);
        let (mut left, mut right) = (value >> self.low, value & ((1 << self.low) - 1));
        for key in &self.keys {
            let mixed = (left ^ mix(right ^ key)) & ((1 << left_width) - 1);
            (left, right) = (right, mixed);
            (left_width, right_width) = (right_width, left_width);
        }
        (left << right_width) | right
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_number_comes_once(count in 1u64..3000, key: u64) {
            let permutation = Permutation::new(count, key);
            let mut seen = vec![false; count as usize];
            for index in 0..count {
                let place = permutation.apply(index) as usize;
                prop_assert!(!seen[place]);
                seen[place] = true;
            }
        }
    }

    #[test]
    fn orders_are_pinned() {
        let permutation = Permutation::new(1000, 7);
        let first: [u64; 8] = std::array::from_fn(|index| permutation.apply(index as u64));
        assert_eq!(first, [217, 13, 220, 291, 394, 436, 329, 970]);
    }

    #[test]
    fn neighbours_are_torn_apart() {
        let permutation = Permutation::new(100_000, 7);
        let near = (0..99_999).filter(|i| permutation.apply(*i).abs_diff(permutation.apply(i + 1)) < 100).count();
        // A random order has about 200 such neighbours.
        assert!(near < 400, "{near}");
    }
}
