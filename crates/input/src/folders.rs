//! Where a user's own things lie, after the XDG Base Directory Specification.

use std::env;
use std::path::PathBuf;

/// What an environment variable names, unless it is empty.
pub fn from_environment(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The program's folder below the one that `variable` names, such as XDG_CACHE_HOME, else below `usual` in the user's
/// home. The specification has a relative path ignored.
pub fn own_folder(variable: &str, usual: &str) -> Option<PathBuf> {
    let named = from_environment(variable).filter(|path| path.is_absolute());
    Some(named.or_else(|| Some(from_environment("HOME")?.join(usual)))?.join("mountmark"))
}
