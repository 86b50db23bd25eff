//! Reads a tar once and counts its contents. All tars are counted here, whatever their source.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;

use mountmark_model::{RealisedCorpus, shortened};

use crate::entries::{Entries, Entry, Stop, What};
use crate::places::{LONGEST_NAME, Places, components};

/// Maximum number of entries of a tar: what is counted stays in memory until the end.
const MOST_ENTRIES: u64 = 10_000_000;

const LINK_OF_ITS_NAME: &str = "a symbolic link of the same archive, which may lead anywhere, has its name";

/// Characters of a name that a sentence repeats.
const SHOWN: usize = 200;

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
    /// An entry that would leave the folder it is unpacked in, cannot be unpacked, or is not a file, folder or link.
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
/// Counted is what unpacking leaves: of a name that occurs twice the last one. Directories are counted whether they have
/// their own entry or are only implied by a file in them. A hard link is not a separate file: it counts among `others`,
/// its bytes once.
pub(crate) fn survey(reader: impl Read) -> Result<RealisedCorpus, Fault> {
    let mut entries = Entries::of(reader);
    let mut seen = Seen::default();
    let counted = (|| {
        while let Some(entry) = entries.next()? {
            seen.add(&entry)?;
        }
        entries.rest()
    })();
    match counted {
        Ok(()) => seen.sum(entries.bytes),
        Err(Stop::NotATar) => Err(Fault::NotATar),
        Err(Stop::Damaged(cause)) => Err(seen.damaged(&cause)),
        Err(Stop::Refused(entry, why)) => Err(Fault::Unsafe { entry: shown(&entry), why }),
        Err(Stop::TooMany) => Err(Fault::TooMany),
    }
}

/// A name for a sentence.
fn shown(name: &[u8]) -> String {
    shortened(&String::from_utf8_lossy(&name[..name.len().min(LONGEST_NAME)]), SHOWN)
}

/// What lies at a name and is no directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    File(u64),
    HardLink,
    SymbolicLink,
}

#[derive(Default)]
struct Seen {
    entries: u64,
    last: String,
    deepest: u32,
    places: Places,
    /// By a hash of place and name, as names would take far more memory.
    held: HashMap<u64, Held>,
    hash: RandomState,
    /// The first component of all names, as long as it is the same.
    top: Option<Vec<u8>>,
    /// Names are under several top folders, or a file is beside the top folder.
    many_tops: bool,
}

impl Seen {
    fn damaged(&self, cause: &str) -> Fault {
        Fault::Damaged { entries: self.entries, last: self.last.clone(), cause: cause.to_owned() }
    }

    fn add(&mut self, entry: &Entry) -> Result<(), Stop> {
        let refused = |why| Stop::Refused(entry.name.clone(), why);
        let parts = components(&entry.name).map_err(refused)?;
        if self.entries == MOST_ENTRIES {
            return Err(Stop::TooMany);
        }
        self.entries += 1;
        self.last = shown(&entry.name);
        let Some((name, above)) = parts.split_last() else {
            // "./" is the folder in which the archive is unpacked, not a directory in it.
            return if entry.what == What::Folder { Ok(()) } else { Err(refused("it has no name")) };
        };
        match &self.top {
            None => self.top = Some(parts[0].to_vec()),
            Some(top) => self.many_tops |= top != parts[0],
        }
        self.many_tops |= above.is_empty() && entry.what != What::Folder;
        let place = self.folder(above).map_err(refused)?;
        if entry.what == What::Folder {
            return self.add_folder(place, name).map_err(refused);
        }
        if self.places.find(place, name).is_some() {
            return Err(refused("a folder of the same archive has its name"));
        }
        if self.held.get(&self.key(place, name)) == Some(&Held::SymbolicLink) {
            return Err(refused(LINK_OF_ITS_NAME));
        }
        let held = self.no_folder(&entry.what).map_err(refused)?;
        if let Held::File(_) = held {
            self.deepest = self.deepest.max(parts.len() as u32);
        }
        self.held.insert(self.key(place, name), held);
        Ok(())
    }

    fn key(&self, place: usize, name: &[u8]) -> u64 {
        self.hash.hash_one((place, name))
    }

