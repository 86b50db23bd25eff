//! What power cuts showed of file systems that break their own promises.

use serde::{Deserialize, Serialize};

use crate::Configuration;
use crate::promises::{Level, is_of_series, when_fault};

/// A promise that a file system's documents make, and that a power cut showed to be broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownFault {
    /// The name of its file, without `.toml`.
    pub name: String,
    /// What happens, a clause.
    pub about: String,
    /// The file system.
    pub filesystem: String,
    /// The promise.
    pub level: Level,
    /// The command that shows it.
    pub shown_by: String,
    /// Options with which it was not seen: a word of mkfs arguments, or a mount option.
    #[serde(default)]
    pub not_with: Vec<String>,
    /// Layers of which one lies below; empty if it needs none.
    #[serde(default)]
    pub layers: Vec<String>,
    /// Kernels that show it, one of each series.
    pub seen: Vec<Seen>,
}

/// A kernel on which something was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// The series: `6.12`. It is said of no other.
    pub kernel: String,
    /// The release that was tried: `6.12.117+deb12-amd64`.
    pub release: String,
    /// The day: `2026-11-27`.
    pub date: String,
}

impl KnownFault {
    /// Where it was seen, if a configuration on a kernel of this release has it and promises otherwise.
    pub fn of(&self, configuration: &Configuration, release: &str) -> Option<&Seen> {
        let base = configuration.base();
        let has_layer = self.layers.is_empty() || base.layers.iter().any(|stacked| self.layers.contains(&stacked.name));
        let has_it = configuration.filesystem.name == self.filesystem
            && has_layer
            && !configuration.words().any(|word| self.not_with.iter().any(|option| option == word))
            && configuration.promises().0.has(self.level);
        self.seen.iter().find(|seen| is_of_series(release, &seen.kernel)).filter(|_| has_it)
    }

    /// Why it is unusable although well-formed, as sentences.
    pub fn faults(&self) -> Vec<String> {
        let mut out: Vec<String> =
            self.seen.iter().filter_map(|seen| when_fault("seen", &seen.kernel, &seen.release, &seen.date)).collect();
        if self.seen.is_empty() {
            out.push("seen: name a kernel on which it was seen".into());
        }
        out
    }
}
