//! File systems that lie on a folder of another one: `overlay@xfs:noatime@luks` names that one behind the first `@`, with its
//! options, and then the layers below it. Where none is named, the catalogue's is below.

use mountmark_model::{Configuration, FileSystem, Layer, StackedLayer, split};

use crate::configuration::{standing, wrong};
use crate::{Catalogue, PlanError, Result, layers};

/// What a file system stands on.
pub(crate) struct On {
    /// The file system below; layers are that one's then.
    pub(crate) below: Option<Configuration>,
    pub(crate) layers: Vec<StackedLayer>,
}

/// What the words behind a file system stand for.
pub(crate) fn standing_on(catalogue: &Catalogue, text: &str, upper: &FileSystem, words: &[&str]) -> Result<On> {
    let Some(usual) = &upper.below else {
        let layers = layers::stacked(catalogue, words).map_err(|reason| wrong(text, reason))?;
        return Ok(On { below: None, layers });
    };
    let first = words.first().map(|word| word.split(':').next().unwrap_or_default().trim());
    let is_named = match first {
        None => false,
        Some("") => {
            let reason =
                format!("an @ is followed by nothing; a file system or a layer stands there: {}@{usual}", upper.name);
            return Err(wrong(text, reason));
        }
        Some(name) => match (catalogue.get::<FileSystem>(name), catalogue.get::<Layer>(name)) {
            (Ok(_), Ok(_)) => {
                return Err(wrong(text, format!("{name} is a file system and a layer of yours; rename the layer")));
            }
            (Ok(_), Err(_)) => true,
            (Err(_), Ok(_)) => false,
            (Err(error), Err(_)) => return Err(wrong(text, format!("{error}; and no layer is named so"))),
        },
    };
    let body = if is_named { words.join("@") } else { [&[usual.as_str()], words].concat().join("@") };
    let below = standing(catalogue, &body, &body).map_err(|error| match error {
        PlanError::Configuration { reason, .. } => wrong(text, told(upper, &body, reason)),
        other => other,
    })?;
    let name = &below.filesystem.name;
    if below.below.is_some() {
        let reason = format!(
            "{name} lies on a folder of another file system itself, and so can {} only on one that has a device: {}@{usual}",
            upper.name, upper.name
        );
        return Err(wrong(text, reason));
    }
    Ok(On { below: Some(below), layers: Vec::new() })
}

/// A fault of the file system below, with the word about options that belong to the upper one.
fn told(upper: &FileSystem, body: &str, reason: String) -> String {
    let options = split(body, '@')[0].split_once(':').map_or("", |(_, options)| options);
    match split(options, '+').into_iter().find(|part| upper.variants.contains_key(part.trim())) {
        Some(part) if reason.contains("is no variant") => {
            format!("{part} is a variant of {0}, and stands before the first @: {0}:{part}@...", upper.name)
        }
        _ => reason,
    }
}

/// Why `part`, which is no variant of the file system, is written at the wrong place, if so.
pub(crate) fn misplaced(configuration: &Configuration, part: &str) -> Option<String> {
    let below = configuration.below.as_deref().map(|below| &below.filesystem)?;
    let (upper, lower) = (&configuration.filesystem.name, &below.name);
    below
        .variants
        .contains_key(part)
        .then(|| format!("{part} is a variant of {lower}, and stands behind that one: {upper}@{lower}:{part}"))
}

/// Whether the commands that mount a file system have a place for options.
pub(crate) fn takes_mount_options(filesystem: &FileSystem) -> bool {
    filesystem.mount.is_empty() || filesystem.mount.iter().flatten().any(|word| word == "{options}")
}

/// What a file system on a folder can hold is no more than what the one below can.
pub(crate) fn limit(configuration: &mut Configuration) {
    let Some(below) = configuration.below.as_deref().map(|below| &below.filesystem) else { return };
    let own = &mut configuration.filesystem;
    let least = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
    own.posix &= below.posix;
    own.min_size = own.min_size.max(below.min_size);
    own.max_size = own.max_size.into_iter().chain(below.max_size).min();
    own.max_subdirectories = least(own.max_subdirectories, below.max_subdirectories);
    own.max_directory_entries = least(own.max_directory_entries, below.max_directory_entries);
    own.keeps_deleted = own.keeps_deleted.take().or_else(|| below.keeps_deleted.clone());
    let unavailable = below.unavailable.as_ref().map(|reason| format!("{}, which lies below: {reason}", below.name));
    own.unavailable = own.unavailable.take().or(unavailable);
}

#[cfg(test)]
mod tests;
