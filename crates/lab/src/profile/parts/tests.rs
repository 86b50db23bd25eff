//! Images of real file systems, and what their own tools say about each block (`data/make.sh`).

use std::collections::BTreeMap;
use std::io::Read;

use super::*;

/// An image without its zeros.
struct Image {
    size: u64,
    blocks: BTreeMap<u64, [u8; 512]>,
}

impl Image {
    fn unpack(packed: &[u8]) -> Image {
        let mut reader = zstd::stream::Decoder::new(packed).unwrap();
        let (mut size, mut blocks) = (0, BTreeMap::new());
        let mut block = [0; 512];
        while reader.read_exact(&mut block).is_ok() {
            if block != [0; 512] {
                blocks.insert(size / 512, block);
            }
            size += 512;
        }
        Image { size, blocks }
    }
}

impl Medium for Image {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> bool {
        for (at, byte) in (offset..).zip(into.iter_mut()) {
            *byte = self.blocks.get(&(at / 512)).map_or(0, |block| block[(at % 512) as usize]);
        }
        offset.checked_add(into.len() as u64).is_some_and(|end| end <= self.size)
    }
}

const IMAGES: [(&str, &[u8], &str); 5] = [
    ("ext2", include_bytes!("data/ext2.img.zst"), include_str!("data/ext2.txt")),
    ("ext3", include_bytes!("data/ext3.img.zst"), include_str!("data/ext3.txt")),
    ("ext4", include_bytes!("data/ext4.img.zst"), include_str!("data/ext4.txt")),
    ("xfs", include_bytes!("data/xfs.img.zst"), include_str!("data/xfs.txt")),
    ("btrfs", include_bytes!("data/btrfs.img.zst"), include_str!("data/btrfs.txt")),
];

#[test]
fn every_block_is_what_the_file_system_s_own_tool_says() {
    for (name, packed, expected) in IMAGES {
        let image = Image::unpack(packed);
        let mut lines = expected.lines();
        let size: u64 = lines.next().and_then(|line| line.strip_prefix("block ")?.parse().ok()).unwrap();
        let mut seen = BTreeSet::new();
        for line in lines {
            let fields: Vec<&str> = line.split(' ').collect();
            let (first, count): (u64, u64) = (fields[0].parse().unwrap(), fields[1].parse().unwrap());
            let sectors = (first..first + count).map(|block| block * size / SECTOR).collect();
            for (sector, found) in parts(&image, &sectors) {
                assert_eq!(found.name(), fields[2], "block {} of {name}", sector * SECTOR / size);
                seen.insert(found);
            }
        }
        assert!(seen.len() >= 5, "{name} has few kinds of parts: {seen:?}");
    }
}

#[test]
fn headers_of_a_group_are_told_apart_within_a_block() {
    let image = Image::unpack(IMAGES[3].1);
    let found: Vec<Part> = parts(&image, &(0..4).collect()).into_values().collect();
    assert_eq!(found, [Part::Superblock, Part::Groups, Part::Groups, Part::Groups]);
}

#[test]
fn of_an_unknown_disk_the_sixteenth_is_told() {
    let empty = Image { size: 1 << 20, blocks: BTreeMap::new() };
    let found = parts(&empty, &[0, 127, 128, 2047, 1 << 40].into());
    let of = |number| Part::Sixteenth(number);
    assert_eq!(found.into_values().collect::<Vec<_>>(), [of(0), of(0), of(1), of(15), of(15)]);
}

#[test]
fn damaged_disks_lead_nowhere_and_end() {
    for (name, packed, _) in IMAGES {
        let whole = Image::unpack(packed);
        let sectors: BTreeSet<u64> = (0..whole.size / SECTOR).step_by(509).collect();
        // Each of the first sectors with contents, filled with what is no address, or the same address again and again.
        for (at, filled) in whole.blocks.keys().take(60).zip([[0xff; 512], [1; 512]].iter().cycle()) {
            let mut blocks = whole.blocks.clone();
            blocks.insert(*at, *filled);
            assert_eq!(parts(&Image { size: whole.size, blocks }, &sectors).len(), sectors.len(), "{name}");
        }
        // Cut short, as what a stranger sends.
        let cut = Image { size: whole.size / 3, blocks: whole.blocks };
        assert_eq!(parts(&cut, &sectors).len(), sectors.len());
    }
}
