//! Reads a tar once and says what is in it. The only place that counts, whoever made the tar.

use std::collections::HashSet;
use std::io::{self, Read};

use mountmark_model::RealisedCorpus;
use tar::EntryType;

/// Why a tar is of no use, without the place it came from, which the caller knows.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The first header is none.
    NotATar(io::Error),
    /// It breaks off or is spoilt after so many entries, the last of which is named.
    Damaged { entries: u64, last: String, cause: String },
    /// Whole, but without a regular file.
    Empty,
    /// A name that would leave the folder it is unpacked in.
    Unsafe { entry: String, why: &'static str },
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::NotATar(cause) => write!(f, "this is no tar archive ({cause})"),
            Fault::Damaged { entries: 0, cause, .. } => write!(f, "the archive is damaged at its first entry: {cause}"),
            Fault::Damaged { entries, last, cause } => {
                write!(f, "the archive is damaged after entry {entries}, \"{last}\": {cause}")
            }
            Fault::Empty => write!(f, "there is no regular file in it, so nothing can be measured with it"),
            Fault::Unsafe { entry, why } => write!(f, "the entry \"{entry}\" is refused: {why}"),
        }
    }
}

/// Reads `reader` to its very end and counts. `name`, `sha256` and `seed` are left for the caller.
///
/// Directories are counted whether they have an entry of their own or are only implied by a file in them. A hard link
/// is no file of its own: it counts among `others`, its bytes once. Names that occur twice count twice.
pub(crate) fn survey(reader: impl Read) -> Result<RealisedCorpus, Fault> {
    let mut reader = Ended { reader, ended: false, failed: false, bytes: 0 };
    let mut seen = Seen::default();
    if let Err(stop) = count(&mut reader, &mut seen) {
        return Err(match stop {
            Stop::Refused(fault) => fault,
            // A stream that cannot be read on was perhaps a tar; what is read and makes no sense never was one.
            Stop::Unreadable(cause) if seen.entries == 0 && !reader.failed => Fault::NotATar(cause),
            Stop::Unreadable(cause) => seen.damaged(&cause.to_string()),
        });
    }
    if reader.ended {
        let empty = reader.bytes == 0;
        return Err(seen.damaged(if empty { "it is empty" } else { "it is cut off, its end marker is missing" }));
    }
    // What pads the archive after its end marker belongs to the file too.
    io::copy(&mut reader, &mut io::sink()).map_err(|cause| seen.damaged(&cause.to_string()))?;
    seen.sum(reader.bytes)
}

enum Stop {
    Refused(Fault),
    Unreadable(io::Error),
}

fn count(reader: impl Read, seen: &mut Seen) -> Result<(), Stop> {
    let mut archive = tar::Archive::new(reader);
    for entry in archive.entries().map_err(Stop::Unreadable)? {
        let entry = entry.map_err(Stop::Unreadable)?;
        let link = entry.link_name_bytes();
        seen.add(&entry.path_bytes(), link.as_deref(), entry.header().entry_type(), entry.size())
            .map_err(Stop::Refused)?;
    }
    Ok(())
}

/// Counts, and remembers whether the reader was read to its end: the library takes an archive without an end marker
/// for a whole one, but it is what a broken download looks like.
struct Ended<R> {
    reader: R,
    ended: bool,
    failed: bool,
    bytes: u64,
}

impl<R: Read> Read for Ended<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer).inspect_err(|_| self.failed = true)?;
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
    directories: HashSet<Vec<u8>>,
    links: HashSet<Vec<u8>>,
    /// The first component of every name, while it is one and the same.
    top: Option<Vec<u8>>,
    /// Names lie under more than one top folder, or a file lies beside it.
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
        let shown = String::from_utf8_lossy(path).into_owned();
        let refused = |why| Fault::Unsafe { entry: shown.clone(), why };
        let parts = components(path).map_err(refused)?;
        if kind == EntryType::Link {
            components(link.unwrap_or_default())
                .map_err(|_| refused("it is a hard link to a file outside the archive"))?;
        }
        let joined = parts.join(&b'/');
        for (at, _) in joined.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            if self.links.contains(&joined[..at]) {
                return Err(refused("it lies behind a symbolic link of the same archive, which may lead anywhere"));
            }
            if !self.directories.contains(&joined[..at]) {
                self.directories.insert(joined[..at].to_vec());
            }
        }
        self.entries += 1;
        self.last = shown;
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
                // "./" is where the archive is unpacked, not a directory in it.
                if !joined.is_empty() {
                    self.directories.insert(joined);
                }
            }
            _ => {
                self.others += 1;
                if kind == EntryType::Symlink {
                    self.links.insert(joined);
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
        let bytes: u64 = self.sizes.iter().sum();
        let (low, high) = (self.sizes[(files - 1) / 2], self.sizes[files / 2]);
        Ok(RealisedCorpus {
            name: String::new(),
            files: files as u64,
            directories: self.directories.len() as u64,
            others: self.others,
            bytes,
            tar_bytes,
            size_min: self.sizes[0],
            size_median: low + (high - low) / 2,
            size_mean: (bytes + files as u64 / 2) / files as u64,
            size_max: self.sizes[files - 1],
            max_depth: self.deepest - u32::from(!self.many_tops),
            sha256: String::new(),
            seed: None,
        })
    }
}

/// The parts of a name that stays where it is unpacked, without the `.` that means nothing.
fn components(path: &[u8]) -> Result<Vec<&[u8]>, &'static str> {
    if path.starts_with(b"/") {
        return Err("its name is absolute, and unpacking must not leave the file system under test");
    }
    if path.contains(&0) {
        return Err("its name has a zero byte in it");
    }
    let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".").collect();
    if parts.contains(&&b".."[..]) {
        return Err("its name goes up with \"..\", and unpacking must not leave the file system under test");
    }
    Ok(parts)
}
