//! Large files that are mostly holes or zeros: a guest's memory.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result};
use rustix::fs::{SeekFrom, seek};
use sha2::{Digest, Sha256};

/// Bytes read at a time; a block of zeros is omitted.
const BLOCK: u64 = 64 << 10;

/// Reads the blocks of a file that are not zero, each with its offset, up to its end or `most` bytes.
fn blocks(path: &Path, most: u64, each: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
    let failed = || format!("cannot read {}", path.display());
    let file = File::open(path).with_context(failed)?;
    let length = file.metadata().with_context(failed)?.len().min(most);
    let (mut block, mut at) = (vec![0; BLOCK as usize], 0);
    while at < length {
        at = match seek(&file, SeekFrom::Data(at)) {
            Ok(data) => data / BLOCK * BLOCK,
            Err(rustix::io::Errno::NXIO) => break,
            // A file system without information on holes.
            Err(_) => at,
        };
        let part = &mut block[..BLOCK.min(length - at) as usize];
        file.read_exact_at(part, at).with_context(failed)?;
        if part.iter().any(|byte| *byte != 0) {
            each(at, part)?;
        }
        at += BLOCK;
    }
    Ok(())
}

/// SHA-256, in hexadecimal, of a file's blocks that are not zero and their offsets: holes are not read, and a copy with
/// the holes filled has the same hash.
pub fn sha256(path: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    blocks(path, u64::MAX, &mut |at, block| {
        hash.update(at.to_le_bytes());
        hash.update(block);
        Ok(())
    })?;
    Ok(super::hex(&hash.finalize()))
}

/// Copies a file's contents to the empty file `to`, and leaves holes for zeros.
pub fn copy(path: &Path, to: impl AsFd) -> Result<()> {
    let failed = || format!("cannot copy {}", path.display());
    rustix::fs::ftruncate(&to, std::fs::metadata(path).with_context(failed)?.len()).with_context(failed)?;
    copy_first(path, u64::MAX, to)
}

/// Copies the blocks of a file's first bytes that are not zero to their places in `to`, which has zeros there.
pub fn copy_first(path: &Path, most: u64, to: impl AsFd) -> Result<()> {
    let failed = || format!("cannot copy {}", path.display());
    blocks(path, most, &mut |at, block| {
        let mut done = 0;
        while done < block.len() {
            done += rustix::io::pwrite(&to, &block[done..], at + done as u64).with_context(failed)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_and_zeros_are_the_same_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ram");
        let hash = |make: &dyn Fn(&File)| {
            let file = File::create(&path).unwrap();
            make(&file);
            sha256(&path).unwrap()
        };
        let sparse = hash(&|file| {
            file.set_len(1 << 20).unwrap();
            file.write_all_at(b"data", 700_001).unwrap();
        });
        let filled = hash(&|file| {
            file.write_all_at(&vec![0; 1 << 20], 0).unwrap();
            file.write_all_at(b"data", 700_001).unwrap();
        });
        assert_eq!(sparse, filled);
        for (bytes, at) in [(b"dbta", 700_001), (b"data", 700_002), (b"data", 1_000_000)] {
            let other = hash(&|file| {
                file.set_len(1 << 20).unwrap();
                file.write_all_at(bytes, at).unwrap();
            });
            assert_ne!(other, sparse, "{at}");
        }
        assert_eq!(hash(&|_| {}), hash(&|file| file.set_len(4096).unwrap()), "lengths are compared apart");
    }

    #[test]
    fn a_copy_is_equal_and_has_the_holes() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        let file = File::create(&one).unwrap();
        file.set_len((8 << 20) + 5).unwrap();
        for (bytes, at) in [(b"begin", 0), (b"-end-", 8 << 20), (b"block", 3 << 20)] {
            file.write_all_at(bytes, at).unwrap();
        }
        copy(&one, File::create(&two).unwrap()).unwrap();
        assert!(std::fs::read(&one).unwrap() == std::fs::read(&two).unwrap());
        assert!(std::fs::metadata(&two).unwrap().blocks() * 512 < 1 << 20);
    }
}
