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

/// Of each configuration the campaign that is named, or the latest that says something of it.
fn campaigns(store: &StoreOptions, named: Option<&str>, configurations: &[String]) -> Result<Vec<Campaign>> {
    let all = Campaigns::beside(&store.path());
    let records = match named {
        Some(name) => vec![all.load(&all.resolve(name)?, Record::from_pieces)?],
        None => all.list(Record::from_pieces)?.into_iter().rev().map(|listed| listed.record).collect(),
    };
    let of = |name: &String| {
        let mut parts = records.iter().filter_map(|record| record.part(name)).map(|part| &part.campaign);
        parts.find(|campaign| named.is_some() || is_telling(campaign)).cloned()
    };
    Ok(configurations.iter().filter_map(of).collect())
}

/// Whether it has images of the configuration's own on a disk without a fault: a log is of a disk elsewhere.
fn is_telling(campaign: &Campaign) -> bool {
    let is_log = campaign.chosen().any(|tried| tried.workload.log.is_some());
    campaign.device.fault.is_none() && !campaign.is_empty() && !is_log
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_campaign_of_the_configuration_itself_is_shown_unasked() {
        let is_shown = |device: &str, states: usize, log: Option<&str>| {
            let workload =
                json!({ "name": "", "ops": [], "recorded": 0, "log": log.map(|path| json!({ "path": path })) });
            let mut explored = serde_json::to_value(mountmark_crash::campaign::Explored::default()).unwrap();
            explored["states"] = states.into();
            let campaign = json!({
                "configuration": "ext4", "kernel": "6.12", "disk_size": 1, "device": device, "promises":
                mountmark_crash::oracle::Promises::least(), "undocumented": null, "seed": 1, "seconds": 1.0,
                "cut_short": false, "tried": [{ "workload": workload, "policy": "fifo", "explored": explored }],
            });
            is_telling(&serde_json::from_value(campaign).unwrap())
        };
        assert!(is_shown("request", 9, None));
        assert!(
            !is_shown("request+i1", 9, None) && !is_shown("request", 0, None) && !is_shown("request", 9, Some("log"))
        );
    }
}
