//! Recognises the contents of a disk image: empty, or which file system.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use super::signatures::{self, SIGNATURES, Signature};

/// The offset of the first byte that is not zero; holes are not read.
pub fn first_data(file: &File) -> io::Result<Option<u64>> {
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    loop {
        at = match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(at)) {
            Ok(at) => at,
            // Only holes from here on.
            Err(rustix::io::Errno::NXIO) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let read = file.read_at(&mut buffer, at)?;
        if read == 0 {
            return Ok(None);
        }
        if let Some(offset) = buffer[..read].iter().position(|byte| *byte != 0) {
            return Ok(Some(at + offset as u64));
        }
        at += read as u64;
    }
}

/// A name for the contents, for messages.
pub fn recognise(file: &File) -> Option<&'static str> {
    find(file).map(|signature| signature.name)
}

/// The kind of contents and their identity: another mkfs changes it, mounting and writing do not. `None` if it is not
/// recognised.
pub fn identity(file: &File) -> Option<String> {
    // A file description of its own, since a loop device takes its read-ahead from its file's.
    let file = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random);
    let signature = find(&file)?;
    let mut text = signature.name.to_owned();
    for (offset, length) in signature.identity {
        text += &format!(" {}", crate::cache::hex(&bytes(&file, *offset, *length)?));
    }
    Some(text)
}

fn find(file: &File) -> Option<&'static Signature> {
    let end = length(file);
    SIGNATURES.iter().find(|signature| is_at(file, place(signature.magic.0, end), signature.magic.1))
}

/// Everything that is recognised: its name and the offset of its mark. Nothing is read twice.
///
/// # Errors
/// A disk that cannot be read.
pub fn all(file: &File) -> io::Result<Vec<(&'static str, u64)>> {
    let end = length(file);
    let fixed = SIGNATURES.iter().map(|known| (known.name, place(known.magic.0, end), known.magic.1));
    let marks = fixed.chain(signatures::moving(end)).filter(|(_, at, magic)| at + magic.len() as u64 <= end);
    let mut found = Vec::new();
    let mut page = (u64::MAX, Vec::new());
    for (name, at, magic) in marks {
        let start = at & !(PAGE - 1);
        if page.0 != start {
            let mut bytes = vec![0; (2 * PAGE).min(end - start) as usize];
            file.read_exact_at(&mut bytes, start)?;
            page = (start, bytes);
        }
        if page.1[(at - start) as usize..].starts_with(magic) && !found.contains(&(name, at)) {
            found.push((name, at));
        }
    }
    Ok(found)
}

/// The unit in which [`all`] reads.
const PAGE: u64 = 4096;

/// Bytes of a file or a device.
fn length(file: &File) -> u64 {
    let mut file = file;
    let length = file.metadata().map_or(0, |data| data.len());
    // A device has no length of its own.
    if length > 0 { length } else { file.seek(SeekFrom::End(0)).unwrap_or(0) }
}

/// An offset, which counts from the end if it is negative.
fn place(at: i64, end: u64) -> u64 {
    u64::try_from(at).unwrap_or_else(|_| end.saturating_sub(at.unsigned_abs()))
}

fn is_at(file: &File, offset: u64, magic: &[u8]) -> bool {
    bytes(file, offset, magic.len()).is_some_and(|bytes| bytes == magic)
}

fn bytes(file: &File, offset: u64, length: usize) -> Option<Vec<u8>> {
    let mut buffer = vec![0; length];
    file.read_exact_at(&mut buffer, offset).ok()?;
    Some(buffer)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn data_behind_holes_is_found() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(first_data(&file).unwrap(), None);
        file.set_len(8 << 20).unwrap();
        file.write_all_at(&[0; 4096], 1 << 20).unwrap();
        assert_eq!(first_data(&file).unwrap(), None);
        file.write_all_at(b"x", (6 << 20) + 5).unwrap();
        assert_eq!(first_data(&file).unwrap(), Some((6 << 20) + 5));
        assert_eq!((recognise(&file), identity(&file)), (None, None));
    }

    /// Bytes as printf has them.
    fn unescaped(text: &str) -> Vec<u8> {
        let mut parts = text.split('\\');
        let mut bytes = parts.next().unwrap().as_bytes().to_vec();
        for part in parts {
            bytes.push(u8::from_str_radix(&part[..3], 8).unwrap());
            bytes.extend(part[3..].bytes());
        }
        bytes
    }

    /// By the definitions of the formats, with which guests try the whole refusal.
    #[test]
    fn every_kind_of_contents_is_recognised() {
        let table = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/danger/signatures.toml");
        let table: toml::Table = std::fs::read_to_string(table).unwrap().parse().unwrap();
        let kinds = table["signatures"].as_array().unwrap();
        assert!(kinds.len() >= 60);
        for kind in kinds {
            let [id, bytes, words] = [0, 2, 3].map(|at| kind[at].as_str().unwrap());
            let file = tempfile::tempfile().unwrap();
            file.set_len(4 << 20).unwrap();
            file.write_all_at(&unescaped(bytes), kind[1].as_integer().unwrap() as u64).unwrap();
            let all = all(&file).unwrap();
            assert!(all.iter().any(|(name, _)| name.contains(words)), "{id}: {all:?}");
        }
    }

    /// Each program makes a file system twice; both must be recognised and differ.
    #[test]
    fn a_file_system_made_anew_is_another_one() {
        let makers: [(&str, &[&str], &str); 7] = [
            ("mke2fs", &["-q", "-F", "-t", "ext4"], "an ext2"),
            ("mkfs.xfs", &["-q", "-f"], "an XFS"),
            ("mkfs.btrfs", &["-q", "-f"], "a Btrfs"),
            ("mkfs.f2fs", &["-q", "-f"], "an F2FS"),
            ("mkfs.jfs", &["-q"], "a JFS"),
            ("mkfs.vfat", &[], "a partition table or a FAT"),
            ("mkswap", &["-q"], "swap space"),
        ];
        for (program, arguments, name) in makers {
            let file = tempfile::NamedTempFile::new().unwrap();
            file.as_file().set_len(512 << 20).unwrap();
            let make = || {
                let mut command = Command::new(program);
                command.env("PATH", mountmark_job::PATH).args(arguments).arg(file.path());
                let made = command.output().ok()?;
                assert!(made.status.success(), "{program}: {}", String::from_utf8_lossy(&made.stderr));
                Some(identity(file.as_file()).unwrap())
            };
            let Some(first) = make() else {
                eprintln!("skipped: {program} is not on this machine");
                continue;
            };
            // FAT takes its serial number from the clock.
            std::thread::sleep(std::time::Duration::from_millis(if program == "mkfs.vfat" { 1100 } else { 0 }));
            assert!(first.starts_with(name), "{first}");
            assert_eq!(identity(file.as_file()).unwrap(), first, "reading changes nothing");
            assert_ne!(make().unwrap(), first, "{program}");
        }
    }
}
