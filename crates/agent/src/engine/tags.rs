//! Tagged contents, so that every byte read can be checked.
//!
//! A file is a row of units of 512 bytes; the last one may be shorter. Every byte follows from (seed, file, position,
//! generation):
//!
//! | bytes of a unit | hold |
//! |---|---|
//! | 0..8 | the file's number |
//! | 8..16 | the unit's position in the file, in bytes |
//! | 16..20 | the generation: which phase wrote it |
//! | 20..24 | the seed, its low half |
//! | 24..32 | a checksum over all other bytes |
//! | 32..512 | payload, random or partly zero |
//!
//! All numbers are little-endian. Contents of zeroes (`data = "zero"`) have no tags: every byte must be 0.

use mountmark_model::workload::Data;
use mountmark_random::mix;

/// Bytes that carry one tag.
pub(super) const UNIT: usize = 512;
const WORDS: usize = UNIT / 8;
const HEADER_WORDS: usize = 4;

/// What contents follow from, besides file and position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tags {
    seed: u64,
    /// Words of each unit that are not zero, header included; 0 for contents of zeroes.
    words: usize,
}

/// A byte with an unexpected value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    /// In bytes from the file's start.
    pub(super) position: u64,
    pub(super) expected: u8,
    pub(super) found: u8,
}

/// Valid generations: `first` to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Generations {
    pub(super) first: u32,
    pub(super) last: u32,
}

impl Tags {
    pub(super) fn new(seed: u64, data: Data) -> Tags {
        let words = match data {
            Data::Random => WORDS,
            Data::Zero => 0,
            Data::Compressible(ratio) => ((WORDS as f64 / ratio).round() as usize).clamp(HEADER_WORDS, WORDS),
        };
        Tags { seed, words }
    }

    /// The unit of `file` at `position`, a multiple of [`UNIT`].
    fn unit(&self, file: u64, position: u64, generation: u32) -> [u8; UNIT] {
        let mut words = [0u64; WORDS];
        if self.words > 0 {
            words[0] = file;
            words[1] = position;
            words[2] = u64::from(generation) | self.seed << 32;
            let key = mix(self.seed ^ mix(file ^ mix(position ^ u64::from(generation) << 40)));
            let mut sum = mix(words[0] ^ mix(words[1] ^ mix(words[2])));
            for (index, word) in words[..self.words].iter_mut().enumerate().skip(HEADER_WORDS) {
                // A counter through one multiply-and-shift round: plain enough for vector instructions.
                let mixed = key.wrapping_add((index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                *word = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                sum = sum.wrapping_add(*word ^ (*word >> 31));
            }
            words[3] = sum;
        }
        let mut bytes = [0; UNIT];
        bytes.chunks_exact_mut(8).zip(words).for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_le_bytes()));
        bytes
    }

    /// Fills `buffer` with the contents of `file` from `position`, a multiple of [`UNIT`].
    pub(super) fn fill(&self, buffer: &mut [u8], file: u64, position: u64, generation: u32) {
        for (index, part) in buffer.chunks_mut(UNIT).enumerate() {
            let unit = self.unit(file, position + (index * UNIT) as u64, generation);
            part.copy_from_slice(&unit[..part.len()]);
        }
    }

