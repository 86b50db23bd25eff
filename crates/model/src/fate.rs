//! What becomes of a file at a power cut, and the cases that studies tell apart.

use serde::{Deserialize, Serialize};

/// How far the operations had come when the power failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// None had begun.
    Before,
    During,
    /// All had returned.
    After,
}

/// What a file holds after a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// What it holds when all operations are done.
    New,
    /// What it held before them.
    Old,
    /// What it held between two operations.
    Between,
    /// A part of the new data, or of the old.
    Part,
    /// New data beside old data.
    Mixed,
    Empty,
    /// Zeros where nobody wrote any.
    Zeros,
    /// Data of other files, of other places, or from before the format.
    Stale,
    Missing,
    /// Of the file system: damaged, and mended by the program that runs before a mount.
    Mended,
    /// The name stands for something else, or cannot be read; of the file system: damaged.
    Broken,
    /// The file system cannot be mounted.
    NotMounted,
}

/// A case that a study tells apart: what becomes of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The study's own name or number: `C1`.
    pub id: String,
    /// When the power fails, in words.
    pub text: String,
    /// The workload of `catalog/crash/` that the power cut interrupts.
    pub workload: String,
    /// The file; `.` is the file system itself.
    pub file: String,
    /// How far the operations had come; any if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// Whether it is looked at after the full check with repairs, in the images that needed one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repaired: bool,
}

/// What a claim says of cases. Either nothing but `only` is seen, or something of `seen`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseClaim {
    /// Ids of the study's cases.
    pub cases: Vec<String>,
    /// The configurations that it is about.
    pub on: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<Fate>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<Fate>,
}

impl CaseClaim {
    /// Whether it is so where these fates were seen.
    pub fn holds(&self, fates: impl IntoIterator<Item = Fate>) -> bool {
        let mut fates = fates.into_iter();
        match self.seen.is_empty() {
            true => fates.all(|fate| self.only.contains(&fate)),
            false => fates.any(|fate| self.seen.contains(&fate)),
        }
    }
}
