//! Contents of files that are laid out before the tasks: cheap to make, and no two blocks alike.

use std::io::{self, Write};

use mountmark_random::Stream;

/// Compressors look back 128 KiB at most where file systems have them: repetitions are farther apart.
const POOL: usize = 256 << 10;
/// The unit in which file systems store and compare.
const BLOCK: usize = 4096;
/// Bytes of the number at the start of each block.
const STAMP: usize = 16;
/// Random letters of a line of text; the rest of it is the same in all lines, so that it shrinks about fourfold.
const LETTERS: usize = 12;
const LINE: &[u8; 64] = b"............ \t= the same words in each line of this kind of tex\n";
const ALPHABET: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

/// A ring of blocks, each stamped with a number when it is written.
pub(super) struct Contents {
    pool: Vec<u8>,
    next: usize,
    count: u64,
}

impl Contents {
    /// Lines of text, or random bytes.
    pub(super) fn new(text: bool, stream: &mut Stream) -> Contents {
        let mut pool = vec![0; POOL];
        stream.fill(&mut pool);
        if text {
            for line in pool.chunks_mut(LINE.len()) {
                for (at, byte) in line.iter_mut().enumerate() {
                    *byte = if at < LETTERS { ALPHABET[usize::from(*byte) % ALPHABET.len()] } else { LINE[at] };
                }
            }
        }
        Contents { pool, next: 0, count: stream.next_u64() }
    }

    /// Writes `length` bytes.
    pub(super) fn write(&mut self, to: &mut impl Write, mut length: u64) -> io::Result<()> {
        while length > 0 {
            let end = POOL.min(self.next + usize::try_from(length).unwrap_or(POOL));
            let here = self.next..end;
            for start in here.clone().step_by(BLOCK).filter(|start| start + STAMP <= POOL) {
                self.count = self.count.wrapping_add(1);
                for (digit, byte) in self.pool[start..start + STAMP].iter_mut().enumerate() {
                    *byte = b"0123456789abcdef"[(self.count >> (4 * digit)) as usize & 15];
                }
            }
            to.write_all(&self.pool[here.clone()])?;
            length -= here.len() as u64;
            // Files begin at a block of the ring.
            self.next = end.next_multiple_of(BLOCK) % POOL;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_blocks_are_alike_and_lengths_are_kept() {
        for text in [true, false] {
            let mut contents = Contents::new(text, &mut Stream::new(1, "contents"));
            let mut seen = BTreeSet::new();
            for length in [1, 4095, 4096, 100_000, 600_000, 0, 20] {
                let mut file = Vec::new();
                contents.write(&mut file, length).unwrap();
                assert_eq!(file.len() as u64, length);
                assert!(file.chunks_exact(BLOCK).all(|block| seen.insert(block.to_vec())), "{text} {length}");
                assert!(!text || file.is_ascii());
            }
        }
    }
}
