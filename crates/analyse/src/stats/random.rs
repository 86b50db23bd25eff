//! Random numbers that are the same everywhere and for years.
//!
//! SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. Not from a library,
//! whose streams may change with a release.

/// Steps and mixes of SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The stream of `seed` for the thing called `name`: streams of different names have nothing to do with each
    /// other. The name is hashed by FNV-1a (Fowler, Noll, Vo), 64 bits.
    pub fn named(seed: u64, name: &str) -> Random {
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Random(Random(seed ^ hash).bits())
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Even in 0 to `bound` - 1; 0 where `bound` is 0. The high half of a product (Lemire, "Fast random integer
    /// generation in an interval", 2019); his rejection is left out: the bias is below `bound` / 2^64.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// Even in 0 (included) to 1 (excluded), 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal, by inversion.
    pub fn normal(&mut self) -> f64 {
        // Half a step up: 0 has no quantile.
        let even = self.unit() + 0.5 / (1u64 << 53) as f64;
        super::distribution::normal_quantile(even)
    }
}
