//! `mountmark campaign`: campaigns that workers elsewhere go on with.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use mountmark_shelf::{Access, Folder};

use super::run::{Stop, first, named};
use crate::cluster::{self, Ended};
use crate::common;

/// List, watch, end and collect runs that other machines measure
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark run --fs ext4,xfs --repeat 10 --shelf /nfs/cells --on slurm:workers=8,time=1h --detach\n  mountmark campaign list --shelf /nfs/cells\n  mountmark campaign watch --shelf /nfs/cells\n  mountmark campaign collect --shelf /nfs/cells    the run's table, once all cells are there"
)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
    /// The shelf with the campaign; of several, the first that is not FOLDER:ro
    #[arg(long, value_name = "FOLDER", value_delimiter = ',', env = "MOUNTMARK_SHELF", global = true)]
    shelf: Vec<PathBuf>,
}

#[derive(Subcommand)]
enum Verb {
    /// A line a campaign
    List,
    /// Watch a campaign, start lost workers again, and print the run's table when all cells are there
    Watch {
        /// Its name, the beginning of it, or `latest`
        #[arg(default_value = "latest")]
        campaign: String,
    },
    /// End a campaign's workers; what they measured stays on the shelf
    Cancel {
        /// Its name, the beginning of it, or `latest`
        #[arg(default_value = "latest")]
        campaign: String,
    },
    /// Run the plan over the shelf: what is missing is measured here
    Collect {
        /// Its name, the beginning of it, or `latest`
        #[arg(default_value = "latest")]
        campaign: String,
    },
}

pub fn run(arguments: Arguments) -> Result<u8> {
    let unnamed = || common::WrongUse("name the campaign's shelf: --shelf FOLDER".into());
    let folder = named("--shelf", first(&arguments.shelf).ok_or_else(unnamed)?, Access::Read)?;
    // Plans are followed where they were begun, which may be another folder than this.
    let shelf = std::path::absolute(&folder.path)?;
    match arguments.verb {
        Verb::List => list(&folder, &shelf),
        Verb::Watch { campaign } => {
            let mut campaign = cluster::find(&shelf, &campaign)?;
            let on = campaign.on()?;
            let stop = Stop::on_signals()?;
            match cluster::watch(&mut campaign, &folder, &on, false, &stop)? {
                Ended::Complete => collect(&campaign),
                Ended::Left => Ok(common::DONE),
                Ended::Cancelled => Ok(stop.code()),
            }
        }
        Verb::Cancel { campaign } => {
            let campaign = cluster::find(&shelf, &campaign)?;
            let on = campaign.on()?;
            if campaign.stored.workers.is_empty() {
                common::print(&format!("campaign {} has no workers\n", campaign.name))?;
                return Ok(common::DONE);
            }
            on.engine()?.0.stop(&campaign.stored.workers)?;
            common::print(&format!("the workers of campaign {} were ended\n", campaign.name))?;
            Ok(common::DONE)
        }
        Verb::Collect { campaign } => collect(&cluster::find(&shelf, &campaign)?),
    }
}

fn list(folder: &Folder, shelf: &Path) -> Result<u8> {
    let all = cluster::list(shelf)?;
    if all.is_empty() {
        say!("mountmark: there is no campaign on {}", shelf.display());
    }
    let (there, mut code) = (folder.keys(), common::DONE);
    for campaign in all {
        match campaign {
            Ok(campaign) => {
                let found = campaign.keys.iter().filter(|key| there.contains(*key)).count();
                let (name, all, started, on) =
                    (&campaign.name, campaign.keys.len(), campaign.stored.started, &campaign.stored.on);
                common::print(&format!("{name}  {found} of {all} cells  {started} workers started  {on}\n"))?;
            }
            Err(error) => {
                say!("mountmark: {error:#}");
                code = common::CANNOT_RUN;
            }
        }
    }
    Ok(code)
}

/// Runs the campaign's plan as it was typed, where it was typed.
fn collect(campaign: &cluster::Campaign) -> Result<u8> {
    let mut command = Command::new("/proc/self/exe");
    command.arg(format!("@{}", campaign.plan().display())).current_dir(&campaign.stored.from);
    let failed = || format!("cannot start this program once more in {}", campaign.stored.from.display());
    let status = command.status().with_context(failed)?;
    Ok(status.code().map_or(common::FAILED, |code| code as u8))
}
