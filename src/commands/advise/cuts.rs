//! Power cuts on what is left of a search, while a guest does what the work does in small: the same operations that write, with
//! the same syncs.

use std::time::Duration;

use anyhow::Result;
use mountmark_crash::workload::Workload;
use mountmark_findings::advice::{Candidate, LeftOut, PowerCuts};
use mountmark_model::Task;
use mountmark_model::workload::{OpenSync, Operation, Pattern, Phase, Quantity};
use mountmark_plan::Catalogue;

use super::race::Track;
use super::search::Search;
use crate::commands::crash;
use crate::commands::run::Stop;

/// Bytes of a write. All images of a small one can be made, and a larger one is promised the same.
const BLOCK: u64 = 8192;

/// Files of each operation: what a sync covers, and what the next one has begun.
const ROUNDS: usize = 2;

/// What a program does that saves a document.
const SAVE: &str = "creat new; write new 0+8192; fsync new; rename new kept; fsync .";

/// Wall time for one configuration.
const TIME: Duration = Duration::from_secs(60);

/// Images of one tier at one moment.
const IMAGES: usize = 256;

impl Search<'_> {
    /// Cuts the power on a candidate; false if what has to survive did not, and it is left out.
    pub(super) fn survives(&mut self, catalogue: &Catalogue, candidate: &Candidate) -> Result<bool> {
        let lines = self.patterns();
        let known = self.power_cuts.iter().any(|cuts| cuts.configuration == candidate.name);
        let Some(survive) = self.arguments.survive.0.filter(|_| !known) else { return Ok(true) };
        let what = format!("what power cuts take on {}", candidate.name);
        if self.runs.is_over(&what) {
            return Ok(true);
        }
        say!("mountmark: power cuts on {}", candidate.name);
        let configurations = mountmark_plan::configurations(catalogue, std::slice::from_ref(&candidate.name))?;
        let workloads = lines.iter().map(|line| line.parse::<Workload>()).collect::<Result<Vec<_>, _>>();
        let asked = crash::Few {
            workloads: workloads.map_err(|error| anyhow::anyhow!("{}: {error}", lines.join(", ")))?,
            kernel: &self.arguments.kernel,
            seed: self.arguments.seed,
            budget: TIME.min(self.runs.time_left()),
            images: IMAGES,
        };
        let stop = Stop::on_signals()?;
        let tried = crash::few(&asked, catalogue, &configurations, (self.arguments.jobs, &self.arguments.store), &stop);
        let (campaign, found) = match stop.or(tried, None) {
            Ok(Some(found)) => found,
            Ok(None) => {
                self.runs.stopped = Some(stop.code());
                self.runs.skip(what);
                return Ok(true);
            }
            // What cannot be tried is known by documents alone.
            Err(error) => {
                self.runs.not_asked.push(format!("{what}: {error:#}"));
                return Ok(true);
            }
        };
        let cuts = PowerCuts::of(campaign.as_str(), &lines, &found);
        let broken = cuts.broken.iter().find(|broken| survive.needs(broken.level));
        let why = broken.map(|broken| {
            format!(
                "--survive {}: it broke {} in a power cut during `{}`",
                survive.name(),
                broken.level,
                broken.workload
            )
        });
        let is_lost = why.is_some();
        self.race.left_out.extend(why.map(|why| LeftOut { what: candidate.name.clone(), why }));
        self.power_cuts.push(cuts);
        Ok(!is_lost)
    }

    /// Lines of `crash --workload` that sync as the work does.
    fn patterns(&self) -> Vec<String> {
        let plan = self.runs.plan();
        patterns(&plan.and_then(|plan| plan.cells.first()).map_or(Vec::new(), |cell| cell.tasks.to_vec()))
    }
}

/// A line for each phase that syncs. Nobody knows what a command syncs, and works that do not sync may be followed by one
/// that does: for these it is what a program does that saves a document.
fn patterns(tasks: &[Task]) -> Vec<String> {
    let phases = tasks.iter().filter(|task| task.skip.is_none()).filter_map(|task| task.workload.as_ref());
    let mut lines: Vec<String> = Vec::new();
    for line in phases.flat_map(|workload| &workload.phases).filter(|phase| !phase.setup).filter_map(pattern) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        lines.push(SAVE.to_owned());
    }
    lines
}

