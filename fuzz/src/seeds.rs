//! First inputs: real ones in the repository, and those in `corpus/`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Target;

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the repository").to_owned()
}

/// The inputs of a target: a name without `/`, and the bytes.
pub fn of(target: &Target) -> Vec<(String, Vec<u8>)> {
    let mut found = kept(&format!("fuzz/corpus/{}", target.name), "");
    found.extend((target.seeds)());
    found.sort();
    found
}

/// Files in a folder of the repository with this suffix; empty without such a folder.
pub fn kept(folder: &str, end: &str) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(root().join(folder)) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    let paths = paths.filter(|path| path.is_file() && path.to_string_lossy().ends_with(end));
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    paths.map(|path| (name(&path), fs::read(&path).expect("a readable file"))).collect()
}

/// Files preceded by a line that tells the target their kind.
pub fn headed(head: &str, files: Vec<(String, Vec<u8>)>) -> Vec<(String, Vec<u8>)> {
    let with = |(name, bytes): (String, Vec<u8>)| {
        (format!("{head}-{name}"), [format!("{head}\n").as_bytes(), &bytes].concat())
    };
    files.into_iter().map(with).collect()
}
