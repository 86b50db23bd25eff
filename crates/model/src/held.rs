//! What a file system holds before the tasks, beside what they make themselves.

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// Files that take a share of the file system under test before the tasks, in a folder of their own.
///
/// Their sizes are lognormal, with the median and the mean of the suite's corpus; where that mean is below
/// [`Fill::LEAST_MEAN`], both are enlarged by one factor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// Used over used and available space in percent, as df tells it.
    pub percent: u32,
    /// Half of the files are not larger.
    pub size_median: Bytes,
    /// Mean size before the largest are cut.
    pub size_mean: Bytes,
    /// No file is larger.
    pub size_max: Bytes,
    /// Whether contents are text-like (compress about fourfold) or random bytes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text: bool,
}

impl Fill {
    /// The folder of the files, where tasks run.
    pub const FOLDER: &str = ".mountmark-fill";
    /// Most that can be asked for, in percent: tasks need the rest.
    pub const MOST: u32 = 99;
    /// File systems with a fixed number of inodes have one for 16 KiB (mke2fs.conf, `inode_ratio`): files with a smaller mean would
    /// end at these, long before the space does.
    pub const LEAST_MEAN: u64 = 64 << 10;
    /// Median and mean where a suite has no corpus: desktop machines, ln(bytes) normal with 9.48 and 2.46 (Agrawal, Bolosky,
    /// Douceur, Lorch, "A Five-Year Study of File-System Metadata", FAST 2007), the mean of sizes up to [`Fill::USUAL_MAX`].
    pub const USUAL: [u64; 2] = [13_095, 150_000];
    /// The largest size where a suite has no corpus.
    pub const USUAL_MAX: u64 = 64 << 20;

    /// Files whose sizes have this median, mean and maximum, in bytes.
    pub fn with_sizes(percent: u32, [median, mean, max]: [u64; 3], text: bool) -> Fill {
        let (median, mean) = (median.max(1), mean.max(1));
        let factor = (Fill::LEAST_MEAN as f64 / mean as f64).max(1.0);
        let enlarged = |size: u64| Bytes((size as f64 * factor) as u64);
        Fill {
            percent,
            size_median: enlarged(median),
            size_mean: enlarged(mean.max(median)),
            size_max: enlarged(max.max(mean)),
            text,
        }
    }
}

/// A history of file operations that is played on the file system before the tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Age {
    /// As `--age` takes it: `seed:1000`. Empty in a guest.
    pub text: String,
    /// Whether the tree that it ends with is written once, in the order of its names, in the place of the history: the same
    /// files on a file system that was not in use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copy: bool,
    /// Commits after the first tree.
    pub commits: u32,
    /// Operations on files.
    pub operations: u64,
    /// Files at the end.
    pub files: u64,
    /// Bytes in them.
    pub bytes: Bytes,
    /// The most space that its files take at any time, in whole blocks and with a block of bookkeeping each.
    pub room: Bytes,
    /// Length of the recorded list in bytes.
    pub length: Bytes,
    /// SHA-256 of the list, in hexadecimal. Empty in a guest.
    pub sha256: String,
    /// Path of the list on the machine that runs the lab. Empty in a guest.
    pub path: String,
}

impl Age {
    /// The folder of the files, where tasks run.
    pub const FOLDER: &str = "aged";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_are_enlarged_and_large_ones_stay() {
        let small = Fill::with_sizes(80, [4 << 10, 16 << 10, 1 << 20], true);
        assert_eq!(
            [small.size_median, small.size_mean, small.size_max].map(|size| size.0),
            [16 << 10, 64 << 10, 4 << 20]
        );
        let large = Fill::with_sizes(80, [100_000, 200_000, 300_000], false);
        assert_eq!(
            [large.size_median, large.size_mean, large.size_max].map(|size| size.0),
            [100_000, 200_000, 300_000]
        );
        let empty = Fill::with_sizes(80, [0, 0, 0], false);
        assert!(empty.size_median.0 > 0 && empty.size_mean >= empty.size_median && empty.size_max >= empty.size_mean);
    }
}
