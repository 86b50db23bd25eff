//! Marks by which contents of disks are known: file systems, volumes, arrays, tables of partitions.
//!
//! Offsets are those of the formats themselves, and of libblkid's readers. A negative offset counts from the end.

/// Marks of one kind of contents.
#[derive(Debug)]
pub(super) struct Signature {
    pub name: &'static str,
    /// Offset and value of the magic number.
    pub magic: (i64, &'static [u8]),
    /// Offset and length of the bytes that differ with each mkfs: UUIDs, serial numbers.
    pub identity: &'static [(u64, usize)],
}

const fn known(name: &'static str, at: i64, magic: &'static [u8], identity: &'static [(u64, usize)]) -> Signature {
    Signature { name, magic: (at, magic), identity }
}

const fn mark(name: &'static str, at: i64, magic: &'static [u8]) -> Signature {
    known(name, at, magic, &[])
}

const EXT: &str = "an ext2, ext3 or ext4 file system";
const BTRFS: &str = "a Btrfs file system";
const F2FS: &str = "an F2FS file system";
const BCACHE: &str = "a bcachefs file system or a bcache device";
const LUKS: &str = "a LUKS container";
const LVM: &str = "a LVM volume";
const RAID: &str = "a member of a RAID array of md";
const SWAP: &str = "swap space";
const SLEEP: &str = "a memory image of a machine that sleeps";
const GPT: &str = "a GPT partition table";
const MINIX: &str = "a Minix file system";
const UFS: &str = "a UFS file system";
const OCFS2: &str = "an OCFS2 file system";
const HFS: &str = "an HFS or HFS+ file system";

/// The ones that [`super::contents::identity`] tells apart come first: of several the first counts.
pub(super) const SIGNATURES: &[Signature] = &[
    known(EXT, 1080, &[0x53, 0xef], &[(1128, 16)]),
    known("an XFS file system", 0, b"XFSB", &[(32, 16)]),
    known(BTRFS, 0x1_0040, b"_BHRfS_M", &[(0x1_0020, 16)]),
    known("a JFS file system", 0x8000, b"JFS1", &[(0x8088, 16)]),
    known("a ReiserFS file system", 0x1_0034, b"ReIsEr", &[(0x1_0054, 16)]),
    known(F2FS, 1024, &[0x10, 0x20, 0xf5, 0xf2], &[(1132, 16)]),
    known("a NILFS2 file system", 1030, &[0x34, 0x34], &[(1176, 16)]),
    known(BCACHE, 0x1018, &[0xc6, 0x85, 0x73, 0xf6], &[(0x1028, 32)]),
    known("an NTFS file system", 3, b"NTFS    ", &[(0x48, 8)]),
    known("an exFAT file system", 3, b"EXFAT   ", &[(0x64, 4)]),
    known(LUKS, 0, b"LUKS\xba\xbe", &[(168, 40)]),
    known(LVM, 536, b"LVM2", &[(544, 32)]),
    known(SWAP, 4086, b"SWAPSPACE2", &[(1036, 16)]),
    mark("a qcow2 image", 0, b"QFI\xfb"),
    // Only a kind that starts with its own sector, or copies, from here on.
    mark(BTRFS, 0x400_0040, b"_BHRfS_M"),
    mark(F2FS, 5120, &[0x10, 0x20, 0xf5, 0xf2]),
    mark("a ReiserFS file system", 0x2034, b"ReIsEr"),
    mark("a Reiser4 file system", 0x1_0000, b"ReIsEr4"),
    mark(LUKS, 0x4000, b"SKUL\xba\xbe"),
    mark(LUKS, 0x8000, b"SKUL\xba\xbe"),
    mark(LUKS, 0x1_0000, b"SKUL\xba\xbe"),
    mark(LVM, 24, b"LVM2"),
    mark(LVM, 1048, b"LVM2"),
    mark(LVM, 1560, b"LVM2"),
    mark(SWAP, 4086, b"SWAP-SPACE"),
    mark(SWAP, 8182, b"SWAPSPACE2"),
    mark(SWAP, 16_374, b"SWAPSPACE2"),
    mark(SWAP, 65_526, b"SWAPSPACE2"),
    mark(SLEEP, 4086, b"S1SUSPEND"),
    mark(SLEEP, 4086, b"S2SUSPEND"),
    mark(SLEEP, 4086, b"ULSUSPEND"),
    mark(SLEEP, 4086, b"LINHIB0001"),
    mark(RAID, 0, &[0xfc, 0x4e, 0x2b, 0xa9]),
    mark(RAID, 4096, &[0xfc, 0x4e, 0x2b, 0xa9]),
    mark("a member of an Intel RAID array", -1024, b"Intel Raid ISM Cfg Sig. "),
    mark("a member of a DDF RAID array", -512, &[0xde, 0x11, 0xde, 0x11]),
    mark("a member of an NVIDIA RAID array", -1024, b"NVIDIA"),
    mark("a DRBD device", -4036, &[0x83, 0x74, 0x02]),
    mark(GPT, 512, b"EFI PART"),
    mark(GPT, 4096, b"EFI PART"),
    mark("the copy of a GPT partition table", -512, b"EFI PART"),
    mark("the copy of a GPT partition table", -4096, b"EFI PART"),
    mark("an Apple partition table", 512, b"PM\0\0"),
    mark("a BSD disk label", 512, &[0x57, 0x45, 0x56, 0x82]),
    mark("a Sun disk label", 508, &[0xda, 0xbe]),
    mark("an SGI disk label", 0, &[0x0b, 0xe5, 0xa9, 0x41]),
    mark(HFS, 1024, b"H+\0\x04"),
    mark(HFS, 1024, b"HX\0\x05"),
    mark(HFS, 1024, b"BD"),
    mark("an APFS container", 32, b"NXSB"),
    mark(MINIX, 1040, &[0x7f, 0x13]),
    mark(MINIX, 1040, &[0x8f, 0x13]),
    mark(MINIX, 1040, &[0x68, 0x24]),
    mark(MINIX, 1040, &[0x78, 0x24]),
    mark(MINIX, 1048, &[0x5a, 0x4d]),
    mark(UFS, 9564, &[0x54, 0x19, 0x01, 0x00]),
    mark(UFS, 66_908, &[0x19, 0x01, 0x54, 0x19]),
    mark("an ISO 9660 image", 0x8001, b"CD001"),
    mark("a UDF file system", 0x8001, b"BEA01"),
    mark("a squashfs image", 0, b"hsqs"),
    mark("a cramfs image", 0, &[0x45, 0x3d, 0xcd, 0x28]),
    mark("a romfs image", 0, b"-rom1fs-"),
    mark("an EROFS image", 1024, &[0xe2, 0xe1, 0xf5, 0xe0]),
    mark("a GFS2 file system", 0x1_0000, &[0x01, 0x16, 0x19, 0x70]),
    mark(OCFS2, 1024, b"OCFSV2"),
    mark(OCFS2, 2048, b"OCFSV2"),
    mark(OCFS2, 4096, b"OCFSV2"),
    mark(OCFS2, 8192, b"OCFSV2"),
    mark("a VxFS file system", 1024, &[0xf5, 0xfc, 0x01, 0xa5]),
    mark("an HPFS file system", 0x2000, &[0x49, 0xe8, 0x95, 0xf9]),
    mark("a BeFS file system", 544, b"1SFB"),
    mark("a ReFS file system", 0, b"\0\0\0ReFS\0"),
    mark("a VMFS volume", 0x10_0000, &[0x0d, 0xd0, 0x01, 0xc0]),
    mark("a VMFS file system", 0x20_0000, &[0x5e, 0xf1, 0xab, 0x2f]),
    mark("a BitLocker volume", 3, b"-FVE-FS-"),
    mark("a Ceph BlueStore device", 0, b"bluestore block device"),
    mark("a Stratis pool", 516, b"!Stra0tis"),
    mark("a VDO volume", 0, b"dmvdo001"),
    mark("an Oracle ASM disk", 32, b"ORCLDISK"),
    mark("a dm-integrity device", 0, b"integrt\0"),
    mark("a dm-verity device", 0, b"verity\0\0"),
    mark("a dm-snapshot store", 0, b"SnAp"),
    mark("a zonefs file system", 0, b"SFOZ"),
    mark("a UBI volume", 0, b"UBI#"),
    // The serial numbers of FAT12 and FAT16, FAT32, and of a table of partitions.
    known("a partition table or a FAT file system", 510, &[0x55, 0xaa], &[(39, 4), (67, 4), (440, 4)]),
];

/// Places of marks that depend on a disk's size, or are many: offset and magic number, for a disk of `size` bytes.
pub(super) fn moving(size: u64) -> Vec<(&'static str, u64, &'static [u8])> {
    let mut marks: Vec<(&'static str, u64, &'static [u8])> = Vec::new();
    let md: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
    // Versions 0.90 (Linux: MD_NEW_SIZE_SECTORS) and 1.0 (8 KiB before the end, in units of 4 KiB).
    if size >= 128 << 10 {
        marks.push((RAID, (size & !0xffff) - 0x1_0000, md));
        marks.push((RAID, (((size >> 9) - 16) & !7) << 9, md));
        // The second superblock, in the last whole block of 4 KiB but one.
        marks.push(("a NILFS2 file system", (((size >> 12) - 1) << 12) + 6, &[0x34, 0x34]));
    }
    // Each label of 256 KiB ends with a ring of uberblocks of 1 KiB and more; two labels are at each end.
    let labels = [0, 0x4_0000].into_iter().chain((size >= 1 << 20).then(|| (size & !0x3_ffff) - 0x4_0000));
    for label in labels.filter(|label| label + 0x4_0000 <= size) {
        for uberblock in 0..128 {
            let at = label + 0x2_0000 + uberblock * 1024;
            marks.push(("a member of a ZFS pool", at, &[0x0c, 0xb1, 0xba, 0x00, 0, 0, 0, 0]));
            marks.push(("a member of a ZFS pool", at, &[0, 0, 0, 0, 0x00, 0xba, 0xb1, 0x0c]));
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_from_the_end_are_the_formats() {
        // 1 GiB and 10,000 bytes.
        let size = (1 << 30) + 10_240;
        let places = moving(size);
        let raid: Vec<u64> = places.iter().filter(|place| place.0 == RAID).map(|place| place.1).collect();
        assert_eq!(raid, [(1 << 30) - 65_536, (1 << 30) + 10_240 - 8192 - 2048]);
        assert!(raid[1].is_multiple_of(4096));
        assert!(moving(1000).iter().all(|(_, at, magic)| at + magic.len() as u64 <= 1000));
        assert!(places.iter().any(|place| place.1 == 0x2_0000 && place.0.contains("ZFS")));
    }

    #[test]
    fn every_kind_of_contents_has_a_sentence_of_its_own() {
        let mut names: Vec<&str> = SIGNATURES.iter().map(|signature| signature.name).collect();
        names.dedup();
        assert!(names.iter().all(|name| name.starts_with("a ") || name.starts_with("an ") || name.contains(' ')));
        names.sort_unstable();
        names.dedup();
        assert!(names.len() >= 50, "{}", names.len());
    }
}
