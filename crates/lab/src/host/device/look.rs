//! Where a device is looked at for data of no known kind: both ends, and samples between.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::erase::LENGTH;

/// Bytes at each end that are looked through.
const ENDS: u64 = 1 << 20;
/// Samples between the ends, of a page each.
const SAMPLES: u64 = 64;
/// Bytes of a device that is looked through as a whole.
const SMALL: u64 = 64 << 20;
/// What a block is compared with: memcmp takes a tenth of the time of a loop over bytes.
const BLOCK: usize = 4096;
static EMPTY: [[u8; BLOCK]; 2] = [[0; BLOCK], [0xff; BLOCK]];

/// Offsets and lengths, in bytes, of what is looked at on a device of `size` bytes.
pub(super) fn places(size: u64) -> impl Iterator<Item = (u64, u64)> {
    let (step, length) = if size <= SMALL { (ENDS, ENDS) } else { ((size / (SAMPLES + 1)) & !4095, 4096) };
    let between = (1..).map(move |at| at * step).take_while(move |at| *at < size.saturating_sub(ENDS));
    let places = std::iter::once((0, ENDS)).chain(between.map(move |at| (at, length)));
    places.chain([(size.saturating_sub(ENDS), ENDS)]).map(move |(at, length)| (at, length.min(size - at)))
}

/// The first byte there that is neither 0 nor 0xff, as erased flash is. What follows this program's own mark is looked at
/// as on any other device.
pub(super) fn first_data(file: &File, size: u64, is_marked: bool) -> io::Result<Option<u64>> {
    let mut buffer = vec![0; ENDS as usize];
    let skipped = if is_marked { LENGTH as u64 } else { 0 };
    for (at, length) in places(size) {
        let buffer = &mut buffer[..length as usize];
        file.read_exact_at(buffer, at)?;
        let blocks = buffer.chunks(BLOCK).zip((at..).step_by(BLOCK));
        let used = blocks.filter(|(block, _)| EMPTY.iter().all(|empty| *block != &empty[..block.len()]));
        let mut bytes = used.flat_map(|(block, at)| block.iter().zip(at..));
        if let Some((_, at)) = bytes.find(|(byte, at)| !matches!(byte, 0 | 0xff) && *at >= skipped) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Overwrites with zeros what is looked at and holds anything else.
pub(super) fn clear(file: &File, size: u64) -> io::Result<()> {
    let mut buffer = vec![0; ENDS as usize];
    let zeros = vec![0; ENDS as usize];
    for (at, length) in places(size) {
        let buffer = &mut buffer[..length as usize];
        file.read_exact_at(buffer, at)?;
        if *buffer != zeros[..length as usize] {
            file.write_all_at(&zeros[..length as usize], at)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_found_at_the_ends_and_between() {
        let file = tempfile::tempfile().unwrap();
        let size = 256 << 20;
        file.set_len(size).unwrap();
        let first = || first_data(&file, size, false).unwrap();
        assert_eq!(first(), None);
        file.write_all_at(&[0xff; 4096], 8192).unwrap();
        assert_eq!(first(), None, "erased flash");
        file.write_all_at(b"x", size - 1).unwrap();
        assert_eq!(first(), Some(size - 1));
        let step = (size / 65) & !4095;
        file.write_all_at(b"x", 3 * step + 5).unwrap();
        assert_eq!(first(), Some(3 * step + 5));
        clear(&file, size).unwrap();
        assert_eq!(first(), None);
        // A small disk is read whole.
        let file = tempfile::tempfile().unwrap();
        file.set_len(5 << 20).unwrap();
        file.write_all_at(b"x", 2_000_000).unwrap();
        assert_eq!(first_data(&file, 5 << 20, false).unwrap(), Some(2_000_000));
    }

    #[test]
    fn a_mark_hides_nothing_behind_it() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(5 << 20).unwrap();
        file.write_all_at(b"the mark", 0).unwrap();
        assert_eq!(first_data(&file, 5 << 20, true).unwrap(), None);
        for at in [4096, 1 << 20, (5 << 20) - 1] {
            file.write_all_at(b"x", at).unwrap();
            assert_eq!(first_data(&file, 5 << 20, true).unwrap(), Some(at));
            clear(&file, 5 << 20).unwrap();
        }
    }
}
