//! What a profiled guest may have made: the plugin's recording, the kernel's list of symbols, its disk, and profiles in a
//! store.

use std::io::Read;
use std::sync::LazyLock;

use mountmark_lab::parsers;

use super::text;

/// As many functions as a kernel with its modules has.
static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| (0..100_000).map(|number| format!("f{number}")).collect());

/// Paths take memory by their depth, which is bounded, so that the most for one input is that of some tasks.
const MOST_RECORDING: usize = 1 << 16;

/// Lines of the plugin.
pub(super) fn recording(data: &[u8]) {
    let data = &data[..data.len().min(MOST_RECORDING)];
    let Some(text) = text(data) else { return };
    for shift in [0, 3] {
        let _ = parsers::recording(text, &NAMES, shift).map_err(|error| format!("{error:#}"));
    }
}

/// `/proc/kallsyms`.
pub(super) fn symbols(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Ok((names, table)) = parsers::symbols(text) {
        let functions: Vec<u32> =
            table.chunks(16).map(|entry| u32::from_le_bytes(entry[8..12].try_into().unwrap())).collect();
        assert!(table.len().is_multiple_of(16) && functions.iter().all(|function| (*function as usize) < names.len()));
    }
}

/// A cell's profiles in a store: the compressed bytes, and JSON that is compressed here.
pub(super) fn profiles(data: &[u8]) {
    let packed = zstd::stream::encode_all(data, 1).expect("memory takes every write");
    for bytes in [data, &packed] {
        let _ = mountmark_record::parsers::profiles(bytes).map_err(|error| error.to_string());
    }
}

/// What a guest left on its disk.
pub(super) fn disk(data: &[u8]) {
    assert!(parsers::disk(data) <= 16);
}

/// Longer inputs are not changed by the tests.
const LONGEST_DISK: u64 = 1 << 18;

/// The beginnings of real file systems.
pub(super) fn disks() -> Vec<(String, Vec<u8>)> {
    let images: [(&str, &[u8]); 3] = [
        ("ext3", include_bytes!("../../../crates/lab/src/profile/parts/data/ext3.img.zst")),
        ("ext4", include_bytes!("../../../crates/lab/src/profile/parts/data/ext4.img.zst")),
        ("xfs", include_bytes!("../../../crates/lab/src/profile/parts/data/xfs.img.zst")),
    ];
    let beginning = |packed: &[u8]| {
        let mut out = Vec::new();
        let reader = zstd::stream::Decoder::new(packed).expect("packed by zstd");
        reader.take(LONGEST_DISK).read_to_end(&mut out).expect("packed by zstd");
        out
    };
    images.map(|(name, packed)| (name.to_owned(), beginning(packed))).into()
}
