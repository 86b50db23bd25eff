//! Hashes of programs, which are read again only when they have changed: an emulator has tens of megabytes.

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::{Stamp, check_trust, key, make_folder, note, sha256_of};

#[derive(Serialize, Deserialize)]
struct Known {
    stamp: Stamp,
    sha256: String,
}

/// SHA-256 of a program, in hexadecimal: what the cache knows of it if its stamp is the same.
pub(crate) fn sha256_of_program(cache: &Path, program: &Path) -> Result<String> {
    let read = || format!("cannot read {}", program.display());
    // One handle: its path may lead to another program a moment later.
    let mut file = File::open(program).with_context(read)?;
    let stamp = Stamp::from(&file.metadata().with_context(read)?);
    let name = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
    let folder = cache.join("hashes");
    let entry = folder.join(key([name.to_string_lossy().as_ref()]));
    let known = || serde_json::from_slice::<Known>(&fs::read(&entry).ok()?).ok();
    let is_own = check_trust(cache).is_ok();
    if let Some(known) = known().filter(|known| is_own && known.stamp == stamp) {
        return Ok(known.sha256);
    }
    let known = Known { stamp, sha256: sha256_of(&mut file).with_context(read)? };
    let is_still = file.metadata().is_ok_and(|data| Stamp::from(&data) == known.stamp);
    if is_own && is_still && !is_read_only(&file) {
        // In a cache that cannot be written it is read each time.
        let _ = make_folder(&folder).and_then(|()| note(&entry, &serde_json::to_vec(&known)?));
    }
    Ok(known.sha256)
}

/// Whether it lies on an image that is mounted read-only, whose maker chose inodes and times.
fn is_read_only(file: &File) -> bool {
    rustix::fs::fstatvfs(file).is_ok_and(|state| state.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_read_again_when_it_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, program) = (folder.path().join("cache"), folder.path().join("program"));
        make_folder(&cache).unwrap();
        fs::write(&program, "one").unwrap();
        let first = sha256_of_program(&cache, &program).unwrap();
        assert_eq!(first, super::super::sha256(b"one"));
        // What is noted is believed as long as nothing has changed.
        let entry = fs::read_dir(cache.join("hashes")).unwrap().next().unwrap().unwrap().path();
        let mut known: Known = serde_json::from_slice(&fs::read(&entry).unwrap()).unwrap();
        known.sha256 = "noted".into();
        fs::write(&entry, serde_json::to_vec(&known).unwrap()).unwrap();
        assert_eq!(sha256_of_program(&cache, &program).unwrap(), "noted");
        fs::write(&program, "another").unwrap();
        assert_eq!(sha256_of_program(&cache, &program).unwrap(), super::super::sha256(b"another"));
        // Damage of the note does no harm.
        fs::write(&entry, "{").unwrap();
        assert_eq!(sha256_of_program(&cache, &program).unwrap(), super::super::sha256(b"another"));
    }
}
