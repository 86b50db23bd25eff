//! The tar: the same recording gives the same bytes.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use tar::{Builder, EntryType, Header};

use super::entries::{Entries, Entry, Source};
use super::shape::Shaped;
use crate::refusal::{Refusal, Result};

const LEVEL: i32 = 3;

pub fn write(entries: &Entries, out: impl Write) -> Result<()> {
    let failed = |error: io::Error| Refusal::Input { what: "the pack".to_owned(), error };
    let compressed = zstd::Encoder::new(out, LEVEL).map_err(failed)?;
    let mut tar = Builder::new(compressed);
    for (place, entry) in entries {
        add(&mut tar, Path::new(OsStr::from_bytes(place)), entry).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Refusal::Changed(entry.path.clone()),
            _ => Refusal::Input { what: entry.path.display().to_string(), error },
        })?;
    }
    let compressed = tar.into_inner().map_err(failed)?;
    compressed.finish().and_then(|mut out| out.flush()).map_err(failed)
}

fn add<W: Write>(tar: &mut Builder<W>, place: &Path, entry: &Entry) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_mode(entry.mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(u64::try_from(entry.modified).unwrap_or(0));
    header.set_size(entry.size());
    header.set_entry_type(EntryType::Regular);
    match &entry.source {
        Source::Folder => {
            header.set_entry_type(EntryType::Directory);
            tar.append_data(&mut header, place, io::empty())
        }
        Source::Link(target) => {
            header.set_entry_type(EntryType::Symlink);
            tar.append_link(&mut header, place, target)
        }
        Source::Zeroes(size) => tar.append_data(&mut header, place, io::repeat(0).take(*size)),
        Source::Contents(file, size) => tar.append_data(&mut header, place, Exactly::of(File::open(file)?, *size)),
        Source::Shape(file, size, seed) => {
            let shaped = Shaped::new(Exactly::of(File::open(file)?, *size), *seed);
            tar.append_data(&mut header, place, shaped)
        }
    }
}

/// So many bytes; an error if there are fewer, since the header has said how many follow.
struct Exactly {
    file: File,
    left: u64,
}

impl Exactly {
    fn of(file: File, left: u64) -> Exactly {
        Exactly { file, left }
    }
}

impl Read for Exactly {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let wanted = into.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.file.read(&mut into[..wanted])?;
        if read == 0 && wanted > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read as u64;
        Ok(read)
    }
}
