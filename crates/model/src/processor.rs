//! Features of a lab's processor beyond those of every 64-bit one.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A feature that a guest's processor may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Its name in /proc/cpuinfo and in a machine's `processor`.
    pub name: &'static str,
    /// Its name on QEMU's command line.
    pub emulator: &'static str,
}

/// All features. QEMU's instruction emulation has had each since before version 7.2; AVX came with 7.2, SHA after it.
pub const FEATURES: [Feature; 7] = [
    Feature { name: "pni", emulator: "sse3" },
    Feature { name: "ssse3", emulator: "ssse3" },
    Feature { name: "sse4_1", emulator: "sse4.1" },
    Feature { name: "sse4_2", emulator: "sse4.2" },
    Feature { name: "popcnt", emulator: "popcnt" },
    Feature { name: "pclmulqdq", emulator: "pclmulqdq" },
    Feature { name: "aes", emulator: "aes" },
];

/// The features of one processor, by name.
///
/// A guest always has what a 64-bit kernel needs (long mode, SSE2), and RDRAND, from which the lab seeds the kernel's
/// random numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Processor(pub Vec<String>);

impl Default for Processor {
    /// All features that a guest can have: a processor of 2010 or later.
    fn default() -> Processor {
        Processor(FEATURES.iter().map(|feature| feature.name.to_owned()).collect())
    }
}

impl Processor {
    pub fn has(&self, feature: &Feature) -> bool {
        self.0.iter().any(|name| name == feature.name)
    }

    /// One sentence per unknown name.
    pub fn faults(&self) -> Vec<String> {
        let unknown = self.0.iter().filter(|name| !FEATURES.iter().any(|feature| feature.name == name.as_str()));
        let known = || FEATURES.map(|feature| feature.name).join(", ");
        unknown
            .map(|name| {
                format!(
                    "processor: {name:?} is no feature that a guest's processor can be given; those are {}, by their \
                     names in /proc/cpuinfo",
                    known()
                )
            })
            .collect()
    }
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("x86-64 alone"),
            names => write!(f, "x86-64 with {}", names.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_features_are_named_with_those_that_are_known() {
        assert_eq!(Processor::default().faults(), Vec::<String>::new());
        assert_eq!(Processor(Vec::new()).faults(), Vec::<String>::new());
        let faults = Processor(vec!["sse4.2".into(), "aes".into()]).faults();
        assert_eq!(faults.len(), 1);
        assert!(faults[0].contains("\"sse4.2\"") && faults[0].contains("sse4_2"), "{faults:?}");
    }
}
