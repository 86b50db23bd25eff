//! The files of a phase. Their names follow from their numbers and are not stored.

use serde::{Deserialize, Serialize};

use super::Quantity;
use crate::Bytes;

/// Files `0..count` in a folder, evenly spread over its directories; tasks of a suite that name the same folder, count
/// and directories work on the same files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSet {
    /// The folder within the workload's own; created if missing. "." is the workload's own.
    #[serde(default = "here")]
    pub folder: String,
    /// Number of files, or with mkdir and rmdir number of directories. At least 1.
    #[serde(default = "one")]
    pub count: Quantity,
    /// Number of directories that hold them; 0: directly in the folder. Created if missing, untimed.
    #[serde(default)]
    pub directories: Quantity,
    /// The size of each file in bytes, for everything that reads or writes data. Files to read must exist, written by
    /// an earlier phase or an earlier task.
    #[serde(default)]
    pub size: Quantity,
    /// Different sizes instead of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// Prefix of their names. A phase `rename` leaves names that begin with its `target`.
    #[serde(default = "prefix")]
    pub prefix: String,
    /// Whether names in the order of numbers are in alphabetical order.
    #[serde(default)]
    pub names: NameOrder,
    /// Uses the files found in and below the folder when the phase starts, such as an unpacked corpus, with their
    /// sizes, in the order of their names. The rest of the set is then ignored.
    #[serde(default)]
    pub existing: bool,
}

impl Default for FileSet {
    fn default() -> FileSet {
        FileSet {
            folder: here(),
            count: one(),
            directories: Quantity::default(),
            size: Quantity::default(),
            sizes: None,
            prefix: prefix(),
            names: NameOrder::default(),
            existing: false,
        }
    }
}

/// How names follow from numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NameOrder {
    /// `f00000012`: ascending.
    #[default]
    Sequential,
    /// `f5ab3c9de00000012`: eight digits of a hash come first, as Bonnie++'s random names do.
    Random,
}

/// Sizes of files, `sizes = { uniform = { min = 500, max = "10 KiB" } }`. Drawn from the seed and the file's number, so
/// a file has the same size in every phase and task of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sizes {
    /// Each whole number from `min` to `max` is equally likely.
    Uniform {
        /// In bytes.
        min: Quantity,
        /// In bytes.
        max: Quantity,
    },
    /// The natural logarithm is normal; limited to `min` and `max`.
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
    /// Gamma distribution, filebench's choice with a shape of 1.5; limited to `max`.
    Gamma {
        /// In bytes.
        mean: Quantity,
        /// 0.1 to 100.
        shape: f64,
        /// In bytes.
        max: Quantity,
    },
}

fn here() -> String {
    ".".to_owned()
}

fn one() -> Quantity {
    Quantity::number(1)
}

fn prefix() -> String {
    "f".to_owned()
}