/// What a phase does and syncs, with few files.
fn pattern(phase: &Phase) -> Option<String> {
    let sync = &phase.sync;
    let every = sync.every != Quantity::default();
    let flag = match sync.open {
        OpenSync::None if phase.direct => " direct",
        OpenSync::None => "",
        OpenSync::Dsync => " dsync",
        OpenSync::Sync => " sync",
    };
    if !every && !sync.end && sync.open == OpenSync::None {
        return None;
    }
    let call = if sync.data_only { "fdatasync" } else { "fsync" };
    let (mut before, mut during, mut files) = (vec!["mkdir work".to_owned()], Vec::new(), Vec::new());
    for (number, operation) in (0..ROUNDS).flat_map(|_| phase.what.0.keys()).enumerate() {
        let file = format!("work/f{number}");
        let there = format!("creat {file}; write {file} 0+{BLOCK}");
        let (is_there, does, left) = match operation {
            Operation::WriteFile => (false, format!("creat {file}; write {file} 0+{BLOCK}{flag}"), Some(file)),
            Operation::Create => (false, format!("creat {file}"), Some(file)),
            Operation::Write if phase.pattern != Pattern::Append => {
                (true, format!("write {file} 0+{BLOCK}{flag}"), Some(file))
            }
            Operation::Rewrite => (true, format!("write {file} 0+{BLOCK}{flag}"), Some(file)),
            Operation::Write | Operation::AppendFile => {
                (true, format!("write {file} {BLOCK}+{BLOCK}{flag}"), Some(file))
            }
            Operation::Rename => (true, format!("rename {file} {file}-new"), Some(format!("{file}-new"))),
            Operation::Unlink => (true, format!("unlink {file}"), None),
            _ => continue,
        };
        before.extend(is_there.then_some(there));
        during.push(does);
        during.extend(left.iter().filter(|_| every).map(|file| format!("{call} {file}")));
        files.extend(left);
    }
    if sync.end {
        during.extend(files.iter().map(|file| format!("{call} {file}")));
    }
    let line = |all: &[String]| all.join("; ");
    (!during.is_empty()).then(|| format!("{}; sync | {}", line(&before), line(&during)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines for a phase of these words.
    fn of(phase: &str) -> Option<String> {
        pattern(&toml::from_str::<Phase>(&format!("name = \"it\"\n{phase}")).unwrap())
    }

    #[test]
    fn a_phase_becomes_what_it_writes_and_syncs() {
        assert_eq!(of("what = \"write-file\""), None, "nothing is synced");
        assert_eq!(of("what = \"read\"\nsync = { every = 1 }"), None, "nothing is written");
        let saves = "mkdir work; sync | creat work/f0; write work/f0 0+8192; fsync work/f0; creat work/f1; \
                     write work/f1 0+8192; fsync work/f1";
        assert_eq!(of("what = \"write-file\"\nsync = { every = 1 }").unwrap(), saves);
        let log = of("what = \"write\"\npattern = \"append\"\nsync = { every = 10, data_only = true }").unwrap();
        assert!(log.contains("| write work/f0 8192+8192; fdatasync work/f0;"), "{log}");
        let flagged = of("what = \"write\"\nsync.open = \"dsync\"").unwrap();
        assert!(flagged.ends_with("| write work/f0 0+8192 dsync; write work/f1 0+8192 dsync"), "{flagged}");
        let end = of("what = { write = 1, rename = 1 }\nsync.end = true").unwrap();
        assert!(
            end.contains("rename work/f1 work/f1-new; write work/f2") && end.ends_with("fsync work/f3-new"),
            "{end}"
        );
    }

    #[test]
    fn every_suite_that_syncs_becomes_workloads_that_can_be_played() {
        let catalogue = crate::catalogue::load().unwrap();
        let mut all = 0;
        for suite in catalogue.list::<mountmark_model::Suite>() {
            for line in patterns(&suite.tasks) {
                let workload: Workload = line.parse().unwrap_or_else(|error| panic!("{}: {line}: {error}", suite.name));
                mountmark_crash::workload::check(&workload).unwrap_or_else(|error| panic!("{line}: {error}"));
                all += 1;
            }
        }
        assert!(all > 20, "{all}");
    }
}
