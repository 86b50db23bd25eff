//! The workloads that the user chose.

use anyhow::{Result, bail};
use mountmark_crash::scenario::Scenario;
use mountmark_crash::workload::{Generator, Workload};
use mountmark_plan::Catalogue;

use super::Arguments;
use crate::common::WrongUse;

/// Workloads of two and three operations that are generated if no count is given: more than any budget tries.
const MANY: u64 = 100_000;

/// All that were named, then those of the catalogue, then all that are generated.
pub(super) fn chosen(arguments: &Arguments, catalogue: &Catalogue) -> Result<Vec<Workload>> {
    let named = arguments.workload.iter().map(|text| one(text, catalogue));
    let mut chosen: Vec<Workload> = named.collect::<Result<_>>()?;
    if arguments.catalogue {
        let all = catalogue.list::<Scenario>().filter(|scenario| !scenario.is_application());
        let all = all.map(|scenario| catalogue.scenario(&scenario.name)).collect::<Result<Vec<_>, _>>()?;
        chosen.extend(all);
    }
    if let Some(length) = arguments.generate {
        let generator = Generator::new();
        let all = if length == 1 { generator.count() as u64 } else { MANY };
        let count = arguments.count.unwrap_or(all).min(all);
        chosen.extend((0..count).filter_map(|index| generator.workload(length, arguments.seed, index)));
    }
    if chosen.is_empty() {
        bail!(WrongUse("there is nothing to do: give --workload, --app, --catalogue or --generate".into()));
    }
    Ok(chosen)
}

/// Operations in a line have a space between the first word and what it is about; only `sync` and `evict` have none.
fn one(text: &str, catalogue: &Catalogue) -> Result<Workload> {
    let parsed = text.parse::<Workload>();
    let is_word = !text.contains(|sign: char| sign.is_whitespace() || matches!(sign, ';' | '|'));
    if text.ends_with(".toml") || (is_word && parsed.is_err()) {
        return Ok(catalogue.scenario(text)?);
    }
    let workload = parsed.map_err(|error| WrongUse(format!("--workload: {error}")))?;
    mountmark_crash::workload::check(&workload).map_err(|error| WrongUse(format!("--workload: {error}")))?;
    Ok(workload)
}
