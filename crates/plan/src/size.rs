//! Computes the sizes of a plan's disks.
//!
//! All cells of a plan have disks of one size, because the behaviour of file systems depends on it (journals, groups,
//! fill level). The sizes are safe estimates, not measurements of file systems.

use mountmark_model::{Bytes, Configuration, FileSystem, Lab, RealisedCorpus, Scale, Suite};

use crate::catalogue::Catalogue;
use crate::{Options, fill};

/// Disks are multiples of this: the smallest unit in which a guest's kernel takes memory as a medium.
const UNIT: u64 = 128 << 20;

/// Space that a file system needs beyond the smallest device on which it can be made.
const OVERHEAD: u64 = 32 << 20;

/// The largest journal that a file system makes on the disks of a lab.
const JOURNAL: u64 = 1 << 30;

/// Per file or directory: rounding up to a block, an entry, an inode, a tree's leaf.
const PER_FILE: u64 = 4096;

/// The minimum size at which `suite` fits on `filesystem`, beside what fills it.
pub(crate) fn least(suite: &Suite, options: &Options, corpora: &[RealisedCorpus], filesystem: &FileSystem) -> u64 {
    let scale = options.scale;
    let first = (suite.room, suite.corpus_copies);
    let mut peaks: Vec<(Bytes, u64)> =
        std::iter::once(first).chain(suite.peaks.iter().map(|peak| (peak.room, peak.corpus_copies))).collect();
    if filesystem.keeps_deleted.is_some() {
        peaks.push((suite.written.unwrap_or(suite.room), suite.corpus_written));
    }
    let share = share(corpora);
    let contents = peaks
        .into_iter()
        .map(|(room, copies)| scale.apply(room.0, 0).saturating_add(share.saturating_mul(copies)))
        .max()
        .unwrap_or(0);
    // The capacity of the smallest device is not counted: hardly any is left on such a device.
    let contents = contents.saturating_add(options.age.as_ref().map_or(0, |age| age.room.0));
    fill::beside(with_slack(contents).saturating_add(OVERHEAD), options.fill.unwrap_or(0))
        .saturating_add(filesystem.min_size.0)
}

/// The minimum size of a configuration's disks, with what its layers take of them.
pub(crate) fn least_of(
    suite: &Suite,
    options: &Options,
    corpora: &[RealisedCorpus],
    configuration: &Configuration,
) -> u64 {
    let room = configuration.base().layers.iter().fold(0, |room: u64, layer| room.saturating_add(layer.room.0));
    least(suite, options, corpora, &configuration.filesystem).saturating_add(room)
}

/// A size on which every file system of the catalogue can run the suite, whether in the plan or not: a configuration's
/// figures must not depend on the others. Only a file system that frees no space, which needs several times as much,
/// enlarges the disks of its plans. `capacity` is the drive's.
pub(crate) fn usual(
    catalogue: &Catalogue,
    kept: &[Configuration],
    suite: &Suite,
    options: &Options,
    capacity: Option<u64>,
    corpora: &[RealisedCorpus],
) -> u64 {
    let usual = catalogue.list::<FileSystem>().filter(|filesystem| filesystem.keeps_deleted.is_none());
    let usual = usual.map(|filesystem| least(suite, options, corpora, filesystem));
    let needed = usual.chain(kept.iter().map(|one| least_of(suite, options, corpora, one))).max();
    let roomy = roomy(catalogue, suite, options.lab, capacity);
    round_up(needed.unwrap_or(0).max(roomy).max(partition(suite, options.scale)))
}

/// A size on which every file system of the catalogue is fast. 0 where it would take this machine's room: in the labs
/// without a guest, and where the disk is a file below a loop device, which is written whole. It is no larger than the
/// source's partition, the drive, or what some file system allows.
fn roomy(catalogue: &Catalogue, suite: &Suite, lab: Lab, capacity: Option<u64>) -> u64 {
    if suite.on_loop || !lab.capabilities().guest {
        return 0;
    }
    let all = || catalogue.list::<FileSystem>();
    let roomy = all().filter_map(|filesystem| filesystem.roomy_size).max().map_or(0, |size| size.0);
    let bounds = all().filter_map(|filesystem| filesystem.max_size).chain(suite.disk_size).map(|size| size.0);
    bounds.chain(capacity).fold(roomy, u64::min) / UNIT * UNIT
}

/// The source's partition, 0 if the suite names none.
pub(crate) fn partition(suite: &Suite, scale: Scale) -> u64 {
    suite.disk_size.map_or(0, |size| scale.apply(size.0, 0))
}

/// Most bytes that the fill and the tasks write to a disk of `size` bytes, if they cannot fill it. A file system may take other room
/// for each file, so what is removed counts too.
pub(crate) fn written(suite: &Suite, options: &Options, corpora: &[RealisedCorpus], size: u64) -> Option<Bytes> {
    /// A file system's own tables, as part of the disk: ext2 has 256 bytes for each 16 KiB, and bitmaps.
    const TABLES: u64 = 32;
    // A file over which a loop device lies is written whole.
    let room = suite.written.filter(|_| !suite.on_loop)?;
    let contents = options.scale.apply(room.0, 0).saturating_add(share(corpora).saturating_mul(suite.corpus_written));
    let filled = size / 100 * u64::from(options.fill.unwrap_or(0));
    // What a history writes again and again may lie anywhere.
    let contents = if options.age.is_some() { size } else { contents };
    let written = with_slack(contents).saturating_add(size / TABLES).saturating_add(JOURNAL).saturating_add(filled);
    (written < size).then_some(Bytes(written))
}

pub(crate) fn second(suite: &Suite, scale: Scale, corpora: &[RealisedCorpus]) -> u64 {
    let copies = share(corpora).saturating_mul(1 + suite.source_copies);
    round_up(with_slack(copies.saturating_add(scale.apply(suite.source_room.0, 0))).saturating_add(2 * OVERHEAD))
}

/// `bytes` rounded up to a possible size of a disk.
pub(crate) fn round_up(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(UNIT).unwrap_or(u64::MAX / UNIT * UNIT)
}

/// One copy of the largest corpus, packed or unpacked, whichever is larger.
fn share(corpora: &[RealisedCorpus]) -> u64 {
    let size = |corpus: &RealisedCorpus| {
        let count = corpus.files.saturating_add(corpus.directories).saturating_add(corpus.others);
        corpus.tar_bytes.max(corpus.bytes.saturating_add(count.saturating_mul(PER_FILE)))
    };
    corpora.iter().map(size).max().unwrap_or(0)
}

/// A quarter more: metadata, reserved blocks, and space that a file system keeps free to stay fast.
fn with_slack(bytes: u64) -> u64 {
    bytes.saturating_add(bytes / 4)
}
