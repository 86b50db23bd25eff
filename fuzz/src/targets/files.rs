//! Files in binary formats: archives, kernels, modules.

use std::hint::black_box;
use std::io::{Read, Write};

use mountmark_lab::parsers::modinfo;

/// A tar, packed or not. Reads at most 16 MiB of the unpacked data: the length of an archive is the user's choice.
pub(super) fn tar(data: &[u8]) {
    let found = match data {
        [0x1f, 0x8b, ..] => mountmark_corpus::count(flate2::bufread::MultiGzDecoder::new(data).take(16 << 20)),
        [0xfd, b'7', b'z', ..] => {
            mountmark_corpus::count(liblzma::read::XzDecoder::new_multi_decoder(data).take(16 << 20))
        }
        _ => mountmark_corpus::count(data),
    };
    black_box(found.map_err(|error| format!("{error:#}")).is_ok());
}

/// A vmlinux or vmlinuz.
pub(super) fn kernel(data: &[u8]) {
    black_box(mountmark_lab::parsers::kernel(data).map_err(|error| format!("{error:#}")).is_ok());
}

/// A module of a kernel.
pub(super) fn module(data: &[u8]) {
    black_box(modinfo(data).map(|info| format!("{info:?}")).map_err(|error| format!("{error:#}")).is_ok());
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    out.write_all(bytes).and_then(|()| out.finish()).expect("a Vec takes every write")
}

/// Archives with every kind of entry.
pub(super) fn tars() -> Vec<(String, Vec<u8>)> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut add = |kind: tar::EntryType, name: &str, data: &[u8], link: Option<&str>| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        if let Some(link) = link {
            header.set_link_name(link).expect("a short link");
        }
        builder.append_data(&mut header, name, data).expect("a Vec takes every write");
    };
    add(tar::EntryType::Directory, "top/", b"", None);
    add(tar::EntryType::Regular, "top/file", b"contents", None);
    add(tar::EntryType::Regular, &format!("top/{}file", "long/".repeat(40)), b"x", None);
    add(tar::EntryType::Symlink, "top/link", b"", Some("file"));
    add(tar::EntryType::Link, "top/hard", b"", Some("top/file"));
    add(tar::EntryType::XHeader, "pax", b"30 path=top/other name in pax\n19 size=0000000001\n", None);
    add(tar::EntryType::Regular, "top/pax", b"x", None);
    let gnu = builder.into_inner().expect("a Vec takes every write");
    let xz = {
        let mut out = liblzma::write::XzEncoder::new(Vec::new(), 6);
        out.write_all(&gnu).and_then(|()| out.finish()).expect("a Vec takes every write")
    };
    vec![("gnu.tar".into(), gnu.clone()), ("gnu.tar.gz".into(), gzip(&gnu)), ("gnu.tar.xz".into(), xz), sparse()]
}

/// A sparse file as GNU tar writes it (its manual, "Storing Sparse Files").
fn sparse() -> (String, Vec<u8>) {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::GNUSparse);
    header.set_path("sparse").expect("a short name");
    header.set_size(512);
    let gnu = header.as_gnu_mut().expect("a GNU header");
    gnu.realsize.copy_from_slice(b"00000010000\0");
    gnu.sparse[0].offset.copy_from_slice(b"00000000000\0");
    gnu.sparse[0].numbytes.copy_from_slice(b"00000001000\0");
    // A hole up to the end.
    gnu.sparse[1].offset.copy_from_slice(b"00000010000\0");
    gnu.sparse[1].numbytes.copy_from_slice(b"00000000000\0");
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend([7; 512]);
    bytes.extend([0; 1024]);
    ("sparse.tar".into(), bytes)
}

