//! Changes to inputs that are likely to confuse a parser of text with numbers. The same seed gives the same change.

/// Keywords of several parsers, and numbers at the limits of their types.
const WORDS: [&str; 46] = [
    "0", "1", "-1", "255", "65536", "4294967295", "4294967296", "9223372036854775807", "-9223372036854775808",
    "18446744073709551615", "18446744073709551616", "1e308", "1e309", "-1e308", "4.9e-324", "-0.0", "nan", "inf",
    "-inf", "1_000_000_000", "16777215 TiB", "1e18 KB", "$FILES", "{size}", "{", "}", "[", "]", "[[task]]", "\"",
    "\"\"\"", "'", "\\", "\\u0000", "\u{202e}", "\u{e9}", "\u{1f4be}", "\u{0}", "\u{7f}", "\u{1b}[31m", "\u{ffff}",
    "e\u{301}\u{301}", "../", "<script>", "null", "=",
];

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `bound`, or 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next() % bound as u64) as usize }
    }

    /// A part of `0..length`, more often a short one.
    fn part(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let most = 1 << self.below(12);
        start..(start + self.below(most) + 1).min(length)
    }
}

/// Changes `data` one to four times; `other` is another input of the same target. The result has at most `most` bytes.
pub fn change(data: &mut Vec<u8>, other: &[u8], most: usize, random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        once(data, other, most, random);
    }
    data.truncate(most);
}

fn once(data: &mut Vec<u8>, other: &[u8], most: usize, random: &mut Random) {
    match random.below(12) {
        // Replaces a number or a word by another.
        0..=2 => {
            let Some(word) = word(data, random) else { return };
            data.splice(word, WORDS[random.below(WORDS.len())].bytes());
        }
        3 => {
            let at = random.below(data.len() + 1);
            data.splice(at..at, WORDS[random.below(WORDS.len())].bytes());
        }
        4 if !data.is_empty() => {
            let at = random.below(data.len());
            data[at] ^= 1 << random.below(8);
        }
        5 if !data.is_empty() => {
            let at = random.below(data.len());
            data[at] = random.next() as u8;
        }
        // Eight bytes that binary formats interpret as a size.
        6 if data.len() >= 8 => {
            let at = random.below(data.len() - 7);
            let value = [0, u64::MAX, 1 << 31, u64::MAX >> 1, u32::MAX.into(), random.next()][random.below(6)];
            data[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        7 => drop(data.drain(random.part(data.len()))),
        // Repeats a line elsewhere.
        8 => {
            let lines = line(data, random);
            let text = data[lines].to_vec();
            let at = line(data, random).start;
            data.splice(at..at, text);
        }
        9 => {
            let theirs = other[random.part(other.len())].to_vec();
            let ours = random.part(data.len());
            data.splice(ours, theirs);
        }
        10 => data.truncate(random.below(data.len() + 1)),
        // Many repetitions, which alone find quadratic time in an input's length.
        _ => {
            let part = if random.below(2) == 0 { line(data, random) } else { random.part(data.len()) };
            if part.is_empty() || data.len() >= most {
                return;
            }
            // Rarely of maximum length: such inputs take long.
            let room = if random.below(16) == 0 { most } else { most.min(1 << 14) };
            let times = 1 + random.below(room.saturating_sub(data.len()) / part.len());
            let text = data[part.clone()].repeat(times);
            data.splice(part.end..part.end, text);
        }
    }
}

/// The line around a position, including its end.
fn line(data: &[u8], random: &mut Random) -> std::ops::Range<usize> {
    let at = random.below(data.len());
    let start = data[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let end = data[at..].iter().position(|byte| *byte == b'\n').map_or(data.len(), |end| at + end + 1);
    start..end
}

/// Letters, or digits, around a position.
fn word(data: &[u8], random: &mut Random) -> Option<std::ops::Range<usize>> {
    let from = random.below(data.len());
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'.' || *byte == b'_';
    let start = from + data[from..].iter().position(is_word)?;
    let end = data[start..].iter().position(|byte| !is_word(byte)).map_or(data.len(), |end| start + end);
    let start = data[..start].iter().rposition(|byte| !is_word(byte)).map_or(0, |before| before + 1);
    Some(start..end)
}
