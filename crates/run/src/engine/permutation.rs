//! The numbers below n in a random order without a table: a Feistel network over the next power of two, walked until it
//! lands below n again (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). The order is random enough
//! for access patterns; it hides nothing.

/// Spreads 64 bits over 64 bits (the end of splitmix64).
#[inline(always)]
pub(super) fn mix(value: u64) -> u64 {
    let z = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Rounds: even, so that the halves have their widths again at the end.
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
        let keys =
            std::array::from_fn(|round| mix(key.wrapping_add((round as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))));
        Permutation { count, low: bits / 2, high: bits - bits / 2, keys }
    }

    /// Where `index`, below `count`, goes.
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
        // `right` has `low` bits; a round moves it to the left and puts the mixed old left in its place, so widths swap.
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
    fn neighbours_are_torn_apart() {
        let permutation = Permutation::new(100_000, 7);
        let near = (0..99_999).filter(|i| permutation.apply(*i).abs_diff(permutation.apply(i + 1)) < 100).count();
        // A random order has about 200 such neighbours.
        assert!(near < 400, "{near}");
    }
}
