//! Writes tar headers: POSIX ustar, preceded by a pax header only if ustar is insufficient.
//!
//! Not from a library, because a corpus's bytes are promised for years, and a header's padding is part of them. Owner
//! and group are 0 without names. Foreign tars, in all their dialects, are read by a library.

/// Headers and contents are padded to a multiple of this size, in bytes.
pub(crate) const BLOCK: u64 = 512;
/// The end of an archive: two empty blocks.
pub(crate) const END: [u8; 2 * BLOCK as usize] = [0; 2 * BLOCK as usize];

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
    File {
        size: u64,
    },
    Directory,
    Link {
        target: &'a [u8],
    },
    /// Another name of a file that came before.
    HardLink {
        target: &'a [u8],
    },
}

/// Number of padding bytes after a file of `size` bytes.
pub(crate) fn padding(size: u64) -> usize {
    (size.next_multiple_of(BLOCK) - size) as usize
}

/// The header block of one entry, preceded by a pax header if the name, the target, the size or the time needs one.
/// `path` has no slash at its end. `mtime` is in seconds since 1970.
pub(crate) fn header(path: &[u8], kind: Kind, mode: u32, mtime: i64) -> Vec<u8> {
    let mut path = path.to_vec();
    let (flag, size, target): (u8, u64, &[u8]) = match kind {
        Kind::File { size } => (b'0', size, b""),
        Kind::Directory => {
            path.push(b'/');
            (b'5', 0, b"")
        }
        Kind::Link { target } => (b'2', 0, target),
        Kind::HardLink { target } => (b'1', 0, target),
    };
    let mut records = Vec::new();
    let (prefix, name) = split(&path).unwrap_or_else(|| {
        record(&mut records, "path", &path);
        (b"", &path[..path.len().min(100)])
    });
    if target.len() > 100 {
        record(&mut records, "linkpath", target);
    }
    if size > LARGEST {
        record(&mut records, "size", size.to_string().as_bytes());
    }
    let seconds = u64::try_from(mtime).ok().filter(|seconds| *seconds <= LARGEST).unwrap_or_else(|| {
        record(&mut records, "mtime", mtime.to_string().as_bytes());
        0
    });
    let mut out = Vec::with_capacity(BLOCK as usize);
    if !records.is_empty() {
        out.extend(block(b"", b"././@PaxHeader", b'x', 0o644, records.len() as u64, 0, b""));
        out.extend(&records);
        out.resize(out.len() + padding(records.len() as u64), 0);
    }
    out.extend(block(prefix, name, flag, mode, size.min(LARGEST), seconds, &target[..target.len().min(100)]));
    out
}

/// Largest value of eleven octal digits.
const LARGEST: u64 = (1 << 33) - 1;

/// The two fields of a ustar name: at most 155 bytes, a slash in neither field, at most 100 bytes.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    if path.len() <= 100 {
        return Some((b"", path));
    }
    let earliest = path.len() - 101;
    let slash = (earliest..path.len() - 1).find(|at| path[*at] == b'/')?;
    (slash > 0 && slash <= 155).then(|| (&path[..slash], &path[slash + 1..]))
}

/// One line of a pax header, which starts with its own length.
fn record(out: &mut Vec<u8>, key: &str, value: &[u8]) {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    out.extend(format!("{length} {key}=").into_bytes());
    out.extend(value);
    out.push(b'\n');
}

fn block(
    prefix: &[u8],
    name: &[u8],
    flag: u8,
    mode: u32,
    size: u64,
    mtime: u64,
    target: &[u8],
) -> [u8; BLOCK as usize] {
    let mut block = [0; BLOCK as usize];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name);
    put(100, format!("{:07o}", mode & 0o7777).as_bytes());
    put(108, b"0000000");
    put(116, b"0000000");
    put(124, format!("{size:011o}").as_bytes());
    put(136, format!("{mtime:011o}").as_bytes());
    put(148, b"        ");
    put(156, &[flag]);
    put(157, target);
    put(257, b"ustar\x0000");
    put(329, b"0000000");
    put(337, b"0000000");
    put(345, prefix);
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Reads back with the tar library: path, link target, size, mtime.
    fn read(header: Vec<u8>) -> (Vec<u8>, Option<Vec<u8>>, u64, u64) {
        let mut archive = tar::Archive::new(header.chain(&END[..]));
        let entry = archive.entries().unwrap().next().unwrap().unwrap();
        let link = entry.link_name_bytes().map(|name| name.into_owned());
        (entry.path_bytes().into_owned(), link, entry.size(), entry.header().mtime().unwrap())
    }

    #[test]
    fn names_of_every_length_come_back() {
        for length in 1..400 {
            // Components of 9 letters, then one long name, then slashes at the edges of fields.
            let parts: Vec<u8> =
                (0..length).map(|at| if at % 10 == 9 && at + 1 < length { b'/' } else { b'a' }).collect();
            let long = vec![b'b'; length];
            let early: Vec<u8> = (0..length).map(|at| if at == 1 && length > 3 { b'/' } else { b'c' }).collect();
            for path in [parts, long, early] {
                let block = header(&path, Kind::File { size: 0 }, 0o644, 5);
                assert_eq!(block.len() as u64 % BLOCK, 0);
                assert_eq!(read(block).0, path);
                let mut directory = path.clone();
                directory.push(b'/');
                assert_eq!(read(header(&path, Kind::Directory, 0o755, 5)).0, directory);
            }
        }
    }

    #[test]
    fn what_ustar_cannot_say_goes_to_pax() {
        let target = vec![b't'; 150];
        let block = header(b"link", Kind::Link { target: &target }, 0o777, 1);
        assert_eq!(read(block).1, Some(target));
        let size = 9 << 30;
        let block = header(b"huge", Kind::File { size }, 0o644, 1);
        assert_eq!(block.len(), 3 * 512);
        assert_eq!(read(block).2, size);
        let block = header(b"old", Kind::File { size: 0 }, 0o644, -7);
        assert!(block.windows(10).any(|window| window == b" mtime=-7\n"));
        assert_eq!(header(b"plain", Kind::File { size: LARGEST }, 0o644, 1).len(), 512);
    }
}
