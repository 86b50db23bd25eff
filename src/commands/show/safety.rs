//! `mountmark show --safety`: what safety costs.

use anyhow::{Result, bail};
use mountmark_crash::campaign::Campaign;
use mountmark_crash::record::Record;
use mountmark_findings::{Options, Safety};
use mountmark_model::Suite;
use mountmark_record::Campaigns;

use crate::catalogue;
use crate::common::{self, StoreOptions, WrongUse};

pub(super) fn safety(store: &StoreOptions, run: &str, campaign: Option<&str>, format: Option<&str>) -> Result<u8> {
    let record = store.load(run)?;
    let name = &record.plan.suite;
    let catalogue = catalogue::load()?;
    let suite = catalogue.list::<Suite>().find(|suite| suite.name == *name).filter(|suite| !suite.columns.is_empty());
    let Some(suite) = suite else {
        bail!(WrongUse(format!(
            "--safety: the suite {name} of run {} has no [[column]] that says what safety costs; `mountmark run --suite safety` measures it",
            record.id
        )));
    };
    let findings = mountmark_findings::findings(&record, &Options::default());
    let campaigns = campaigns(store, campaign, &findings.configurations)?;
    let subject = Safety { run: &record, findings: &findings, columns: &suite.columns, campaigns: &campaigns };
    common::show(&subject, format)
}

/// Of each configuration the campaign that is named, or the latest on a disk without a fault.
fn campaigns(store: &StoreOptions, named: Option<&str>, configurations: &[String]) -> Result<Vec<Campaign>> {
    let all = Campaigns::beside(&store.path());
    let records = match named {
        Some(name) => vec![all.load(&all.resolve(name)?, Record::from_pieces)?],
        None => all.list(Record::from_pieces)?.into_iter().rev().map(|listed| listed.record).collect(),
    };
    let of = |name: &String| {
        let mut parts = records.iter().filter_map(|record| record.part(name)).map(|part| &part.campaign);
        parts.find(|campaign| named.is_some() || campaign.device.fault.is_none()).cloned()
    };
    Ok(configurations.iter().filter_map(of).collect())
}
