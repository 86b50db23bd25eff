//! The files that a phase works on. Their names follow from their numbers and are stored nowhere.

use serde::{Deserialize, Serialize};

use super::Quantity;
use crate::Bytes;

/// Files `0..count` in a folder, evenly spread over its directories; a suite's tasks that name the same folder, count and
/// directories work on the same files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSet {
    /// The folder within the workload's own; made where it is missing. "." is the workload's own.
    #[serde(default = "here")]
    pub folder: String,
    /// How many files, or with mkdir and rmdir how many directories. At least 1.
    #[serde(default = "one")]
    pub count: Quantity,
    /// How many directories they lie in; 0: directly in the folder. Made where they are missing, untimed.
    #[serde(default)]
    pub directories: Quantity,
    /// The size of each file in bytes, for everything that reads or writes data. What is read must be there: an earlier
    /// phase or an earlier task has written it.
    #[serde(default)]
    pub size: Quantity,
    /// Different sizes instead of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// The first letters of their names. A phase `rename` leaves names that begin with its `target`.
    #[serde(default = "prefix")]
    pub prefix: String,
    /// Whether names in the order of numbers are in the order of the alphabet or not.
    #[serde(default)]
    pub names: NameOrder,
    /// The files are those that lie in the folder and below it when the phase starts, such as an unpacked corpus,
    /// with the sizes that they have, in the order of their names. Nothing else of the set is then used.
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

/// Sizes of files, `sizes = { uniform = { min = 500, max = "10 KiB" } }`. Drawn from the seed and the file's number, so a
/// file has the same size in every phase and task of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sizes {
    /// Each whole number from `min` to `max` equally likely.
    Uniform {
        /// Smallest size, in bytes.
        min: Quantity,
        /// Largest size, in bytes.
        max: Quantity,
    },
    /// The natural logarithm is normal; cut at `min` and `max`.
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
    /// Gamma distribution, filebench's choice with a shape of 1.5; cut at `max`.
    Gamma {
        /// Mean, in bytes.
        mean: Quantity,
        /// Shape, 0.1 to 100.
        shape: f64,
        /// Largest size, in bytes.
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
