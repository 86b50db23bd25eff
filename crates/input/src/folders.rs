//! Folders of the user's files, after the XDG Base Directory Specification.

use std::env;
use std::path::PathBuf;

/// The path in an environment variable, unless empty.
pub fn from_environment(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The program's folder below the one in `variable`, such as XDG_CACHE_HOME, else below `usual` in the user's home.
/// Relative paths are ignored, as the specification requires.
pub fn own_folder(variable: &str, usual: &str) -> Option<PathBuf> {
    let named = from_environment(variable).filter(|path| path.is_absolute());
    Some(named.or_else(|| Some(from_environment("HOME")?.join(usual)))?.join("mountmark"))
}
