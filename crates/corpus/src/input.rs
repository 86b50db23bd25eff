//! The user's own files: an archive, unpacked while it is read, or a folder to be packed.

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};
use walkdir::WalkDir;

use crate::ustar::{self, Kind};

/// How an archive is compressed, detected by its first bytes, since names are less reliable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Xz,
    Zstd,
}

/// First bytes of common files that are not tars, with the message for each.
const FOREIGN: &[(&[u8], &str)] = &[
    (b"BZh", "bzip2"),
    (b"PK\x03\x04", "zip"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"Rar!", "RAR"),
    (b"\x04\x22\x4d\x18", "LZ4"),
    (b"LZIP", "lzip"),
    (b"!<arch>\n", "ar"),
    (b"\xed\xab\xee\xdb", "RPM"),
    (b"070701", "cpio"),
];

/// A user's archive with a known format.
pub(crate) struct Archive {
    path: PathBuf,
    file: File,
    packing: Packing,
    metadata: Metadata,
}

impl Archive {
    /// Detects the format by the first bytes.
    pub(crate) fn open(path: &Path) -> Result<Archive> {
        Archive::read(mountmark_input::open(path)?, path)
    }

    /// A file without a name, from its beginning.
    pub(crate) fn of_file(file: File) -> Result<Archive> {
        Archive::read(file, Path::new(""))
    }

    fn read(file: File, path: &Path) -> Result<Archive> {
        let metadata = file.metadata()?;
        let mut start = Vec::new();
        (&file).take(16).read_to_end(&mut start)?;
        ensure!(!start.is_empty(), "the file is empty");
        let packing = if start.starts_with(&[0x1f, 0x8b]) {
            Packing::Gzip
        } else if start.starts_with(b"\xfd7zXZ\0") {
            Packing::Xz
        } else if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Packing::Zstd
        } else if let Some((_, kind)) = FOREIGN.iter().find(|(magic, _)| start.starts_with(magic)) {
            bail!(
                "this is {kind}, which is not read: unpack it and name the folder, or pack it as tar, tar.gz, tar.xz or tar.zst"
            );
        } else {
            Packing::Plain
        };
        Ok(Archive { path: path.to_owned(), file, packing, metadata })
    }

    /// Bytes of the plain tar, if known before unpacking.
    pub(crate) fn tar_bytes(&self) -> Option<u64> {
        (self.packing == Packing::Plain).then_some(self.metadata.len())
    }

    /// Changes when the file is replaced or written to.
    pub(crate) fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        add(&mut hash, self.path.as_os_str().as_bytes(), &self.metadata);
        hex(&hash.finalize())
    }

    /// A reader of the plain tar.
    pub(crate) fn unpacked(&self) -> Result<Box<dyn Read + Send>> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        Ok(match self.packing {
            Packing::Plain => Box::new(file),
            // Files packed in parallel, or concatenated, have several members.
            Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(1 << 18, file))),
            Packing::Xz => Box::new(liblzma::read::XzDecoder::new_multi_decoder(file)),
            Packing::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(file)?;
                // For files from `zstd --ultra --long=31`; the window takes up to 2 GiB, but only if the file needs it.
                decoder.window_log_max(31)?;
                Box::new(decoder)
            }
        })
    }
}

/// A user's folder, walked once.
pub(crate) struct Folder {
    /// Each with its name in the tar.
    items: Vec<(Vec<u8>, Item)>,
    /// Sockets, pipes and devices, which are omitted.
    pub(crate) skipped: Vec<PathBuf>,
}

/// What is packed from a path.
pub(crate) struct Item {
    pub(crate) path: PathBuf,
    /// Target of a symbolic link.
    pub(crate) target: Option<Vec<u8>>,
    pub(crate) metadata: Metadata,
}

