//! ELF images unpacked from bzImages, in the cache.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cache;

/// An ELF image in the cache.
pub struct Unpacked {
    pub path: PathBuf,
    pub bytes: Vec<u8>,
}

impl Unpacked {
    /// The ELF image in the bzImage whose SHA-256 is `sha256`: from the cache if it is there and intact, else from
    /// `unpack`; `None` if `unpack` returns none. `release` only helps people who look into the folder.
    ///
    /// A kernel with a wrong byte may boot all the same and measure something else, so each use compares its hash with
    /// the one stored beside it.
    ///
    /// # Errors
    /// It is not in the cache, and cannot be made.
    pub fn get(
        sha256: &str,
        release: &str,
        cache: &Path,
        unpack: impl FnOnce() -> Result<Option<Vec<u8>>>,
    ) -> Result<Option<Unpacked>> {
        let path = cache.join(format!("kernels/vmlinux-{release}-{}", &sha256[..16]));
        let noted = path.with_file_name(format!("vmlinux-{release}-{}.sha256", &sha256[..16]));
        if let (Ok(note), Ok(bytes)) = (fs::read_to_string(&noted), fs::read(&path))
            && note == cache::sha256(&bytes)
        {
            return Ok(Some(Unpacked { path, bytes }));
        }
        let Some(bytes) = unpack()? else { return Ok(None) };
        cache::write_whole(&path, &bytes)?;
        cache::write_whole(&noted, cache::sha256(&bytes).as_bytes())?;
        Ok(Some(Unpacked { path, bytes }))
    }
}
