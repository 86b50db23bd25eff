//! Minimal fake kernels, with only the parts that the code reads.

use std::fs;
use std::io::Write;
use std::path::Path;

pub(super) fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// A 64-bit x86 ELF file with one section of this name and contents, and with QEMU's note if `pvh`.
pub(super) fn elf(section: &str, contents: &[u8], pvh: bool) -> Vec<u8> {
    let names = [b"\0", section.as_bytes(), b"\0.shstrtab\0"].concat();
    let mut note = Vec::new();
    for word in [4u32, 8, 18] {
        note.extend(word.to_le_bytes());
    }
    note.extend(b"Xen\0");
    note.extend([0; 8]);
    let parts = u16::from(pvh);
    let start = 64 + 56 * u64::from(parts);
    let (note_at, contents_at) = (start, start + note.len() as u64);
    let names_at = contents_at + contents.len() as u64;
    let sections_at = names_at + names.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    for half in [2u16, 62] {
        file.extend(half.to_le_bytes());
    }
    file.extend(1u32.to_le_bytes());
    for long in [0, 64, sections_at] {
        file.extend(u64::to_le_bytes(long));
    }
    file.extend(0u32.to_le_bytes());
    for half in [64u16, 56, parts, 64, 3, 2] {
        file.extend(half.to_le_bytes());
    }
    if pvh {
        file.extend(4u32.to_le_bytes());
        file.extend(4u32.to_le_bytes());
        for long in [note_at, 0, 0, note.len() as u64, note.len() as u64, 4] {
            file.extend(u64::to_le_bytes(long));
        }
    }
    file.extend(&note);
    file.extend(contents);
    file.extend(&names);
    let sections =
        [(0, 0, 0, 0), (1, 1, contents_at, contents.len()), (section.len() as u32 + 2, 3, names_at, names.len())];
    for (name, kind, at, length) in sections {
        file.extend(u32::to_le_bytes(name));
        file.extend(u32::to_le_bytes(kind));
        for long in [0, 0, at, length as u64] {
            file.extend(u64::to_le_bytes(long));
        }
        file.extend([0; 8]);
        for long in [1u64, 0] {
            file.extend(long.to_le_bytes());
        }
    }
    file
}

pub(super) fn ikconfig(config: &str) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(b"IKCFG_ST".to_vec(), flate2::Compression::default());
    packed.write_all(config.as_bytes()).unwrap();
    [packed.finish().unwrap(), b"IKCFG_ED".to_vec()].concat()
}

/// A vmlinux with its first message and `more`.
pub(super) fn vmlinux(release: &str, more: &[u8], pvh: bool) -> Vec<u8> {
    // A driver's text and a format string come before the message.
    let text =
        format!("Linux version %s\0Linux version 9 or newer\0\0Linux version {release} (me@here) (gcc 12) #1\n\0");
    elf(".rodata", &[text.as_bytes(), more].concat(), pvh)
}

/// A bzImage around an ELF image, as made by arch/x86/boot.
pub(super) fn bzimage(release: &str, payload: &[u8]) -> Vec<u8> {
    let mut file = vec![0; 1024];
    file[0x1f1] = 1;
    file[0x202..0x206].copy_from_slice(b"HdrS");
    file[0x206..0x208].copy_from_slice(&0x20fu16.to_le_bytes());
    file[0x20e..0x210].copy_from_slice(&0x100u16.to_le_bytes());
    file[0x236] = 1;
    file[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    let text = format!("{release} (me@here) #1 SMP\0");
    file[0x300..0x300 + text.len()].copy_from_slice(text.as_bytes());
    file.extend(payload);
    file
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

pub(super) fn module(release: &str) -> Vec<u8> {
    elf(".modinfo", format!("license=GPL\0depends=\0vermagic={release} SMP mod_unload \0").as_bytes(), false)
}

/// Installs modules: xfs and nbd as files, ext4 built in.
pub(super) fn install(folder: &Path, release: &str) {
    write(&folder.join("kernel/fs/xfs/xfs.ko"), &module(release));
    write(&folder.join("kernel/drivers/block/nbd.ko"), &module(release));
    write(&folder.join("modules.builtin"), b"kernel/fs/ext4/ext4.ko\nkernel/block/mq-deadline.ko\n");
}

/// A build tree with the same modules.
pub(super) fn build(folder: &Path, release: &str) {
    write(&folder.join("vmlinux"), &vmlinux(release, b"", true));
    write(&folder.join("arch/x86/boot/bzImage"), &bzimage(release, &gzip(&vmlinux(release, b"", true))));
    write(&folder.join(".config"), b"# Linux/x86 6.12.3 Kernel Configuration\nCONFIG_XFS_FS=m\nCONFIG_DEVMEM=y\n");
    write(&folder.join("include/config/kernel.release"), format!("{release}\n").as_bytes());
    write(&folder.join("Makefile"), b"");
    write(&folder.join("modules.order"), b"fs/xfs/xfs.o\nkernel/drivers/block/nbd.ko\n");
    write(&folder.join("modules.builtin"), b"kernel/fs/ext4/ext4.ko\n");
    // The source's own folder kernel/, and a module of an earlier configuration.
    write(&folder.join("kernel/fork.c"), b"");
    for name in ["fs/xfs/xfs.ko", "drivers/block/nbd.ko", "fs/jfs/jfs.ko"] {
        write(&folder.join(name), &module(release));
    }
}
