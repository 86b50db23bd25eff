//! Reads a tar once and counts its contents. All tars are counted here, whatever their source.

use std::cell::Cell;
use std::io::{self, Read};

use mountmark_model::RealisedCorpus;
use tar::EntryType;

use crate::places::{LONGEST_NAME, Places, components};

/// Maximum number of entries of a tar: the counted names stay in memory until the end.
const MOST_ENTRIES: u64 = 20_000_000;

/// Maximum number of bytes between the contents of two entries: headers and their extensions, which are read into
/// memory.
const MOST_HEADERS: u64 = 1 << 20;

/// Why a tar cannot be used, without its origin, which the caller knows.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The first header is invalid. Its bytes are not repeated: the file may belong to another user, with private
    /// contents.
    NotATar,
    /// It ends early or is corrupt after this many entries, of which the last one is named.
    Damaged {
        entries: u64,
        last: String,
        cause: String,
    },
    /// Complete, but without a regular file.
    Empty,
    /// A name that would leave the folder it is unpacked in, or an entry that is not a file, folder or link.
    Unsafe {
        entry: String,
        why: &'static str,
    },
    TooMany,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::NotATar => write!(f, "this is no tar archive"),
            Fault::Damaged { entries: 0, cause, .. } => write!(f, "the archive is damaged at its first entry: {cause}"),
            Fault::Damaged { entries, last, cause } => {
                write!(f, "the archive is damaged after entry {entries}, \"{last}\": {cause}")
            }
            Fault::Empty => write!(f, "there is no regular file in it, so nothing can be measured with it"),
            Fault::TooMany => write!(f, "it has more than {MOST_ENTRIES} entries, the most"),
            Fault::Unsafe { entry, why } => write!(f, "the entry \"{entry}\" is refused: {why}"),
        }
    }
}

/// Reads `reader` to its end and counts. The caller sets `name`, `sha256` and `seed`.
///
/// Directories are counted whether they have their own entry or are only implied by a file in them. A hard link is not
/// a separate file: it counts among `others`, its bytes once. Names that occur twice count twice.
pub(crate) fn survey(reader: impl Read) -> Result<RealisedCorpus, Fault> {
    let left = Cell::new(MOST_HEADERS);
    let mut reader = Ended { reader, ended: false, failed: false, bytes: 0, left: &left };
    let mut seen = Seen::default();
    if let Err(stop) = count(&mut reader, &left, &mut seen) {
        return Err(match stop {
            Stop::Refused(fault) => fault,
            // A stream with a read error may have been a tar; one that is read and invalid was not.
            Stop::Unreadable(_) if seen.entries == 0 && !reader.failed => Fault::NotATar,
            // The library's messages about a header contain the header's bytes.
            Stop::Unreadable(_) if !reader.failed => seen.damaged("what follows is no header of a tar"),
            Stop::Unreadable(cause) => seen.damaged(&cause.to_string()),
        });
    }
    if reader.ended {
        let empty = reader.bytes == 0;
        return Err(seen.damaged(if empty { "it is empty" } else { "it is cut off, its end marker is missing" }));
    }
    left.set(u64::MAX);
    // Padding after the end marker is part of the file too.
    io::copy(&mut reader, &mut io::sink()).map_err(|cause| seen.damaged(&cause.to_string()))?;
    seen.sum(reader.bytes)
}

enum Stop {
    Refused(Fault),
    Unreadable(io::Error),
}

/// Counts the entries. `left` is the number of bytes that the reader may still return.
fn count(reader: impl Read, left: &Cell<u64>, seen: &mut Seen) -> Result<(), Stop> {
    let mut archive = tar::Archive::new(reader);
    for entry in archive.entries().map_err(Stop::Unreadable)? {
        let entry = entry.map_err(Stop::Unreadable)?;
        // The archive contains less of a sparse file than its size.
        let held = match entry.header().entry_type() {
            EntryType::GNUSparse => entry.header().entry_size().map_err(Stop::Unreadable)?,
            _ => entry.size(),
        };
        left.set(held.saturating_add(MOST_HEADERS));
        let link = entry.link_name_bytes();
        seen.add(&entry.path_bytes(), link.as_deref(), entry.header().entry_type(), entry.size())
            .map_err(Stop::Refused)?;
    }
    Ok(())
}