    /// Checks every byte of `buffer`, read from `file` at `position`, a multiple of [`UNIT`].
    ///
    /// # Errors
    /// The first byte that is wrong.
    pub(super) fn check(
        &self,
        buffer: &[u8],
        file: u64,
        position: u64,
        generations: Generations,
    ) -> Result<(), Mismatch> {
        for (index, part) in buffer.chunks(UNIT).enumerate() {
            let start = position + (index * UNIT) as u64;
            // The unit itself holds its generation; check that it is a valid one. If the file's end cuts off part of
            // the number, that part is taken from the latest generation.
            let mut said = generations.last.to_le_bytes();
            said.iter_mut().zip(part.iter().skip(16)).for_each(|(said, found)| *said = *found);
            let said = u32::from_le_bytes(said);
            let generation = said.clamp(generations.first, generations.last);
            let expected = self.unit(file, start, generation);
            if *part == expected[..part.len()] {
                continue;
            }
            // If the tag is another phase's, the first wrong byte is in the tag.
            if let Some(at) = part.iter().zip(&expected).position(|(found, expected)| found != expected) {
                return Err(Mismatch { position: start + at as u64, expected: expected[at], found: part[at] });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ANY: Generations = Generations { first: 1, last: 9 };

    #[test]
    fn contents_are_pinned() {
        let unit = Tags::new(5, Data::Random).unit(3, 4096, 2);
        let word = |index: usize| u64::from_le_bytes(unit[8 * index..][..8].try_into().unwrap());
        let pinned = [3, 4096, 0x5_0000_0002, 0x0c6a_b14c_9463_f5f6, 0xe1a0_5ddf_64c1_dec2, 0xab16_8097_448e_d6aa];
        assert_eq!([0, 1, 2, 3, 4, 63].map(word), pinned);
    }

    proptest! {
        #[test]
        fn any_changed_byte_is_found(
            length in 1usize..5000, at in 0usize..5000, change in 1u8..=255, file in 0u64..100, block in 0u64..1000,
            data in prop_oneof![Just(Data::Random), Just(Data::Zero), Just(Data::Compressible(3.0))],
        ) {
            let at = at % length;
            let position = block * UNIT as u64;
            let tags = Tags::new(7, data);
            let mut buffer = vec![0xee; length];
            tags.fill(&mut buffer, file, position, 3);
            prop_assert_eq!(tags.check(&buffer, file, position, ANY), Ok(()));
            let good = buffer[at];
            buffer[at] ^= change;
            let found = tags.check(&buffer, file, position, ANY).unwrap_err();
            // A changed generation is found at its own byte or, if it is another valid one, behind it.
            let unit = at / UNIT * UNIT;
            let in_generation = (16..20).contains(&(at - unit));
            if in_generation {
                prop_assert!((position + unit as u64 + 16..position + (unit + UNIT) as u64).contains(&found.position));
            } else {
                prop_assert_eq!(found, Mismatch { position: position + at as u64, expected: good, found: good ^ change });
            }
        }
    }

    #[test]
    fn blocks_of_another_place_time_or_seed_are_found() {
        let tags = Tags::new(7, Data::Random);
        let mut buffer = [0; 4096];
        tags.fill(&mut buffer, 5, 8192, 3);
        let check =
            |tags: &Tags, file, position, first, last| tags.check(&buffer, file, position, Generations { first, last });
        assert!(check(&tags, 5, 8192, 3, 3).is_ok());
        assert_eq!(check(&tags, 4, 8192, 3, 3).unwrap_err().position, 8192);
        assert_eq!(check(&tags, 5, 4096, 3, 3).unwrap_err().position, 4096 + 9);
        assert_eq!(check(&tags, 5, 8192, 4, 6).unwrap_err().position, 8192 + 16);
        assert_eq!(check(&Tags::new(8, Data::Random), 5, 8192, 3, 3).unwrap_err().position, 8192 + 20);
    }

    #[test]
    fn the_ratio_is_about_what_was_asked_for() {
        let mut buffer = vec![0; 1 << 16];
        for ratio in [1.0, 2.0, 4.0, 8.0] {
            Tags::new(1, Data::Compressible(ratio)).fill(&mut buffer, 0, 0, 1);
            for unit in buffer.chunks(UNIT) {
                // Up to the last byte that is not zero; a random word rarely ends with a zero byte, and never with
                // eight.
                let filled = unit.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1).next_multiple_of(8);
                assert_eq!(UNIT as f64 / filled as f64, ratio);
            }
        }
    }
}
