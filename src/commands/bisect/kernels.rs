//! The search among Debian's kernels.

use anyhow::{Result, bail};
use mountmark_findings::bisect::Search;
use mountmark_lab::image::kernel::Kernel;
use mountmark_lab::image::packages::Packages;
use mountmark_model::counted;

use super::Ended;
use super::trial::Journal;
use crate::common::WrongUse;

/// Between two kernels, as the user wrote them.
pub fn search(journal: &mut Journal, ends: [&String; 2]) -> Result<Ended> {
    if let Some(own) = ends.iter().find(|wanted| Kernel::is_own(wanted)) {
        bail!(WrongUse(format!(
            "{own}: --good and --bad name kernels of Debian; --good-commit and --bad-commit search your own git tree"
        )));
    }
    let cache = mountmark_lab::cache::default_folder();
    let (all, [good, bad]) = Kernel::offered(ends.map(String::as_str), &Packages::new(&cache), &cache)?;
    if good == bad {
        bail!(WrongUse(format!("--good {} and --bad {} are both {}: name two kernels", ends[0], ends[1], all[good])));
    }
    if good > bad {
        bail!(WrongUse(format!(
            "--good {} is newer than --bad {}: name the older kernel after --good; if the older one is slower, add --any",
            all[good], all[bad]
        )));
    }
    let row = &all[good..=bad];
    let mut search = Search::new(row.len());
    let mut places = Vec::new();
    for at in [0, row.len() - 1] {
        if journal.try_kernel(&row[at], &row[at])?.is_none() {
            return Ok(Ended::Stopped);
        }
        places.push(at);
        journal.say("");
    }
    if let Some(sentence) = journal.nothing_between() {
        return Ok(Ended::NotThere(sentence));
    }
    say!("mountmark: {}", left(&search));
    while let Some(at) = search.middle() {
        let Some(verdict) = journal.try_kernel(&row[at], &row[at])? else { return Ok(Ended::Stopped) };
        places.push(at);
        search.tell(at, verdict);
        journal.say(&format!("; {}", left(&search)));
    }
    let pair = search.pair();
    let place = |at: usize| places.iter().position(|place| *place == at).unwrap_or_default();
    Ok(Ended::Found { pair: pair.map(place), hidden: row[pair[0] + 1..pair[1]].to_vec() })
}

fn left(search: &Search) -> String {
    format!("{} left, about {}", counted(search.left(), "kernel"), counted(search.steps() as usize, "step"))
}
