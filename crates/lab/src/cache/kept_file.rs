//! A large file of the cache that is mostly holes, and how it is known to be as it was.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::{Stamp, sparse};

/// Of gigabytes some hundred megabytes are allocated, and reading them takes longer than starting a guest: they are hashed only
/// if the stamp has changed, as in a copied cache.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeptFile {
    stamp: Stamp,
    /// SHA-256 of the parts that are not zero.
    sha256: String,
}

impl KeptFile {
    pub fn of(path: &Path) -> Result<KeptFile> {
        let stamp = Stamp::of(path).with_context(|| format!("cannot look at {}", path.display()))?;
        Ok(KeptFile { stamp, sha256: sparse::sha256(path)? })
    }

    /// This file with its present stamp; `None` if the contents have changed.
    pub fn check(self, path: &Path) -> Option<KeptFile> {
        let stamp = Stamp::of(path).ok()?;
        let is_sound = stamp == self.stamp
            || stamp.size == self.stamp.size && sparse::sha256(path).is_ok_and(|sha256| sha256 == self.sha256);
        is_sound.then_some(KeptFile { stamp, ..self })
    }
}
