//! Sets of small numbers.

use std::fmt::{self, Display, Formatter};

/// A set of numbers, written as the hexadecimal number whose bits they are.
#[derive(Clone, Debug, Default)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// The numbers below `count`.
    pub fn below(count: usize) -> Bits {
        let mut words = vec![u64::MAX; count / 64];
        words.extend((!count.is_multiple_of(64)).then(|| (1 << (count % 64)) - 1));
        Bits(words)
    }

    pub fn has(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    pub fn flip(&mut self, number: usize) {
        if self.0.len() <= number / 64 {
            self.0.resize(number / 64 + 1, 0);
        }
        self.0[number / 64] ^= 1 << (number % 64);
    }

    pub fn with(mut self, number: usize, member: bool) -> Bits {
        if self.has(number) != member {
            self.flip(number);
        }
        self
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(index, &word)| members(word).map(move |bit| index * 64 + bit))
    }

    /// The numbers that are in one of both and not in the other.
    pub(super) fn differing(&self, other: &Bits) -> impl Iterator<Item = usize> {
        let word = |bits: &Bits, index: usize| bits.0.get(index).copied().unwrap_or(0);
        let words: Vec<u64> =
            (0..self.0.len().max(other.0.len())).map(|index| word(self, index) ^ word(other, index)).collect();
        words.into_iter().enumerate().flat_map(|(index, word)| members(word).map(move |bit| index * 64 + bit))
    }

    /// One more than the largest member.
    pub(super) fn end(&self) -> usize {
        self.iter().last().map_or(0, |last| last + 1)
    }

    pub(super) fn parse(text: &str) -> Option<Bits> {
        let is_digit = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
        let is_shortest = text == "0" || !text.starts_with('0');
        if text.is_empty() || !text.bytes().all(is_digit) || !is_shortest {
            return None;
        }
        let words = text.as_bytes().rchunks(16);
        let parsed = words.map(|word| u64::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok());
        parsed.collect::<Option<Vec<u64>>>().map(Bits)
    }
}

fn members(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}

impl From<u64> for Bits {
    fn from(word: u64) -> Bits {
        Bits(vec![word])
    }
}

impl PartialEq for Bits {
    fn eq(&self, other: &Bits) -> bool {
        self.differing(other).next().is_none()
    }
}

impl Eq for Bits {}

impl Display for Bits {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let top = self.0.iter().rposition(|&word| word != 0).unwrap_or(0);
        write!(out, "{:x}", self.0.get(top).copied().unwrap_or(0))?;
        self.0.iter().take(top).rev().try_for_each(|word| write!(out, "{word:016x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_written_as_they_are_read() {
        let sets = [vec![], vec![0], vec![3, 63, 64], vec![64], vec![200]];
        for set in sets {
            let bits = set.iter().fold(Bits::default(), |bits, &number| bits.with(number, true));
            assert_eq!(bits.iter().collect::<Vec<_>>(), set);
            assert_eq!(Bits::parse(&bits.to_string()).unwrap(), bits);
            assert_eq!(Bits::parse(&bits.to_string()).unwrap().iter().collect::<Vec<_>>(), set);
        }
        assert_eq!(Bits::below(66).to_string(), "3ffffffffffffffff");
        assert_eq!(Bits::below(64), Bits::from(u64::MAX));
        assert!(["", "00", "01", "F", "+1", "g"].iter().all(|text| Bits::parse(text).is_none()));
    }
}
