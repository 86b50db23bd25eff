//! `mountmark crash resume`: goes on where a campaign was interrupted.

use anyhow::{Result, bail};
use clap::Args;
use mountmark_crash::record::Record;
use mountmark_findings::Crash;
use mountmark_record::Campaigns;

use super::Stop;
use super::explore::Effort;
use crate::catalogue;
use crate::common::{self, StoreOptions, WrongUse};

/// Go on with a campaign that was interrupted
#[derive(Args)]
#[command(after_help = "Examples:\n  mountmark crash resume\n  mountmark crash resume 20260401-1015")]
pub(super) struct Arguments {
    /// The campaign: its name, the beginning of it, or `latest`
    #[arg(default_value = "latest")]
    campaign: String,
    /// Guests side by side [default: the number of processors]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// How to print: table, markdown, csv, json or html [default: table]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    #[command(flatten)]
    store: StoreOptions,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8> {
    common::format_of::<Crash>(arguments.format.as_deref())?;
    super::super::run::check_jobs(arguments.jobs)?;
    let campaigns = Campaigns::beside(&arguments.store.path());
    let id = campaigns.resolve(&arguments.campaign)?;
    let catalogue = catalogue::load()?;
    let record = campaigns.load(&id, Record::from_pieces)?;
    if record.is_done() {
        bail!(WrongUse(format!("campaign {id} is complete; `mountmark crash show {id}` shows it")));
    }
    let configurations = mountmark_plan::configurations(&catalogue, &record.asked.configurations)?;
    let stop = Stop::on_signals()?;
    let (lab, cells) = super::lab(&catalogue, &record.asked, &configurations)?;
    for (cell, part) in cells.iter().filter_map(|cell| Some((cell, record.part(&cell.configuration.name)?))) {
        let kernel = lab.environment(cell)?.kernel;
        if kernel != part.campaign.kernel {
            let before = &part.campaign.kernel;
            bail!("campaign {id} cannot be resumed: it was begun with kernel {before}, and this is {kernel}");
        }
    }
    let (record, writing) = campaigns.resume(&id, Record::from_pieces)?;
    let effort = Effort {
        store: &arguments.store,
        catalogue: &catalogue,
        configurations: &configurations,
        jobs: arguments.jobs,
        format: arguments.format.as_deref(),
        cases: false,
        stop: &stop,
    };
    let found = effort.go_on(&id, record, writing, &lab, &cells);
    let said = found.and_then(|record| record.map_or(Ok(stop.code()), |record| effort.say(&id, &record)));
    stop.or(said, stop.code())
}
