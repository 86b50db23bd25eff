//! What the user brings to a command: files, folders, a tree.

use std::path::{Path, PathBuf};

use mountmark_model::Own;

use crate::common::WrongUse;

/// The whole path of what an option names; `given` is the option as it was written.
pub(super) fn whole(given: &str, path: &Path) -> Result<PathBuf, WrongUse> {
    path.canonicalize().map_err(|error| WrongUse(format!("{given}: {error}")))
}

/// A value of `--with`, with its whole path.
pub(super) fn own(text: &str) -> Result<String, WrongUse> {
    let Own { name, path } = Own::parse(text);
    let path = whole(&format!("--with {text}"), &path)?;
    Ok(Own { name, path }.text())
}
