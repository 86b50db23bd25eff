//! What a recorded disk holds before it is formatted: words that say where they lie, so that what a file system never
//! wrote is told from zeros.

/// Bytes in a word.
pub const WORD: u64 = 8;
const DISK: u64 = 0x5a;

/// The word at `index`, in words from the start of the disk.
pub fn word(index: u64) -> u64 {
    DISK << 56 | index & 0xff_ffff_ffff_ffff
}

/// Whether it is such a word, from wherever on the disk.
pub fn is(word: u64) -> bool {
    word >> 56 == DISK
}

/// Fills a part that begins at `offset` of the disk, in bytes.
pub fn fill(offset: u64, into: &mut [u8]) {
    let within = offset % WORD;
    let head = into.len().min(((WORD - within) % WORD) as usize);
    let (head, whole) = into.split_at_mut(head);
    head.copy_from_slice(&word(offset / WORD).to_le_bytes()[within as usize..][..head.len()]);
    for (bytes, index) in whole.chunks_mut(WORD as usize).zip(offset.div_ceil(WORD)..) {
        bytes.copy_from_slice(&word(index).to_le_bytes()[..bytes.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_filled_as_the_whole_is() {
        let whole: Vec<u8> = (100..104).flat_map(|index| word(index).to_le_bytes()).collect();
        for start in 0..whole.len() {
            for end in start..=whole.len() {
                let mut part = vec![0; end - start];
                fill(100 * WORD + start as u64, &mut part);
                assert_eq!(part, whole[start..end], "{start} to {end}");
            }
        }
        assert!(is(word(7)) && !is(0));
    }
}