impl Folder {
    /// Walks `root` in bytewise order of names, independent of the locale, without following links. Omits `except`, the
    /// cache: a corpus that contains itself would grow with every run.
    pub(crate) fn walk(root: &Path, except: &Path) -> Result<Folder> {
        let root = root.canonicalize()?;
        let top = root.file_name().map_or(&b"corpus"[..], OsStrExt::as_bytes);
        let mut folder = Folder { items: Vec::new(), skipped: Vec::new() };
        let walk = WalkDir::new(&root).sort_by_file_name().into_iter();
        for found in walk.filter_entry(|found| found.path() != except) {
            let found = found.map_err(|error| {
                let at = error.path().unwrap_or(&root).display().to_string();
                let cause = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                anyhow::anyhow!("cannot read {at}: {cause}")
            })?;
            let path = found.path().to_owned();
            let metadata = found.metadata().with_context(|| format!("cannot read {}", path.display()))?;
            let mut name = top.to_vec();
            let inside = path.strip_prefix(&root).unwrap_or(&path).as_os_str().as_bytes();
            if !inside.is_empty() {
                name.push(b'/');
                name.extend(inside);
            }
            let kind = metadata.file_type();
            let target = if kind.is_symlink() {
                let target = path.read_link().with_context(|| format!("cannot read the link {}", path.display()))?;
                Some(target.as_os_str().as_bytes().to_vec())
            } else if kind.is_file() || kind.is_dir() {
                None
            } else {
                folder.skipped.push(path);
                continue;
            };
            folder.items.push((name, Item { path, target, metadata }));
        }
        Ok(folder)
    }

    /// Size of the tar that [`Folder::pack`] writes, in bytes.
    pub(crate) fn tar_bytes(&self) -> u64 {
        let items = self.items.iter().map(|(name, item)| {
            let size = item.size();
            item.header(name, item.metadata.mtime()).len() as u64 + size + ustar::padding(size) as u64
        });
        items.sum::<u64>() + ustar::END.len() as u64
    }

    /// Changes when anything in the folder does, as far as names, sizes, times and inodes show.
    pub(crate) fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for (_, item) in &self.items {
            add(&mut hash, item.path.as_os_str().as_bytes(), &item.metadata);
            let target = item.target.as_deref().unwrap_or_default();
            hash.update((target.len() as u64).to_le_bytes());
            hash.update(target);
        }
        hex(&hash.finalize())
    }

    /// Writes the folder as a tar under its own name. Owners become 0, times are cut to seconds, hard links become
    /// separate files; modes are kept.
    pub(crate) fn pack(&self, out: &mut impl Write) -> Result<()> {
        for (name, item) in &self.items {
            item.pack(name, item.metadata.mtime(), "the folder", out)?;
        }
        out.write_all(&ustar::END)?;
        Ok(())
    }
}

impl Item {
    /// Bytes of a file, and 0 of all else.
    pub(crate) fn size(&self) -> u64 {
        if self.target.is_none() && self.metadata.is_file() { self.metadata.len() } else { 0 }
    }

    /// Writes it under a name, as if last changed at `time`. If a file changes meanwhile, the user is to leave `what`
    /// alone.
    pub(crate) fn pack(&self, name: &[u8], time: i64, what: &str, out: &mut impl Write) -> Result<()> {
        out.write_all(&self.header(name, time))?;
        let size = self.size();
        if size == 0 {
            return Ok(());
        }
        let failed = || format!("cannot read {}", self.path.display());
        let mut file = File::open(&self.path).with_context(failed)?;
        let copied = copy(&mut (&mut file).take(size), out).with_context(failed)?;
        let now = file.metadata().with_context(failed)?;
        let same = now.len() == size && copied == size && now.mtime_nsec() == self.metadata.mtime_nsec();
        ensure!(
            same && now.mtime() == self.metadata.mtime(),
            "{} changed while it was read: leave {what} alone and start again",
            self.path.display()
        );
        out.write_all(&ustar::END[..ustar::padding(size)])?;
        Ok(())
    }

    fn header(&self, name: &[u8], time: i64) -> Vec<u8> {
        let kind = match &self.target {
            Some(target) => Kind::Link { target },
            None if self.metadata.is_dir() => Kind::Directory,
            None => Kind::File { size: self.metadata.len() },
        };
        ustar::header(name, kind, self.metadata.mode(), time)
    }
}

/// Like `io::copy`, with a buffer size that suits a pipe.
pub(crate) fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<u64> {
    let mut buffer = vec![0; 1 << 18];
    let mut copied = 0;
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(copied),
            Ok(length) => {
                to.write_all(&buffer[..length])?;
                copied += length as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Adds a name and the properties that identify its file's version. These include the change time: a program can reset
/// a file's modification time, but not that.
pub(crate) fn add(hash: &mut Sha256, path: &[u8], metadata: &Metadata) {
    hash.update((path.len() as u64).to_le_bytes());
    hash.update(path);
    for value in [metadata.dev(), metadata.ino(), metadata.len(), u64::from(metadata.mode())] {
        hash.update(value.to_le_bytes());
    }
    for value in [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()] {
        hash.update(value.to_le_bytes());
    }
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
