//! `mountmark runs`: lists and deletes runs.

use anyhow::{Context, Result};
use clap::Args;
use mountmark_findings::Runs;
use mountmark_record::RunId;

use crate::common::{self, StoreOptions};

/// List the runs in the results store, or delete some
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark runs\n  mountmark runs --format json\n  mountmark runs --out ./results\n  mountmark runs --delete 20260131-0902"
)]
pub struct Arguments {
    /// Delete these runs with all their figures: names, their first letters, or `latest`. A run under way is refused.
    /// The store's file keeps its size; new runs fill the room
    #[arg(long, value_name = "RUN", num_args = 1..)]
    delete: Vec<String>,
    /// With --delete: also a run that seems to be under way on another machine
    #[arg(long, requires = "delete")]
    force: bool,
    /// How to print: table, markdown, csv, json or html [default: table]
    #[arg(long, value_name = "FORMAT", conflicts_with = "delete")]
    format: Option<String>,
    #[command(flatten)]
    store: StoreOptions,
}

pub fn run(arguments: Arguments) -> Result<u8> {
    if !arguments.delete.is_empty() {
        return delete(&arguments);
    }
    common::format_of::<Runs>(arguments.format.as_deref())?;
    let path = arguments.store.path();
    if !path.try_exists().with_context(|| format!("cannot look for the results store {}", path.display()))? {
        say!("mountmark: no runs yet: there is no store {}; `mountmark run` makes one", path.display());
        return Ok(common::DONE);
    }
    let runs = arguments.store.open_read_only()?.runs()?;
    common::show(&Runs(&runs), arguments.format.as_deref())
}

fn delete(arguments: &Arguments) -> Result<u8> {
    // A mistyped name deletes nothing, and creates no store.
    let store = arguments.store.open_read_only()?;
    let mut runs = arguments.delete.iter().map(|name| store.resolve(name)).collect::<Result<Vec<RunId>, _>>()?;
    drop(store);
    runs.sort();
    runs.dedup();
    let store = arguments.store.open()?;
    for run in runs {
        store.delete_run(&run, arguments.force)?;
        common::print(&format!("deleted {run}\n"))?;
    }
    Ok(common::DONE)
}
