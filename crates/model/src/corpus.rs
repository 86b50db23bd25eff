//! Corpora: the files that a suite works on.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// One file of `catalog/corpora/`: how to make a tree from a seed.
///
/// Unknown fields are refused by [`CorpusKind`], to which serde hands all that is not named here: refusing them here too
/// would refuse the kind's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Corpus {
    /// The name in `--corpus`, the file's own name without `.toml`.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// Where the figures come from.
    pub sources: Vec<String>,
    /// What is made.
    #[serde(flatten)]
    pub kind: CorpusKind,
}

/// The kinds of trees that can be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CorpusKind {
    /// A given number of files and directories, sizes from one distribution, scaled to a total.
    Tree {
        /// Files at scale 1.
        files: u64,
        /// Directories at scale 1.
        directories: u64,
        /// Bytes in files at scale 1; sizes are fitted to it.
        total: Bytes,
        /// The deepest directory.
        max_depth: u32,
        /// Sizes before they are fitted.
        sizes: Distribution,
        /// Shares of file-name extensions, in per cent; what is left has none.
        #[serde(default)]
        extensions: Vec<Extension>,
        /// Whether contents are text-like (compress about fourfold) or random bytes.
        #[serde(default)]
        text: bool,
    },
    /// The Impressions model: sizes, directories and depths from distributions fitted to desktop machines.
    Impressions {
        /// Files at scale 1.
        files: u64,
        /// mu and sigma of the lognormal body, natural logarithm of bytes.
        body: [f64; 2],
        /// Probability of the body; the rest is the tail.
        body_share: f64,
        /// Shape and least value in bytes of the Pareto tail.
        tail: [f64; 2],
        /// Largest file: the tail's mean is infinite without it.
        max_file: Bytes,
        /// Degree and offset of the inverse polynomial of files in a directory, for directories that have any.
        files_per_directory: [f64; 2],
        /// Share of directories without a file.
        empty_directories: f64,
        /// Relative frequency of files at namespace depth 1, 2, 3, ...
        depths: Vec<f64>,
        /// Shares of file-name extensions, in per cent; what is left has none.
        #[serde(default)]
        extensions: Vec<Extension>,
    },
}

/// How sizes are spread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "distribution", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Distribution {
    /// Natural logarithm of bytes normal with `mu` and `sigma`, kept within `min` and `max`.
    Lognormal {
        /// Mean of ln(bytes).
        mu: f64,
        /// Standard deviation of ln(bytes).
        sigma: f64,
        /// Smallest size.
        min: Bytes,
        /// Largest size.
        max: Bytes,
    },
    /// Logarithm of bytes even between `min` and `max`.
    LogUniform {
        /// Smallest size.
        min: Bytes,
        /// Largest size.
        max: Bytes,
    },
}

/// A share of file names with one extension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extension {
    /// Without the dot; empty for none.
    pub name: String,
    /// In per cent of the files.
    pub percent: f64,
}

/// What a corpus turned out to be; printed with every result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RealisedCorpus {
    /// Catalogue name, or the user's path.
    pub name: String,
    /// Regular files.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Symbolic links and whatever else is neither.
    pub others: u64,
    /// Bytes in regular files.
    pub bytes: u64,
    /// Bytes of the plain tar file.
    pub tar_bytes: u64,
    /// Smallest, median, mean and largest file, in bytes.
    pub size_min: u64,
    /// See `size_min`.
    pub size_median: u64,
    /// See `size_min`.
    pub size_mean: u64,
    /// See `size_min`.
    pub size_max: u64,
    /// Deepest file: 1 is a file in the corpus's top folder.
    pub max_depth: u32,
    /// SHA-256 of the plain tar file, in hexadecimal.
    pub sha256: String,
    /// The seed it was made from; none for the user's own files.
    pub seed: Option<u64>,
}

/// What a corpus is made from.
#[derive(Clone, Debug, PartialEq)]
pub enum CorpusSource {
    /// A definition of the catalogue: made from the seed, at a scale.
    Catalogue(Corpus),
    /// The user's own tar (plain, gzip, xz or zstd, told by its first bytes) or folder. Used whole: neither the scale
    /// nor the seed changes it.
    Path(PathBuf),
}