/// Counts, and records whether the reader reached its end: the library accepts an archive without an end marker, which
/// is what a broken download looks like. And the library reads headers of any length into memory, of which a packed
/// archive may have gigabytes.
struct Ended<'a, R> {
    reader: R,
    ended: bool,
    failed: bool,
    bytes: u64,
    left: &'a Cell<u64>,
}

impl<R: Read> Read for Ended<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer).inspect_err(|_| self.failed = true)?;
        let Some(left) = self.left.get().checked_sub(length as u64) else {
            self.failed = true;
            let reason = format!("an entry has headers of more than {MOST_HEADERS} bytes, and no tar needs such");
            return Err(io::Error::other(reason));
        };
        self.left.set(left);
        self.ended |= length == 0 && !buffer.is_empty();
        self.bytes += length as u64;
        Ok(length)
    }
}

#[derive(Default)]
struct Seen {
    entries: u64,
    last: String,
    others: u64,
    sizes: Vec<u64>,
    deepest: u32,
    places: Places,
    /// The first component of all names, as long as it is the same.
    top: Option<Vec<u8>>,
    /// Names are under several top folders, or a file is beside the top folder.
    many_tops: bool,
}

impl Seen {
    fn damaged(&self, cause: &str) -> Fault {
        Fault::Damaged { entries: self.entries, last: self.last.clone(), cause: cause.to_owned() }
    }

