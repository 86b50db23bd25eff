//! `--save`: a command as the file of a suite.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use mountmark_model::{Own, Suite};
use mountmark_plan::CommandLine;

use crate::common::WrongUse;
use crate::written;

/// As [`Own::parse`] takes it: what stands before an equals sign would be read as a name, unless a slash is before it.
fn as_with(name: Option<String>, path: String) -> String {
    let plain = Own { name, path: path.into() };
    let text = plain.text();
    if Own::parse(&text) == plain { text } else { format!("./{text}") }
}

/// A command as a suite's file, and its text.
pub(super) fn text(path: &Path, command: &CommandLine) -> Result<(PathBuf, String)> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if path.extension().is_none_or(|ending| ending != "toml") {
        bail!(WrongUse(format!("--save {}: a suite is a file that ends in .toml", path.display())));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let missing = |error: std::io::Error| WrongUse(format!("--save {}: {error}", path.display()));
    let folder = folder.canonicalize().map_err(missing)?;
    let inside = |own: &str| match Path::new(own).strip_prefix(&folder) {
        Ok(inside) => Ok(inside.to_string_lossy().into_owned()),
        Err(_) => Err(WrongUse(format!(
            "--save {}: {own} does not lie in its folder or below it, where a suite finds its files; save it in a folder above",
            path.display()
        ))),
    };
    let mut suite: Suite = command.suite()?;
    suite.name = stem;
    for own in &mut suite.with {
        let Own { name, path } = Own::parse(own);
        *own = as_with(name, inside(&path.to_string_lossy())?);
    }
    if let Some(root) = &mut suite.root {
        root.path = inside(&root.path)?;
    }
    let text = mountmark_plan::written_suite(&suite)?;
    written::check("--save", path, "suite", &|_| true)?;
    // One that was gone on with is not the command's any more.
    let there = match fs::metadata(path) {
        Ok(about) if about.is_file() => fs::read(path).with_context(|| format!("cannot read {}", path.display()))?,
        _ => Vec::new(),
    };
    if !there.is_empty() && there != text.as_bytes() {
        let reason = "it is there already, and is not this command as a suite: name another file, or remove it";
        bail!(WrongUse(format!("--save {}: {reason}", path.display())));
    }
    Ok((path.to_owned(), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_equals_sign_in_the_name_of_a_file_names_nothing() {
        for (name, path, text) in [
            (None, "a=b.txt", "./a=b.txt"),
            (None, "data/a=b", "data/a=b"),
            (None, "=b", "=b"),
            (Some("tool"), "a=b", "tool=a=b"),
        ] {
            let written = as_with(name.map(str::to_owned), path.to_owned());
            assert_eq!(written, text);
            let read = Own::parse(&written);
            assert_eq!((read.name.as_deref(), read.path.file_name()), (name, Path::new(path).file_name()), "{text}");
        }
    }
}
