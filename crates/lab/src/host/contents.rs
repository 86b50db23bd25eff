//! Recognises the contents of a disk image: empty, or which file system.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// Marks of a file system.
struct Signature {
    name: &'static str,
    /// Offset and value of the magic number.
    magic: (u64, &'static [u8]),
    /// Offset and length of the bytes that differ with each mkfs: UUIDs, serial numbers.
    identity: &'static [(u64, usize)],
}

const fn signature(
    name: &'static str,
    offset: u64,
    bytes: &'static [u8],
    identity: &'static [(u64, usize)],
) -> Signature {
    Signature { name, magic: (offset, bytes), identity }
}

/// Offsets are those of libblkid's superblock readers.
const SIGNATURES: &[Signature] = &[
    signature("an ext2, ext3 or ext4 file system", 1080, &[0x53, 0xef], &[(1128, 16)]),
    signature("an XFS file system", 0, b"XFSB", &[(32, 16)]),
    signature("a Btrfs file system", 0x1_0040, b"_BHRfS_M", &[(0x1_0020, 16)]),
    signature("a JFS file system", 0x8000, b"JFS1", &[(0x8088, 16)]),
    signature("a ReiserFS file system", 0x1_0034, b"ReIsEr", &[(0x1_0054, 16)]),
    signature("an F2FS file system", 1024, &[0x10, 0x20, 0xf5, 0xf2], &[(1132, 16)]),
    signature("a NILFS2 file system", 1030, &[0x34, 0x34], &[(1176, 16)]),
    signature("a bcachefs file system", 0x1018, &[0xc6, 0x85, 0x73, 0xf6], &[(0x1028, 32)]),
    signature("an NTFS file system", 3, b"NTFS    ", &[(0x48, 8)]),
    signature("an exFAT file system", 3, b"EXFAT   ", &[(0x64, 4)]),
    signature("a LUKS container", 0, b"LUKS\xba\xbe", &[(168, 40)]),
    signature("a LVM volume", 536, b"LVM2", &[(544, 32)]),
    signature("swap space", 4086, b"SWAPSPACE2", &[(1036, 16)]),
    signature("a qcow2 image", 0, b"QFI\xfb", &[]),
    // The serial numbers of FAT12 and FAT16, FAT32, and of a table of partitions.
    signature("a partition table or a FAT file system", 510, &[0x55, 0xaa], &[(39, 4), (67, 4), (440, 4)]),
];

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
    SIGNATURES.iter().find(|signature| {
        let (offset, magic) = signature.magic;
        bytes(file, offset, magic.len()).is_some_and(|bytes| bytes == magic)
    })
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
                command.env("PATH", super::super::tools::PATH).args(arguments).arg(file.path());
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
