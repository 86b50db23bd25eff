//! Writes the reference pages of the book that follow from the code: `mountmark-reference FOLDER`.
//!
//! It must be started in the workspace, and finds the program beside itself.

mod commands;
mod fields;
mod pages;
mod schema;
mod serde_words;
mod source;

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, bail};

fn main() -> Result<()> {
    let mut arguments = env::args_os().skip(1);
    let (Some(folder), None) = (arguments.next().map(PathBuf::from), arguments.next()) else {
        bail!("usage: mountmark-reference FOLDER");
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("crates/reference has a workspace")?;
    fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for (name, text) in pages::all(root)? {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
