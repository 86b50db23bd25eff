//! `mountmark show`: the figures of one run.

mod raw;

use anyhow::Result;
use clap::Args;

use crate::common::{self, FormatOptions, StoreOptions};

/// Print the figures of a run
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark show latest\n  mountmark show 20260131-0902 --metric durable\n  mountmark show latest --format json > run.json\n  mountmark show latest --raw bonnie"
)]
pub struct Arguments {
    /// Name of the run, its first letters, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Print what the program of a task printed, or what the engine found, as it is
    #[arg(long, value_name = "TASK")]
    raw: Option<String>,
    #[command(flatten)]
    format: FormatOptions,
    #[command(flatten)]
    store: StoreOptions,
}

pub fn run(arguments: Arguments) -> Result<u8> {
    arguments.format.check()?;
    let record = arguments.store.load(&arguments.run)?;
    if let Some(task) = &arguments.raw {
        common::print(&raw::raw(&arguments.store.open_read_only()?, &record, task)?)?;
        return Ok(common::DONE);
    }
    common::print(&arguments.format.render(&record)?)?;
    Ok(common::DONE)
}
