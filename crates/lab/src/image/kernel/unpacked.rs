//! ELF images, each taken out of a bzImage and kept in the cache.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cache;

/// An ELF image in the cache.
pub struct Unpacked {
    /// Its file.
    pub path: PathBuf,
    /// What is in it.
    pub bytes: Vec<u8>,
}

impl Unpacked {
    /// The ELF image in the bzImage whose SHA-256 is `sha256`, from the cache if it is there and sound, else by `unpack`;
    /// nothing if `unpack` gives nothing. `release` is for people who look into the folder.
    ///
    /// A kernel with a wrong byte may boot all the same and measure something else, so each use compares its hash with
    /// the one that was noted beside it.
    ///
    /// # Errors
    /// It must be made, and cannot be.
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
