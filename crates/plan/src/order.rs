//! Randomised complete blocks from fixed generators.
//!
//! The same seed must give the same order and the same corpora for years.

use mountmark_random::{STEP, SplitMix64};

/// Separates the stream of orders from the stream of repeats' seeds.
const ORDERS: u64 = 0x6d6d_6f72_6465_7231;

/// The seed of one repeat, equal for every configuration of its block. It has 53 bits, to be exact in JSON readers that
/// store all numbers as floating point, and in stores with signed integers only.
pub fn repeat_seed(seed: u64, repeat: u32) -> u64 {
    // Independent of the number of repeats: a longer run repeats the shorter one.
    SplitMix64(seed.wrapping_add(u64::from(repeat).wrapping_mul(STEP))).next() >> 11
}

/// The order of `count` configurations in the block of `repeat` (Fisher and Yates, in Durstenfeld's form).
pub(crate) fn block(seed: u64, repeat: u32, count: usize) -> Vec<usize> {
    let mut random = SplitMix64(repeat_seed(seed ^ ORDERS, repeat));
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, below(&mut random, last as u64 + 1) as usize);
    }
    order
}

/// Uniform below `bound`: numbers that would favour the small ones are drawn again.
fn below(random: &mut SplitMix64, bound: u64) -> u64 {
    let limit = u64::MAX - u64::MAX % bound;
    loop {
        let value = random.next();
        if value < limit {
            return value % bound;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn orders_and_seeds_are_pinned() {
        assert_eq!((0..3).map(|repeat| block(1, repeat, 6)).collect::<Vec<_>>(), PINNED_ORDERS);
        assert_eq!([0, 1, 2].map(|repeat| repeat_seed(1, repeat)), PINNED_SEEDS);
    }

    const PINNED_ORDERS: [[usize; 6]; 3] = [[5, 2, 0, 4, 1, 3], [2, 0, 4, 1, 5, 3], [5, 1, 4, 0, 2, 3]];
    const PINNED_SEEDS: [u64; 3] = [5103132997656651, 6717404888216029, 8746015278458442];

    proptest! {
        #[test]
        fn a_block_is_a_permutation(seed: u64, repeat in 0u32..1000, count in 0usize..40) {
            let mut order = block(seed, repeat, count);
            order.sort_unstable();
            prop_assert_eq!(order, (0..count).collect::<Vec<_>>());
        }

        #[test]
        fn seeds_of_repeats_fit_53_bits(seed: u64, repeat: u32) {
            prop_assert!(repeat_seed(seed, repeat) < 1 << 53);
        }
    }
}
