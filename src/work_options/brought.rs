//! What the user brings to a command: files, folders, a tree.

use std::path::{Path, PathBuf};

use mountmark_model::Own;

use crate::common::WrongUse;

/// The whole path of what an option names; `given` is the option as it was written.
pub(super) fn whole(given: &str, path: &Path) -> Result<PathBuf, WrongUse> {
    path.canonicalize().map_err(|error| WrongUse(format!("{given}: {error}")))
}

/// A value of `--with`, with its whole path.
///
/// # Errors
/// What is not there, has no name, or is neither a file nor a folder.
pub(super) fn own(text: &str) -> Result<String, WrongUse> {
    let Own { name, path } = Own::parse(text);
    let own = Own { name, path: whole(&format!("--with {text}"), &path)? };
    let refused = |reason: &str| Err(WrongUse(format!("--with {text}: {reason}")));
    match own.path.metadata() {
        Ok(found) if !found.is_file() && !found.is_dir() => refused("it is neither a file nor a folder"),
        _ if own.called().is_none() => refused("it has no name; give it one: --with NAME=PATH"),
        _ => Ok(own.text()),
    }
}
