//! `mountmark work`: one of the workers that fill a shelf with a plan's cells.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::run::{self, work};
use crate::common;

/// Measure the cells of a plan that are not on a shelf yet, as one of many workers, and put them there
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark work run --fs ext4,xfs --repeat 10 --shelf /nfs/cells\n  mountmark work @nightly.plan --shelf /nfs/cells --worker 2/8 --until 50m\n\nStart as many workers as there are nodes, each with its number. They need no coordination: each skips what is on the shelf. When all have ended, `mountmark run` with the same options and --shelf prints the table without measuring anything. `mountmark run --on` starts them by Slurm or ssh, and any program that starts numbered commands will do."
)]
pub struct Arguments {
    /// Which worker this is, of how many: they begin at different cells
    #[arg(long, value_name = "I/N", default_value = "1/1", global = true)]
    worker: work::Worker,
    /// End after this time, such as 50m: a cell that is not finished then is lost
    #[arg(long, value_name = "TIME", value_parser = common::duration, global = true)]
    until: Option<Duration>,
    /// Refuse to measure if this machine's cells have other keys than the campaign's
    #[arg(long, value_name = "FILE", global = true, hide = true)]
    expect: Option<PathBuf>,
    #[command(subcommand)]
    plan: Plan,
}

/// What is worked on.
#[derive(Subcommand)]
enum Plan {
    /// The plan of `mountmark run` with these options
    Run(Box<run::Arguments>),
}

pub fn run(arguments: Arguments) -> Result<u8> {
    let Plan::Run(run) = &arguments.plan;
    work::work(run, work::Limits { worker: arguments.worker, until: arguments.until, expect: arguments.expect })
}
