//! Reads a tar as GNU tar does, which unpacks it later: one entry after the other, with what extended headers say of it.
//!
//! What two programs read differently would be counted as one thing and unpacked as another, so nothing is guessed.

use std::io::{self, Read};

use tar::{GnuExtSparseHeader, GnuSparseHeader, Header};

/// Bytes of a header, and the unit of contents.
const BLOCK: usize = 512;

/// Maximum number of bytes of a header's extension, which is read into memory.
const MOST_EXTENSION: u64 = 1 << 20;

/// Sizes beyond are no sizes of files.
const MOST_SIZE: u64 = i64::MAX as u64;

/// An entry of a tar.
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    pub(crate) what: What,
}

/// What unpacking makes of an entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum What {
    File { size: u64 },
    Folder,
    SymbolicLink { target: Vec<u8> },
    HardLink { target: Vec<u8> },
    DeviceOrPipe,
}

/// Why there is no next entry.
pub(crate) enum Stop {
    /// The first header is none.
    NotATar,
    /// The source cannot be read, or what it says contradicts itself.
    Damaged(String),
    /// It is whole, and not unpacked here.
    Refused(Vec<u8>, &'static str),
    /// It has more entries than can be counted.
    TooMany,
}

impl Stop {
    fn damaged(cause: &str) -> Stop {
        Stop::Damaged(cause.to_owned())
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Damaged(error.to_string())
    }
}

/// The entries of a tar, in its order.
pub(crate) struct Entries<R> {
    reader: R,
    /// Bytes read so far.
    pub(crate) bytes: u64,
    /// Contents of the last entry that were not read yet, with their padding.
    left: u64,
}

/// What extended headers say of the next entry.
#[derive(Default)]
struct Extended {
    long_name: Option<Vec<u8>>,
    long_link: Option<Vec<u8>>,
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    /// Of a file with holes, whose entry has another name and less bytes.
    sparse_name: Option<Vec<u8>>,
    sparse_size: Option<u64>,
}

impl<R: Read> Entries<R> {
    pub(crate) fn of(reader: R) -> Entries<R> {
        Entries { reader, bytes: 0, left: 0 }
    }

    /// The next entry; `None` behind the last one.
    pub(crate) fn next(&mut self) -> Result<Option<Entry>, Stop> {
        let mut extended = Extended::default();
        let mut is_described = false;
        loop {
            let Some(header) = self.header()? else {
                let lacks = Stop::damaged("headers describe an entry that does not come");
                return if is_described { Err(lacks) } else { Ok(None) };
            };
            let held = size_field(&header)?;
            let kind = header.as_bytes()[156];
            match kind {
                b'L' => extended.long_name = Some(text(self.extension(held)?)),
                b'K' => extended.long_link = Some(text(self.extension(held)?)),
                b'x' | b'X' => extended.add(&self.extension(held)?)?,
                b'g' => {
                    let mut of_all = Extended::default();
                    of_all.add(&self.extension(held)?)?;
                    if of_all.says_something() {
                        let why = "it is a header that names or measures all entries alike";
                        return Err(Stop::Refused(header.path_bytes().into_owned(), why));
                    }
                    continue;
                }
                // A label of the whole archive, and names of an obsolete form, which are no files.
                b'V' | b'N' => self.skip(held.next_multiple_of(BLOCK as u64))?,
                _ => return self.entry(&header, held, extended).map(Some),
            }
            is_described |= !matches!(kind, b'V' | b'N');
        }
    }

    /// Reads what is behind the last entry: padding is part of the file too.
    pub(crate) fn rest(&mut self) -> Result<(), Stop> {
        self.bytes += io::copy(&mut self.reader, &mut io::sink())?;
        Ok(())
    }

    fn entry(&mut self, header: &Header, held: u64, extended: Extended) -> Result<Entry, Stop> {
        let kind = header.as_bytes()[156];
        let held = extended.size.unwrap_or(held);
        let name = [extended.sparse_name, extended.path, extended.long_name].into_iter().flatten().next();
        let name = name.unwrap_or_else(|| header.path_bytes().into_owned());
        let link = [extended.link, extended.long_link].into_iter().flatten().next();
        let target = || link.unwrap_or_else(|| header.link_name_bytes().unwrap_or_default().into_owned());
        // What is no file has no contents, whatever its size.
        let (what, held) = match kind {
            b'1' => (What::HardLink { target: target() }, 0),
            b'2' => (What::SymbolicLink { target: target() }, 0),
            b'3' | b'4' | b'6' => (What::DeviceOrPipe, 0),
            b'5' => (What::Folder, 0),
            b'D' => (What::Folder, held),
            b'M' => return Err(Stop::Refused(name, "it continues a file of another archive")),
            b'S' => (What::File { size: self.sparse(header, held)? }, held),
            // As tars were before there were folders in them.
            _ if name.ends_with(b"/") => (What::Folder, 0),
            _ => (What::File { size: extended.sparse_size.unwrap_or(held) }, held),
        };
        self.left = held.next_multiple_of(BLOCK as u64);
        Ok(Entry { name, what })
    }

