//! Corpora: the files that a suite works on.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// One file of `catalog/corpora/`: how to generate a tree from a seed.
///
/// Each kind rejects unknown fields: serde passes it all fields that are not named here, so rejecting them here would
/// reject the kind's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Corpus {
    /// The name in `--corpus`: the file's name without `.toml`.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// Sources of the numbers.
    pub sources: Vec<String>,
    #[serde(flatten)]
    pub kind: CorpusKind,
}

/// The kinds of trees that can be generated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CorpusKind {
    /// Sizes from one distribution, and a total.
    Tree(FileTree),
    /// Distributions of desktop machines.
    Impressions(Impressions),
}

/// A given number of files and directories, with sizes from one distribution, scaled to a total.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileTree {
    /// Files at scale 1.
    pub files: u64,
    /// Directories at scale 1.
    pub directories: u64,
    /// Bytes in files at scale 1; sizes are fitted to this.
    pub total: Bytes,
    /// Depth of the deepest directory.
    pub max_depth: u32,
    /// Sizes before fitting.
    pub sizes: Distribution,
    /// Shares of file-name extensions, in percent; the remaining files have none.
    #[serde(default)]
    pub extensions: Vec<Extension>,
    /// Whether contents are text-like (compress about fourfold) or random bytes.
    #[serde(default)]
    pub text: bool,
}

/// The Impressions model: sizes, directories and depths from distributions fitted to desktop machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Impressions {
    /// Files at scale 1.
    pub files: u64,
    /// mu and sigma of the lognormal body, natural logarithm of bytes.
    pub body: [f64; 2],
    /// Probability of the body; the rest is the tail.
    pub body_share: f64,
    /// Shape and minimum in bytes of the Pareto tail.
    pub tail: [f64; 2],
    /// Largest file: without a limit the tail's mean is infinite.
    pub max_file: Bytes,
    /// Degree and offset of the inverse polynomial of files per directory, for non-empty directories.
    pub files_per_directory: [f64; 2],
    /// Share of directories without a file.
    pub empty_directories: f64,
    /// Relative frequency of files at namespace depth 1, 2, 3, ...
    pub depths: Vec<f64>,
    /// Shares of file-name extensions, in percent; the remaining files have none.
    #[serde(default)]
    pub extensions: Vec<Extension>,
}

/// Distribution of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "distribution", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Distribution {
    /// The natural logarithm of bytes is normal with `mu` and `sigma`, limited to `min` and `max`.
    Lognormal {
        /// Mean of ln(bytes).
        mu: f64,
        /// Standard deviation of ln(bytes).
        sigma: f64,
        /// The smallest size.
        min: Bytes,
        /// The largest size.
        max: Bytes,
    },
    /// The logarithm of bytes is uniform between `min` and `max`.
    LogUniform {
        /// The smallest size.
        min: Bytes,
        /// The largest size.
        max: Bytes,
    },
}

/// The share of file names with one extension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extension {
    /// Without the dot; empty for none.
    pub name: String,
    /// In percent of the files.
    pub percent: f64,
}

/// Properties of a generated corpus; printed with every result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RealisedCorpus {
    /// Catalogue name, or the user's path.
    pub name: String,
    /// Regular files.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Symbolic links and other entries.
    pub others: u64,
    /// Bytes in regular files.
    pub bytes: u64,
    /// Bytes of the plain tar file.
    pub tar_bytes: u64,
    /// Smallest file, in bytes; the median, mean and largest follow.
    pub size_min: u64,
    /// Median size, in bytes.
    pub size_median: u64,
    /// Mean size, in bytes.
    pub size_mean: u64,
    /// Largest file, in bytes.
    pub size_max: u64,
    /// Depth of the deepest file: 1 is a file in the corpus's top folder.
    pub max_depth: u32,
    /// SHA-256 of the plain tar file, in hexadecimal.
    pub sha256: String,
    /// The seed; `None` for the user's own files.
    pub seed: Option<u64>,
}

/// The source of a corpus.
#[derive(Clone, Debug, PartialEq)]
pub enum CorpusSource {
    /// A definition of the catalogue: generated from the seed, at a scale.
    Catalogue(Corpus),
    /// The user's own tar (plain, gzip, xz or zstd, detected by its first bytes) or folder. Used whole: neither the
    /// scale nor the seed changes it.
    Path(PathBuf),
    /// The user's own programs and files, and what those need, at their places in the tree of tasks.
    Bring(Bring),
}

/// What a user brings into the tree of tasks ([`crate::Root`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Bring {
    /// An archive, a folder or a container's image that becomes the tree.
    pub root: Option<PathBuf>,
    /// Whether that is laid over a guest's own programs, whose folders are one.
    pub over: bool,
    /// Files and folders for where tasks run.
    pub with: Vec<Own>,
    /// Where tasks run.
    pub folder: String,
}

/// A file or folder of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Own {
    /// What tasks call it; `None`: as it is called here.
    pub name: Option<String>,
    pub path: PathBuf,
}

impl Own {
    /// Of `PATH`, or of `NAME=PATH`. A path with an equals sign has a slash before it.
    pub fn parse(text: &str) -> Own {
        match text.split_once('=').filter(|(name, _)| !name.is_empty() && !name.contains('/')) {
            Some((name, path)) => Own { name: Some(name.to_owned()), path: path.into() },
            None => Own { name: None, path: text.into() },
        }
    }

    /// As [`Own::parse`] takes it.
    pub fn text(&self) -> String {
        let path = self.path.to_string_lossy();
        self.name.as_ref().map_or_else(|| path.clone().into_owned(), |name| format!("{name}={path}"))
    }

    /// The name for tasks; `None` of a path that ends in none.
    pub fn called(&self) -> Option<Cow<'_, OsStr>> {
        match &self.name {
            Some(name) => Some(Cow::Borrowed(OsStr::new(name))),
            None => self.path.file_name().map(Cow::Borrowed),
        }
    }
}
