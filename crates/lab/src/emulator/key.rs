//! The key of a cell of the virtual lab.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result};
use mountmark_model::Cell;
use serde_json::{Value, json};

use super::cell::image_key;
use super::hardware::Hardware;
use super::layout::Layout;
use super::qemu::PROGRAM;
use crate::cell_key::CellKey;
use crate::image::Image;
use crate::{cache, child};

/// Raised when the host's side makes other results of the same events: then older keys must not match.
const VERSION: u32 = 1;
/// QEMU's firmware that a guest runs until its kernel starts; which of the loaders it takes depends on the kernel's form.
const FIRMWARE: [&str; 5] = ["bios-256k.bin", "kvmvapic.bin", "linuxboot.bin", "linuxboot_dma.bin", "pvh.bin"];

/// The key of `cell` on `hardware`, with a kernel of this hash.
pub(super) fn of(cell: &Cell, hardware: &Hardware, layout: &Layout, image: &Image, kernel: &str) -> Result<CellKey> {
    Ok(CellKey::of(parts(cell, hardware, layout, (&image.sha256, kernel), emulator()?)))
}

fn parts(
    cell: &Cell,
    hardware: &Hardware,
    layout: &Layout,
    (image, kernel): (&str, &str),
    emulator: &BTreeMap<String, String>,
) -> Value {
    let mut parts = json!({
        "version": VERSION,
        "cell": image_key(cell),
        "corpus": cell.second_disk.as_ref().map(|medium| &medium.corpus.sha256),
        "media": {
            "test": layout.test,
            "source": layout.source,
            "corpus": layout.corpus,
            "undo": layout.undo,
        },
        "machine": hardware.identity(),
        "image": image,
        "kernel": kernel,
        "emulator": emulator,
    });
    // Keys of cells with one disk stay as they were.
    if !layout.more.is_empty() {
        parts["media"]["more"] = json!(layout.more);
    }
    // A cell without an age has the key that it had before there were any.
    if let Some(age) = &cell.age {
        parts["history"] = json!(age.sha256);
        parts["media"]["history"] = json!(layout.history);
    }
    parts
}

/// SHA-256 of QEMU and of each of its firmware files that is there, by name.
pub(super) fn emulator() -> Result<&'static BTreeMap<String, String>> {
    static HASHES: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    if let Some(hashes) = HASHES.get() {
        return Ok(hashes);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = std::env::split_paths(&path).map(|folder| folder.join(PROGRAM)).find(|path| path.is_file());
    let program = program.with_context(|| format!("{PROGRAM} is in no folder of PATH"))?;
    let hash = |path: &Path| cache::sha256_file(path).with_context(|| format!("cannot read {}", path.display()));
    let emulator = cache::sha256_of_program(&cache::default_folder(), &program)?;
    let mut hashes = BTreeMap::from([(PROGRAM.to_owned(), emulator)]);
    let folders = firmware_folders()?;
    for name in FIRMWARE {
        if let Some(path) = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file()) {
            hashes.insert(name.to_owned(), hash(&path)?);
        }
    }
    Ok(HASHES.get_or_init(|| hashes))
}

/// Where this QEMU looks for firmware, in its order.
fn firmware_folders() -> Result<Vec<PathBuf>> {
    let output = child::output(Command::new(PROGRAM).args(["-L", "help"]), child::QUICK)?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect())
}

#[cfg(test)]
mod tests;
