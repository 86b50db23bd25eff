//! How large the disks of a plan must be.
//!
//! All cells of a plan have disks of one size: what file systems do depends on it (journals, groups, how full they
//! get). The figures are estimates on the safe side; nobody measures here what a file system makes of them.

use mountmark_model::{Bytes, FileSystem, RealisedCorpus, Scale, Suite};

/// Disks are multiples of this: a guest's kernel takes memory as a medium in parts of no less.
const UNIT: u64 = 128 << 20;

/// What a file system needs beyond the smallest device that it can be made on.
const OVERHEAD: u64 = 32 << 20;

/// A file or directory rounds up to a block and has an entry, an inode, a tree's leaf.
const PER_FILE: u64 = 4096;

/// The least size on which `suite` fits on `filesystem`.
pub(crate) fn least(suite: &Suite, scale: Scale, corpora: &[RealisedCorpus], filesystem: &FileSystem) -> u64 {
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
    // What the smallest device holds is not counted as room: on such a device hardly any is left.
    with_slack(contents).saturating_add(filesystem.min_size.0).saturating_add(OVERHEAD)
}

/// The size of the second disk.
pub(crate) fn second(suite: &Suite, scale: Scale, corpora: &[RealisedCorpus]) -> u64 {
    let copies = share(corpora).saturating_mul(1 + suite.source_copies);
    round_up(with_slack(copies.saturating_add(scale.apply(suite.source_room.0, 0))).saturating_add(2 * OVERHEAD))
}

/// `bytes` as a disk can have them.
pub(crate) fn round_up(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(UNIT).unwrap_or(u64::MAX / UNIT * UNIT)
}

/// One copy of the largest corpus, packed or unpacked, whichever is more.
fn share(corpora: &[RealisedCorpus]) -> u64 {
    let size = |corpus: &RealisedCorpus| {
        let count = corpus.files.saturating_add(corpus.directories).saturating_add(corpus.others);
        corpus.tar_bytes.max(corpus.bytes.saturating_add(count.saturating_mul(PER_FILE)))
    };
    corpora.iter().map(size).max().unwrap_or(0)
}

/// A quarter more: metadata, reserved blocks, and what a file system keeps free to stay quick.
fn with_slack(bytes: u64) -> u64 {
    bytes.saturating_add(bytes / 4)
}
