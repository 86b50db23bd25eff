//! Random numbers that are the same on every machine and in every version.

use mountmark_random::SplitMix64;

/// Draws from SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

impl Random {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Random {
        Random(SplitMix64(seed))
    }

    /// The stream of `seed` for `name`; streams of different names are independent. The name is hashed by FNV-1a
    /// (Fowler, Noll, Vo), 64 bits.
    pub fn named(seed: u64, name: &str) -> Random {
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Random::new(SplitMix64(seed ^ hash).next())
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next()
    }

    /// Uniform in 0 to `bound` - 1; 0 if `bound` is 0. The high half of a product (Lemire, "Fast random integer
    /// generation in an interval", 2019) without his rejection: the bias is below `bound` / 2^64.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// Uniform in 0 (included) to 1 (excluded), 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal, by inversion.
    pub fn normal(&mut self) -> f64 {
        // Shifted by half a step, since 0 has no finite quantile.
        let even = self.unit() + 0.5 / (1u64 << 53) as f64;
        super::distribution::normal_quantile(even)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_pinned() {
        let mut random = Random::new(1);
        assert_eq!([0; 2].map(|_| random.bits()), [10_451_216_379_200_822_465, 13_757_245_211_066_428_519]);
        let mut random = Random::named(1, "ranking");
        assert_eq!([0; 2].map(|_| random.bits()), [12_773_677_489_776_419_084, 12_864_515_215_852_032_849]);
    }
}
