//! `mountmark crash list`: the campaigns that are kept.

use anyhow::Result;
use clap::Args;
use mountmark_crash::record::Record;
use mountmark_findings::{CrashList, CrashListed};
use mountmark_record::{Campaigns, RunId};

use crate::common::{self, StoreOptions};

/// List the campaigns, or delete some
#[derive(Args)]
#[command(after_help = "Examples:\n  mountmark crash list\n  mountmark crash list --delete 20260131-0902")]
pub(super) struct Arguments {
    /// Delete these: names, their first letters, or `latest`
    #[arg(long, value_name = "CAMPAIGN", num_args = 1..)]
    delete: Vec<String>,
    /// How to print: table, markdown, csv, json or html [default: table]
    #[arg(long, value_name = "FORMAT", conflicts_with = "delete")]
    format: Option<String>,
    #[command(flatten)]
    store: StoreOptions,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8> {
    let campaigns = Campaigns::beside(&arguments.store.path());
    if !arguments.delete.is_empty() {
        // A mistyped name deletes nothing.
        let mut ids = arguments.delete.iter().map(|name| campaigns.resolve(name)).collect::<Result<Vec<RunId>, _>>()?;
        ids.sort();
        ids.dedup();
        for id in ids {
            campaigns.delete(&id)?;
            common::print(&format!("deleted {id}\n"))?;
        }
        return Ok(common::DONE);
    }
    common::format_of::<CrashList>(arguments.format.as_deref())?;
    let listed: Vec<CrashListed> = campaigns
        .list(Record::from_pieces)?
        .into_iter()
        .map(|listed| CrashListed { id: listed.id.to_string(), running: listed.running, record: listed.record })
        .collect();
    common::show(&CrashList(&listed), arguments.format.as_deref())
}