    /// The place of a folder, with all above it.
    fn folder(&mut self, parts: &[&[u8]]) -> Result<usize, &'static str> {
        let mut place = Places::ROOT;
        for part in parts {
            match self.held.get(&self.key(place, part)) {
                None => {}
                Some(Held::SymbolicLink) => {
                    return Err("it lies behind a symbolic link of the same archive, which may lead anywhere");
                }
                Some(_) => return Err("it lies in a file of the same archive"),
            }
            place = self.places.below(place, part);
        }
        Ok(place)
    }

    fn add_folder(&mut self, place: usize, name: &[u8]) -> Result<(), &'static str> {
        // A file of its name makes room for it.
        if self.held.remove(&self.key(place, name)) == Some(Held::SymbolicLink) {
            return Err(LINK_OF_ITS_NAME);
        }
        self.places.below(place, name);
        Ok(())
    }

    /// What is kept of an entry that is no folder.
    fn no_folder(&self, what: &What) -> Result<Held, &'static str> {
        match what {
            What::HardLink { target } => {
                let parts = components(target).map_err(|_| "it is a hard link to a file outside the archive")?;
                let is_held = parts.split_last().is_some_and(|(name, above)| {
                    let place = above.iter().try_fold(Places::ROOT, |place, part| self.places.find(place, part));
                    place.is_some_and(|place| self.held.contains_key(&self.key(place, name)))
                });
                if is_held {
                    Ok(Held::HardLink)
                } else {
                    Err("it is a hard link to what is no file before it in the archive")
                }
            }
            What::SymbolicLink { target } if target.is_empty() => Err("it is a symbolic link to nothing"),
            What::SymbolicLink { target } if target.len() >= LONGEST_NAME => {
                Err("it is a symbolic link to a name of more than 4095 bytes, the most that Linux takes")
            }
            What::SymbolicLink { .. } => Ok(Held::SymbolicLink),
            // Packing a user's folder omits them, too.
            What::DeviceOrPipe => {
                Err("it is a device or a pipe, which may stand for one of the machine that unpacks it")
            }
            What::File { size } => Ok(Held::File(*size)),
            What::Folder => unreachable!("told apart before"),
        }
    }

    fn sum(self, tar_bytes: u64) -> Result<RealisedCorpus, Fault> {
        let size = |held: &Held| if let Held::File(size) = held { Some(*size) } else { None };
        let mut sizes: Vec<u64> = self.held.values().filter_map(size).collect();
        sizes.sort_unstable();
        let files = sizes.len();
        if files == 0 {
            return Err(Fault::Empty);
        }
        let sum = sizes.iter().try_fold(0_u64, |sum, size| sum.checked_add(*size));
        let bytes = sum.ok_or_else(|| self.damaged("its files have more bytes than 64 bits can count"))?;
        let (low, high) = (sizes[(files - 1) / 2], sizes[files / 2]);
        Ok(RealisedCorpus {
            name: String::new(),
            files: files as u64,
            directories: self.places.count() as u64,
            others: (self.held.len() - files) as u64,
            bytes,
            tar_bytes,
            size_min: sizes[0],
            size_median: low + (high - low) / 2,
            size_mean: bytes.saturating_add(files as u64 / 2) / files as u64,
            size_max: sizes[files - 1],
            max_depth: self.deepest.saturating_sub(u32::from(!self.many_tops)),
            sha256: String::new(),
            seed: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use tar::EntryType;

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
        assert!(longer.contains("longer than 4096 bytes") && longer.len() < 400, "{longer}");
    }

    #[test]
    fn headers_without_end_are_not_taken_into_memory() {
        // A few megabytes of gzip can unpack to this.
        let head = entry(EntryType::GNULongName, b"././@LongLink", 1 << 40, b"");
        let first = entry(EntryType::Regular, b"first", 3 << 20, &[1; 3 << 20]);
        let endless = io::Cursor::new([first, head].concat()).chain(io::repeat(b'a'));
        let fault = survey(endless).unwrap_err().to_string();
        assert!(fault.contains("after entry 1, \"first\": an entry has a header of more than"), "{fault}");
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
}
