//! Manifests of containers' images: which layers an image has, from the lowest, and what it sets for programs.

use std::collections::BTreeMap;
use std::io::Read;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::input::Archive;

/// Most bytes of a manifest.
pub(super) const MOST_MANIFEST: u64 = 1 << 20;
/// An archive with more entries is no image: it holds layers and descriptions of them.
const MOST_ENTRIES: usize = 2000;
/// Most layers of an image.
const MOST_LAYERS: usize = 200;

/// The small files of an image's archive by name; `None` if it is no image.
pub(super) fn manifests(archive: &Archive) -> Result<Option<BTreeMap<String, Vec<u8>>>> {
    let mut small = BTreeMap::new();
    let mut tar = tar::Archive::new(archive.unpacked()?);
    for entry in tar.entries()?.take(MOST_ENTRIES) {
        let Ok(mut entry) = entry else { break };
        let name = String::from_utf8_lossy(&entry.path_bytes()).trim_start_matches("./").to_owned();
        let is_manifest =
            name.ends_with(".json") && !name.contains('/') || name == "oci-layout" || name.starts_with("blobs/");
        if is_manifest && entry.size() <= MOST_MANIFEST && entry.header().entry_type().is_file() {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            small.insert(name, bytes);
        }
    }
    let is_image =
        small.contains_key("manifest.json") || small.contains_key("oci-layout") && small.contains_key("index.json");
    Ok(is_image.then_some(small))
}

/// The layers of what `docker save` writes, and the environment.
pub(super) fn of_docker(read: &dyn Fn(&str) -> Result<Value>) -> Result<(Vec<String>, Vec<String>)> {
    let manifest = read("manifest.json")?;
    let image = one(manifest.as_array(), "images")?;
    let names = image["Layers"].as_array().context("its manifest names no layers")?;
    let names = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let environment = image["Config"].as_str().and_then(|name| read(name).ok()).map(|config| variables(&config));
    Ok((few(names)?, environment.unwrap_or_default()))
}

/// The same of an OCI layout; `read` takes the name of a file, or a digest.
pub(super) fn of_index(read: &dyn Fn(&str) -> Result<Value>) -> Result<(Vec<String>, Vec<String>)> {
    let mut at = read("index.json")?;
    // An index may list indices.
    for _ in 0..4 {
        if at["layers"].is_array() {
            break;
        }
        let all = at["manifests"].as_array();
        let own: Vec<Value> = all
            .into_iter()
            .flatten()
            .filter(|manifest| {
                let platform = &manifest["platform"];
                platform.is_null() || platform["architecture"] == "amd64" && platform["os"] == "linux"
            })
            .cloned()
            .collect();
        let manifest = one(Some(&own), "images for x86-64")?;
        at = read(manifest["digest"].as_str().context("its index has no digest")?)?;
    }
    let layers = at["layers"].as_array().context("its manifest names no layers")?;
    let names: Result<Vec<String>> =
        layers.iter().map(|layer| blob(layer["digest"].as_str().context("a layer has no digest")?)).collect();
    let config = at["config"]["digest"].as_str().and_then(|digest| read(digest).ok());
    Ok((few(names?)?, config.map(|config| variables(&config)).unwrap_or_default()))
}

fn one<'a>(all: Option<&'a Vec<Value>>, what: &str) -> Result<&'a Value> {
    match all.map_or(&[][..], |all| all) {
        [one] => Ok(one),
        [] => bail!("it holds no {what}"),
        all => bail!("it holds {} {what}; save one alone", all.len()),
    }
}

fn few(names: Vec<String>) -> Result<Vec<String>> {
    ensure!(
        (1..=MOST_LAYERS).contains(&names.len()),
        "it has {} layers, and 1 to {MOST_LAYERS} can be read",
        names.len()
    );
    Ok(names)
}

fn variables(config: &Value) -> Vec<String> {
    let all = config["config"]["Env"].as_array();
    all.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The file of a digest; a name that is none stays as it is.
pub(super) fn blob(name: &str) -> Result<String> {
    let Some((kind, hash)) = name.split_once(':') else { return Ok(name.to_owned()) };
    let is_word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric());
    ensure!(is_word(kind) && is_word(hash), "{name:?} is no digest");
    Ok(format!("blobs/{kind}/{hash}"))
}