/// A minimal vmlinux: a head, a loaded segment, the first message, the mark of a configuration.
fn elf() -> Vec<u8> {
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(64, 0);
    elf[16..18].copy_from_slice(&2_u16.to_le_bytes());
    elf[18..20].copy_from_slice(&62_u16.to_le_bytes());
    elf[20..24].copy_from_slice(&1_u32.to_le_bytes());
    elf[32..40].copy_from_slice(&64_u64.to_le_bytes());
    elf[52..58].copy_from_slice(&[64, 0, 56, 0, 1, 0]);
    elf.extend([1_u32.to_le_bytes(), 5_u32.to_le_bytes()].concat());
    for value in [0, 0, 0, 64, 64, 4096_u64] {
        elf.extend(value.to_le_bytes());
    }
    elf.extend(b"Linux version 6.12.1-amd64 (who@where) #1 SMP\0IKCFG_ST");
    elf.extend(gzip(b"# Linux/x86 6.12.1 Kernel Configuration\nCONFIG_EXT4_FS=y\nCONFIG_XFS_FS=m\n"));
    elf.extend(b"IKCFG_ED");
    elf
}

/// Small kernels, packed and not (boot protocol: Documentation/arch/x86/boot.rst).
pub(super) fn kernels() -> Vec<(String, Vec<u8>)> {
    let image = |payload: Vec<u8>| {
        let mut bytes = vec![0; 1024];
        bytes[0x1f1] = 1;
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        bytes[0x206..0x208].copy_from_slice(&0x20f_u16.to_le_bytes());
        bytes[0x236] = 1;
        bytes[0x20e..0x210].copy_from_slice(&0x60_u16.to_le_bytes());
        bytes[0x260..0x26e].copy_from_slice(b"6.12.1-amd64 #");
        bytes[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        bytes.extend(payload);
        bytes
    };
    let xz = {
        let mut out = liblzma::write::XzEncoder::new(Vec::new(), 6);
        out.write_all(&elf()).and_then(|()| out.finish()).expect("a Vec takes every write")
    };
    let zstd = zstd::stream::encode_all(&elf()[..], 3).expect("a Vec takes every write");
    // The kernel's build appends the unpacked length.
    let zstd = [zstd, (elf().len() as u32).to_le_bytes().to_vec()].concat();
    let mut all: Vec<(String, Vec<u8>)> = vec![("vmlinux".into(), elf())];
    for (name, payload) in [("gzip", gzip(&elf())), ("xz", xz), ("zstd", zstd)] {
        all.push((name.into(), image(payload)));
    }
    all
}

/// A module: an ELF file with a name table and `.modinfo`.
pub(super) fn modules() -> Vec<(String, Vec<u8>)> {
    let names = b"\0.modinfo\0.shstrtab\0";
    let info = b"license=GPL\0depends=crc32c,libcrc32c\0softdep=pre: crc32c xxhash64 post: x\0alias=crypto-crc32c\0";
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(64, 0);
    bytes[16..18].copy_from_slice(&1_u16.to_le_bytes());
    bytes[18..20].copy_from_slice(&62_u16.to_le_bytes());
    bytes[20..24].copy_from_slice(&1_u32.to_le_bytes());
    let (names_at, info_at) = (64, 64 + names.len());
    let table = (info_at + info.len()).next_multiple_of(8);
    bytes[40..48].copy_from_slice(&(table as u64).to_le_bytes());
    bytes[52..54].copy_from_slice(&64_u16.to_le_bytes());
    bytes[58..64].copy_from_slice(&[64, 0, 3, 0, 2, 0]);
    bytes.extend(names);
    bytes.extend(info);
    bytes.resize(table + 64, 0);
    for (name, kind, at, size) in [(1_u32, 1_u32, info_at, info.len()), (10, 3, names_at, names.len())] {
        let mut section = [name.to_le_bytes(), kind.to_le_bytes()].concat();
        for value in [0, 0, at as u64, size as u64, 0, 1, 0] {
            section.extend(value.to_le_bytes());
        }
        bytes.extend(section);
    }
    vec![("module.ko".into(), bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(bytes: &[u8]) -> String {
        mountmark_lab::parsers::kernel(bytes).unwrap()
    }

    #[test]
    fn the_first_inputs_are_what_they_seem() {
        assert!(tars().iter().all(|(_, bytes)| matches!(bytes[..2], [0x1f, 0x8b] | [0xfd, b'7'])
            || mountmark_corpus::count(&bytes[..]).is_ok()));
        assert!(kernels().iter().all(|(_, bytes)| said(bytes).contains("6.12.1-amd64")));
        assert!(modules().iter().all(|(_, bytes)| format!("{:?}", modinfo(bytes)).contains("xxhash64")));
    }
}
