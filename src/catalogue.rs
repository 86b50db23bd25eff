//! The catalogue, with what power cuts interrupt as the crash lab reads it.

use std::sync::OnceLock;

use anyhow::Result;
use mountmark_crash::scenario::Scenario;
use mountmark_crash::workload::Workload;
use mountmark_model::FileSystem;
use mountmark_plan::{Catalogue, Entry, PlanError, Written};

use crate::common::WrongUse;

/// The built-in definitions and the user's own, each of which can be used.
pub fn load() -> Result<Catalogue> {
    let catalogue = Catalogue::load(None)?;
    scenarios(&catalogue)?;
    Ok(catalogue)
}

/// The packages of source from which modules may be built on this machine: those that the built-in file systems and the user's
/// own name, and nothing that a suite, a plan or a stored run brings.
pub fn module_sources() -> Vec<String> {
    static SOURCES: OnceLock<Vec<String>> = OnceLock::new();
    let named = || {
        let catalogue = Catalogue::load(None).ok()?;
        Some(catalogue.list::<FileSystem>().filter_map(|filesystem| filesystem.module_source.clone()).collect())
    };
    SOURCES.get_or_init(|| named().unwrap_or_default()).clone()
}

/// The name and the line about each definition of a kind.
pub fn entries<T: Entry>(catalogue: &Catalogue) -> impl Iterator<Item = (String, String)> {
    catalogue.list::<T>().map(|entry| (entry.name().to_owned(), entry.about().to_owned()))
}

/// All workloads and applications, by name.
pub fn scenarios(catalogue: &Catalogue) -> Result<Vec<Scenario>, PlanError> {
    catalogue.scenarios().map(scenario).collect()
}

/// The workload or application for `--workload`: a path if it ends in `.toml`, else a name. It is called as it was written.
pub fn workload(catalogue: &Catalogue, text: &str) -> Result<Workload> {
    let written = catalogue.scenario(text)?;
    let runs = scenario(&written)?.runs(text);
    Ok(runs.map_err(|reason| WrongUse(format!("{text}: {reason}")))?)
}

fn scenario(written: &Written) -> Result<Scenario, PlanError> {
    written.read(Scenario::faults)
}
