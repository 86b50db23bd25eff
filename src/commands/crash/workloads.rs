//! The workloads that the user chose.

use std::path::Path;

use anyhow::{Result, bail};
use mountmark_crash::workload::Workload;
use mountmark_plan::Catalogue;

use super::Arguments;
use crate::common::WrongUse;

/// All that were named, then all that are generated.
pub(super) fn chosen(arguments: &Arguments, catalogue: &Catalogue) -> Result<Vec<Workload>> {
    let _ = catalogue;
    let mut chosen: Vec<Workload> = arguments.workload.iter().map(|text| one(text)).collect::<Result<_>>()?;
    chosen.retain(|workload| !workload.ops.is_empty());
    if chosen.is_empty() {
        bail!(WrongUse("give --workload or --generate".into()));
    }
    Ok(chosen)
}

fn one(text: &str) -> Result<Workload> {
    if Path::new(text).is_file() {
        bail!(WrongUse(format!("{text}: files later")));
    }
    text.parse().map_err(|error| WrongUse(format!("--workload: {error}")).into())
}
