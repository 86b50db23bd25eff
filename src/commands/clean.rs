//! `mountmark clean`: removes leftovers of killed runs, and the cache on request.

use std::fs;

use anyhow::{Context, Result};
use clap::Args;
use mountmark_lab::leftovers::Leftover;
use mountmark_lab::{cache, host, leftovers};
use mountmark_model::counted;
use mountmark_shelf::{Access, Folder};

use super::run::own_shelf;
use crate::common;

/// Remove what killed runs left behind, or the whole cache
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark clean --dry-run\n  mountmark clean\n  mountmark clean --cache     all that was downloaded, made and measured for later runs; results stay\n\nPuts back what killed runs of the host lab changed, and keeps an image that another program may have written since. Removes guests whose run is gone, their temporary folders, and half-made entries of the cache folder ($MOUNTMARK_CACHE, else $XDG_CACHE_HOME/mountmark, else ~/.cache/mountmark). Results are never removed. With --cache your own shelf of measured cells goes, too: the next runs measure them again, and another version of Mountmark cannot. `mountmark shelf export FOLDER` saves them first, and --dry-run says how many there are."
)]
pub struct Arguments {
    /// Remove the whole cache too: packages, kernels, images, snapshots, filled and aged disks, corpora, and your own shelf of
    /// measured cells
    #[arg(long)]
    cache: bool,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(arguments: Arguments) -> Result<u8> {
    let folder = cache::default_folder();
    // Files named in the cache are restored and removed.
    cache::check_trust(&folder)?;
    let temporary = std::env::temp_dir();
    let mut told = 0;
    let mut code = common::DONE;
    for thing in host::clean(&folder, arguments.dry_run) {
        match thing {
            Ok(host::Undone::PutBack(thing)) => {
                common::print(&format!("{} {thing}\n", if arguments.dry_run { "would remove" } else { "removed" }))?;
                told += 1;
            }
            Ok(host::Undone::Left(thing)) => {
                common::print(&format!("{} {thing}\n", if arguments.dry_run { "would leave" } else { "left" }))?;
                told += 1;
            }
            Err(error) => {
                say!("mountmark: {error:#}");
                code = common::FAILED;
            }
        }
    }
    let mut found = leftovers::find(&folder, &temporary);
    let mut _alone = None;
    if arguments.cache {
        // Unfinished entries are removed with the whole cache.
        found.retain(|leftover| !leftover.is_in(&folder));
        let (parts, alone) = leftovers::whole_cache(&folder)?;
        found.extend(parts);
        _alone = Some(alone);
    }
    for leftover in &found {
        let about = about(leftover, arguments.cache);
        if arguments.dry_run {
            common::print(&format!("would remove {about}\n"))?;
            told += 1;
            continue;
        }
        match leftover.remove() {
            Ok(true) => {
                common::print(&format!("removed {about}\n"))?;
                told += 1;
            }
            Ok(false) => {}
            Err(error) => {
                say!("mountmark: {error:#}");
                code = common::FAILED;
            }
        }
    }
    if arguments.cache && !arguments.dry_run && code == common::DONE && is_empty_folder(&folder) {
        fs::remove_dir(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    if told == 0 && code == common::DONE {
        common::print("nothing to clean\n")?;
    }
    Ok(code)
}

/// What is removed. Of all that is in a cache only measured cells may be of days, so their number is said.
fn about(leftover: &Leftover, is_whole: bool) -> String {
    let own = own_shelf();
    if !is_whole || !leftover.is_in(&own) {
        return leftover.about().to_owned();
    }
    let cells = Folder::open(&own, Access::Read).and_then(|shelf| shelf.look());
    let cells = cells.map_or_else(|_| "measured cells".into(), |cells| counted(cells, "measured cell"));
    format!("{}: your own shelf, {cells}", leftover.about())
}

/// A link to a folder was made by the user and stays.
fn is_empty_folder(folder: &std::path::Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|data| data.is_dir())
        && fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}