    /// The next header; `None` at the end marker.
    fn header(&mut self) -> Result<Option<Header>, Stop> {
        self.skip(0)?;
        let (mut header, at) = (Header::new_old(), self.bytes);
        let bytes = header.as_mut_bytes();
        match self.read(bytes)? {
            0 if at == 0 => return Err(Stop::damaged("it is empty")),
            0 => return Err(Stop::damaged("it is cut off, its end marker is missing")),
            BLOCK => {}
            _ if at == 0 => return Err(Stop::NotATar),
            _ => return Err(Stop::damaged("it is cut off")),
        }
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let sum: u32 = bytes
            .iter()
            .enumerate()
            .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u32::from(*byte) })
            .sum();
        match header.cksum() {
            Ok(wanted) if wanted == sum => Ok(Some(header)),
            _ if at == 0 => Err(Stop::NotATar),
            // The bytes are not repeated: they may be private.
            _ => Err(Stop::damaged("what follows is no header of a tar")),
        }
    }

    /// The contents of an extended header.
    fn extension(&mut self, length: u64) -> Result<Vec<u8>, Stop> {
        if length > MOST_EXTENSION {
            return Err(Stop::Damaged(format!(
                "an entry has a header of more than {MOST_EXTENSION} bytes, and no tar needs such"
            )));
        }
        let mut contents = vec![0; length as usize];
        if self.read(&mut contents)? < contents.len() {
            return Err(Stop::damaged("it is cut off"));
        }
        self.skip(length.next_multiple_of(BLOCK as u64) - length)?;
        Ok(contents)
    }

    /// The size of a file with holes, of which the archive holds `held` bytes.
    fn sparse(&mut self, header: &Header, held: u64) -> Result<u64, Stop> {
        let wrong = || Stop::damaged("the map of a file with holes contradicts itself");
        let gnu = header.as_gnu().ok_or_else(wrong)?;
        let size = gnu.real_size().ok().filter(|size| *size <= MOST_SIZE).ok_or_else(wrong)?;
        let (mut end, mut sum) = (0_u64, 0_u64);
        let mut add = |pieces: &[GnuSparseHeader]| {
            for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
                let (offset, length) = (piece.offset().ok()?, piece.length().ok()?);
                let is_in_order = offset >= end;
                (end, sum) = (offset.checked_add(length)?, sum.checked_add(length)?);
                if !is_in_order || end > size || sum > held {
                    return None;
                }
            }
            Some(())
        };
        add(&gnu.sparse).ok_or_else(wrong)?;
        let mut goes_on = gnu.is_extended();
        while goes_on {
            let mut more = GnuExtSparseHeader::new();
            if self.read(more.as_mut_bytes())? < BLOCK {
                return Err(Stop::damaged("it is cut off"));
            }
            add(more.sparse()).ok_or_else(wrong)?;
            goes_on = more.is_extended();
        }
        if sum == held { Ok(size) } else { Err(wrong()) }
    }

    /// Reads until the buffer is full or the source is at its end.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut full = 0;
        while full < buffer.len() {
            match self.reader.read(&mut buffer[full..]) {
                Ok(0) => break,
                Ok(length) => full += length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.bytes += full as u64;
        Ok(full)
    }

    /// Leaves out what is left of the last entry, and as much more.
    fn skip(&mut self, more: u64) -> Result<(), Stop> {
        let wanted = std::mem::take(&mut self.left).saturating_add(more);
        let skipped = io::copy(&mut self.reader.by_ref().take(wanted), &mut io::sink())?;
        self.bytes += skipped;
        if skipped < wanted { Err(Stop::damaged("it is cut off")) } else { Ok(()) }
    }
}

impl Extended {
    /// Takes records of pax (`LENGTH KEY=VALUE` and a line feed each).
    fn add(&mut self, mut records: &[u8]) -> Result<(), Stop> {
        let wrong = || Stop::damaged("the records of an extended header contradict themselves");
        while !records.is_empty() {
            let (key, value, rest) = record(records).ok_or_else(wrong)?;
            let number = || {
                let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                number.filter(|number| *number <= MOST_SIZE).ok_or_else(wrong)
            };
            match key {
                b"path" => self.path = Some(value.to_vec()),
                b"linkpath" => self.link = Some(value.to_vec()),
                b"size" => self.size = Some(number()?),
                b"GNU.sparse.name" => self.sparse_name = Some(value.to_vec()),
                b"GNU.sparse.size" | b"GNU.sparse.realsize" => self.sparse_size = Some(number()?),
                _ => {}
            }
            records = rest;
        }
        Ok(())
    }

    /// Whether records were among them that change what is unpacked.
    fn says_something(&self) -> bool {
        let names = [&self.path, &self.link, &self.sparse_name];
        names.into_iter().any(Option::is_some) || self.size.is_some() || self.sparse_size.is_some()
    }
}

/// The first record's key and value, and the records behind it.
fn record(records: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = records.iter().position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(&records[..space]).ok()?.parse().ok()?;
    let line = records.get(space + 1..length)?.strip_suffix(b"\n")?;
    let equals = line.iter().position(|byte| *byte == b'=')?;
    Some((&line[..equals], &line[equals + 1..], &records[length..]))
}

/// A name as the extensions of GNU tar have it: it ends at a zero byte.
fn text(mut contents: Vec<u8>) -> Vec<u8> {
    let end = contents.iter().position(|byte| *byte == 0).unwrap_or(contents.len());
    contents.truncate(end);
    contents
}

/// The size in a header. One in binary has 12 bytes, of which the library reads the last 8.
fn size_field(header: &Header) -> Result<u64, Stop> {
    let field = &header.as_bytes()[124..136];
    let is_too_large = field[0] & 0x80 != 0 && (field[0] != 0x80 || field[1..4] != [0; 3]);
    let size = header.entry_size().ok().filter(|size| *size <= MOST_SIZE && !is_too_large);
    size.ok_or_else(|| Stop::damaged("an entry's size is no number of bytes"))
}