    fn add(&mut self, path: &[u8], link: Option<&[u8]>, kind: EntryType, size: u64) -> Result<(), Fault> {
        if kind == EntryType::XGlobalHeader {
            return Ok(());
        }
        let shown = String::from_utf8_lossy(&path[..path.len().min(LONGEST_NAME)]).into_owned();
        let refused = |why| Fault::Unsafe { entry: shown.clone(), why };
        let parts = components(path).map_err(refused)?;
        if kind == EntryType::Link {
            components(link.unwrap_or_default())
                .map_err(|_| refused("it is a hard link to a file outside the archive"))?;
        }
        let mut place = Places::ROOT;
        for part in &parts[..parts.len().saturating_sub(1)] {
            place = self.places.below(place, part);
            if self.places.known[place].link {
                return Err(refused("it lies behind a symbolic link of the same archive, which may lead anywhere"));
            }
            self.places.known[place].directory = true;
        }
        // Packing a user's folder omits them, too.
        if matches!(kind, EntryType::Block | EntryType::Char | EntryType::Fifo) {
            return Err(refused("it is a device or a pipe, which may stand for one of the machine that unpacks it"));
        }
        if self.entries == MOST_ENTRIES {
            return Err(Fault::TooMany);
        }
        self.entries += 1;
        self.last = shown.clone();
        if let Some(first) = parts.first() {
            match &self.top {
                None => self.top = Some(first.to_vec()),
                Some(top) => self.many_tops |= top != first,
            }
            self.many_tops |= parts.len() == 1 && kind != EntryType::Directory;
        }
        match kind {
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                self.sizes.push(size);
                self.deepest = self.deepest.max(parts.len() as u32);
            }
            EntryType::Directory => {
                // "./" is the folder in which the archive is unpacked, not a directory in it.
                if let Some(last) = parts.last() {
                    let place = self.places.below(place, last);
                    self.places.known[place].directory = true;
                }
            }
            _ => {
                self.others += 1;
                if let Some(last) = parts.last().filter(|_| kind == EntryType::Symlink) {
                    let place = self.places.below(place, last);
                    self.places.known[place].link = true;
                }
            }
        }
        Ok(())
    }

    fn sum(mut self, tar_bytes: u64) -> Result<RealisedCorpus, Fault> {
        self.sizes.sort_unstable();
        let files = self.sizes.len();
        if files == 0 {
            return Err(Fault::Empty);
        }
        let sum = self.sizes.iter().try_fold(0_u64, |sum, size| sum.checked_add(*size));
        let bytes = sum.ok_or_else(|| self.damaged("its files have more bytes than 64 bits can count"))?;
        let (low, high) = (self.sizes[(files - 1) / 2], self.sizes[files / 2]);
        Ok(RealisedCorpus {
            name: String::new(),
            files: files as u64,
            directories: self.places.known.iter().filter(|place| place.directory).count() as u64,
            others: self.others,
            bytes,
            tar_bytes,
            size_min: self.sizes[0],
            size_median: low + (high - low) / 2,
            size_mean: bytes.saturating_add(files as u64 / 2) / files as u64,
            size_max: self.sizes[files - 1],
            max_depth: self.deepest.saturating_sub(u32::from(!self.many_tops)),
            sha256: String::new(),
            seed: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: EntryType, path: &[u8], size: u64, contents: &[u8]) -> Vec<u8> {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.as_old_mut().name[..path.len()].copy_from_slice(path);
        header.set_size(size);
        header.set_cksum();
        let mut bytes = [header.as_bytes(), contents].concat();
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }

    /// A file under a name of any length.
    fn long(name: &[u8]) -> Vec<u8> {
        let name = [name, b"\0"].concat();
        let head = entry(EntryType::GNULongName, b"././@LongLink", name.len() as u64, &name);
        [head, entry(EntryType::Regular, b"x", 0, b"")].concat()
    }

    fn surveyed(entries: &[Vec<u8>]) -> Result<RealisedCorpus, String> {
        let bytes = [&entries.concat()[..], &[0; 1024]].concat();
        survey(&bytes[..]).map_err(|fault| fault.to_string())
    }

    #[test]
    fn deep_names_take_room_for_their_parts_alone() {
        // Each has some 2,000 parent folders: 4 MB if each were stored under its whole name.
        let deep = |number: u32| long(format!("{number}/{}f", "a/".repeat(2000)).as_bytes());
        let found = surveyed(&(0..200).map(deep).collect::<Vec<_>>()).unwrap();
        assert_eq!((found.files, found.directories, found.max_depth), (200, 200 * 2001, 2002));
        let longest = [b"a/".repeat(2047), b"f".to_vec()].concat();
        assert_eq!(surveyed(&[long(&longest)]).unwrap().directories, 2047);
        let longer = surveyed(&[long(&[b"aa", &longest[..]].concat())]).unwrap_err();
        assert!(longer.contains("longer than 4096 bytes") && longer.len() < 5000, "{longer}");
    }

    #[test]
    fn headers_without_end_are_not_taken_into_memory() {
        // A few megabytes of gzip can unpack to this.
        let head = entry(EntryType::GNULongName, b"././@LongLink", 1 << 40, b"");
        let first = entry(EntryType::Regular, b"first", 3 << 20, &[1; 3 << 20]);
        let endless = io::Cursor::new([first, head].concat()).chain(io::repeat(b'a'));
        let fault = survey(endless).unwrap_err().to_string();
        assert!(fault.contains("after entry 1, \"first\": an entry has headers of more than"), "{fault}");
    }

    #[test]
    fn sizes_beyond_64_bits_are_refused() {
        let sparse = |name: &[u8]| {
            let mut bytes = entry(EntryType::GNUSparse, name, 0, b"");
            let mut header = tar::Header::new_gnu();
            header.as_mut_bytes().copy_from_slice(&bytes[..512]);
            // A sparse file with only a hole: 2^63 bytes, as a binary number.
            let gnu = header.as_gnu_mut().unwrap();
            gnu.realsize = [0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
            gnu.sparse[0].offset = gnu.realsize;
            gnu.sparse[0].numbytes.copy_from_slice(b"00000000000\0");
            header.set_cksum();
            bytes[..512].copy_from_slice(header.as_bytes());
            bytes
        };
        assert_eq!(surveyed(&[sparse(b"one")]).unwrap().bytes, u64::MAX >> 1);
        let fault = surveyed(&[sparse(b"one"), sparse(b"two"), sparse(b"three")]).unwrap_err();
        assert!(fault.contains("more bytes than 64 bits"), "{fault}");
    }

    #[test]
    fn a_file_without_a_name_lies_nowhere() {
        assert_eq!(surveyed(&[entry(EntryType::Regular, b"./.", 0, b"")]).unwrap().max_depth, 0);
    }
}
