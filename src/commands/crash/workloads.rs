//! The workloads that the user chose.

use anyhow::{Result, bail};
use mountmark_crash::workload::{Generator, Workload};

use super::Arguments;
use crate::common::WrongUse;

/// Workloads of two and three operations that are generated if no count is given: more than any budget tries.
const MANY: u64 = 100_000;

/// All that were named, then all that are generated.
pub(super) fn chosen(arguments: &Arguments) -> Result<Vec<Workload>> {
    let mut chosen: Vec<Workload> = arguments.workload.iter().map(|text| one(text)).collect::<Result<_>>()?;
    if let Some(length) = arguments.generate {
        let generator = Generator::new();
        let all = if length == 1 { generator.count() as u64 } else { MANY };
        let count = arguments.count.unwrap_or(all).min(all);
        chosen.extend((0..count).filter_map(|index| generator.workload(length, arguments.seed, index)));
    }
    if chosen.is_empty() {
        bail!(WrongUse("there is nothing to do: give --workload or --generate".into()));
    }
    Ok(chosen)
}

fn one(text: &str) -> Result<Workload> {
    let workload: Workload = text.parse().map_err(|error| WrongUse(format!("--workload: {error}")))?;
    mountmark_crash::workload::check(&workload).map_err(|error| WrongUse(format!("--workload: {error}")))?;
    Ok(workload)
}
