//! What becomes of a file at a power cut, and the cases that studies tell apart.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How far the operations had come when the power failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// None had begun.
    Before,
    /// Some had begun and not all had returned.
    During,
    /// All had returned.
    After,
}

/// What a file holds after a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileOutcome {
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
    /// It is there, with no byte in it.
    Empty,
    /// Zeros where nobody wrote any.
    Zeros,
    /// Data of other files, of other places, or from before the format.
    Stale,
    /// It is not there.
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

/// What a claim says of cases. Nothing but `only` is seen, or something of `seen`, or `rarer` in a smaller share of the
/// images than on each of `than`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseClaim {
    /// Ids of the study's cases.
    pub cases: Vec<String>,
    /// The configurations that it is about.
    pub on: Vec<String>,
    /// These alone occur.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<FileOutcome>,
    /// These occur.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<FileOutcome>,
    /// The first is rarer than the second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rarer: Vec<FileOutcome>,
    /// The configurations that `on` is compared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub than: Vec<String>,
}

impl CaseClaim {
    /// Whether it is so where images with these fates were seen; `others` are those of each of `than`.
    pub fn holds(&self, fates: &BTreeMap<FileOutcome, usize>, others: &[BTreeMap<FileOutcome, usize>]) -> bool {
        let mut seen = fates.keys();
        match (self.seen.is_empty(), self.rarer.is_empty()) {
            (false, _) => seen.any(|fate| self.seen.contains(fate)),
            (true, false) => others.iter().all(|other| self.share(fates) < self.share(other)),
            (true, true) => seen.all(|fate| self.only.contains(fate)),
        }
    }

    /// Part of the images with a fate of `rarer`.
    fn share(&self, fates: &BTreeMap<FileOutcome, usize>) -> f64 {
        let those: usize = self.rarer.iter().filter_map(|fate| fates.get(fate)).sum();
        those as f64 / fates.values().sum::<usize>().max(1) as f64
    }
}
