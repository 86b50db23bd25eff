//! `mountmark runs`: what was run.

use anyhow::Result;
use clap::Args;

use crate::common::{self, StoreOptions};

/// List the runs in the results store
#[derive(Args)]
#[command(after_help = "Examples:\n  mountmark runs\n  mountmark runs --out ./results")]
pub struct Arguments {
    #[command(flatten)]
    store: StoreOptions,
}

pub fn run(arguments: Arguments) -> Result<u8> {
    let path = arguments.store.path();
    if !path.exists() {
        eprintln!("mountmark: no runs yet: there is no store {}; `mountmark run` makes one", path.display());
        return Ok(common::DONE);
    }
    let runs = arguments.store.open_read_only()?.runs()?;
    common::print(&mountmark_report::runs_table(&runs, &common::report_options()))?;
    Ok(common::DONE)
}
