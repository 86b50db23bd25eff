//! The runs of a search: how they are asked for, how long they take, and what does not fit in the budget.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::Result;
use mountmark_cells::Plan;
use mountmark_findings::advice::{self, Candidate, LeftOut, Unmeasured};
use mountmark_model::Bytes;
use mountmark_record::{CellRecord, RunRecord, Timestamp};

use super::race::{Measured, Track};
use super::{Arguments, again};
use crate::commands::run::{self, ShelfOptions, TIME_IS_OVER};

/// Cells of a run whose time says how long others take. The first of a configuration starts a guest of its own.
const PACE: usize = 4;

/// What part of the budget it may be late: a situation whose cells take longer than was foretold is left there.
const LATE: u32 = 10;

/// The runs of a search.
pub struct Runs<'a> {
    pub arguments: &'a Arguments,
    /// What was not asked, a sentence's end each.
    pub not_asked: Vec<String>,
    /// Names of the runs.
    pub names: Vec<String>,
    /// Cells of all runs, those from the shelf included, each by its key.
    cells: BTreeSet<String>,
    /// The runs of the search itself.
    searched: Vec<RunRecord>,
    /// Tasks that no file system could do with its defaults.
    pub unmeasured: Vec<Unmeasured>,
    /// Versions of what the search itself was measured with, of all its runs.
    pub versions: BTreeMap<String, String>,
    /// The exit code, once the user has stopped it.
    pub stopped: Option<u8>,
    /// What was chosen, if the user chose none.
    pub scale: Option<String>,
    /// Why there are no profiles, if there can be none.
    pub no_profiles: Option<String>,
    shelf: ShelfOptions,
    begin: Instant,
    /// Wall seconds of a cell, as the latest runs say.
    pace: Option<f64>,
    /// How many times longer this machine takes for a fill or a history than is assumed, as the last one says.
    slower: f64,
    disk_size: Option<Bytes>,
}

impl<'a> Runs<'a> {
    pub fn new(arguments: &'a Arguments) -> Runs<'a> {
        Runs {
            arguments,
            not_asked: Vec::new(),
            names: Vec::new(),
            cells: BTreeSet::new(),
            searched: Vec::new(),
            unmeasured: Vec::new(),
            versions: BTreeMap::new(),
            stopped: None,
            scale: None,
            no_profiles: None,
            // What this search measures itself, it does not measure twice.
            shelf: arguments.shelf.clone().since_now(),
            begin: Instant::now(),
            pace: None,
            slower: 1.0,
            disk_size: None,
        }
    }

    /// How many cells were measured, now or before.
    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    /// The last run of the search itself.
    pub fn latest(&self) -> Option<&RunRecord> {
        self.searched.last()
    }

    /// The last run of the search that measured this configuration.
    pub fn of(&self, name: &str) -> Option<&RunRecord> {
        self.searched.iter().rev().find(|run| run.cells.iter().any(|cell| cell.configuration == name))
    }

    /// The last plan of the search, for what it is measured on.
    pub fn plan(&self) -> Option<&Plan> {
        self.latest().map(|run| &run.plan)
    }

    /// Whether nothing more is asked, as the user stopped it, or as the time is over; then `what` was not asked.
    pub fn is_over(&mut self, what: &str) -> bool {
        self.does_not_fit(0, 0.0, what)
    }

    /// Guests side by side.
    pub fn jobs(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        self.arguments.jobs.unwrap_or_else(all)
    }

    /// What is left of the budget.
    pub fn time_left(&self) -> Duration {
        self.arguments.budget.saturating_sub(self.begin.elapsed())
    }

    /// The same of something that takes so many cells, each of them so many seconds longer than those before.
    pub fn does_not_fit(&mut self, cells: usize, longer: f64, what: &str) -> bool {
        let of_cell = self.pace.unwrap_or(0.0) + longer * self.slower / self.jobs() as f64;
        let is_over = self.stopped.is_some() || cells as f64 * of_cell >= self.time_left().as_secs_f64();
        if is_over {
            self.skip(what.to_owned());
        }
        is_over
    }

    /// Refuses what no run of these file systems could have, before the first.
    pub fn check(&self, names: &[String]) -> Result<()> {
        let Arguments { work, shelf, on, .. } = self.arguments;
        run::check_one_answer(&self.words(names, 1, &[]), work, shelf, on.as_ref())
    }

    /// The words of a run of these configurations beside one another, with further words.
    fn words(&self, names: &[String], repeats: u32, more: &[&str]) -> Vec<String> {
        let arguments = self.arguments;
        let mut words: Vec<String> = Vec::new();
        let mut add = |option: &str, value: &str| words.extend([option.to_owned(), value.to_owned()]);
        add("--fs", &names.join(","));
        add("--repeat", &repeats.to_string());
        add("--seed", &arguments.seed.to_string());
        for (option, value) in [
            ("--machine", Some(&arguments.machine)),
            ("--disk", arguments.disk.as_ref()),
            ("--kernel", Some(&arguments.kernel)),
            ("--scale", arguments.scale.as_ref().or(self.scale.as_ref())),
            ("--fill", arguments.room.as_ref()),
            ("--age", arguments.age.as_ref()),
        ] {
            // What is asked otherwise stands behind.
            if let Some(value) = value.filter(|_| !more.contains(&option)) {
                add(option, value);
            }
        }
        if let Some(jobs) = arguments.jobs {
            add("--jobs", &jobs.to_string());
        }
        // The disk of the first run, so that cells of the others are the same where their configuration is. More work needs more.
        let kept = self.disk_size.filter(|_| !more.contains(&"--scale"));
        if let Some(size) = arguments.disk_size.or(kept) {
            add("--disk-size", &size.0.to_string());
        }
        words.extend(more.iter().map(|word| (*word).to_owned()));
        words
    }

    /// A run of these configurations beside one another in another situation, whose cells take so many seconds `longer` each; `None`
    /// if the user stopped it, or the budget did.
    pub fn beside(&mut self, names: &[String], repeats: u32, more: &[&str], longer: f64) -> Result<Option<RunRecord>> {
        // On a cluster what has begun goes on.
        let late = self.arguments.on.is_none().then(|| self.time_left() + self.arguments.budget / LATE);
        let (begin, pace) = (Instant::now(), self.pace);
        let found = self.run(names, repeats, more, late);
        if longer > 0.0 {
            // The pace is that of the others. What the shelf had says nothing of what is longer.
            self.pace = pace;
            let of_cell = begin.elapsed().as_secs_f64() / (names.len() * repeats as usize) as f64;
            self.slower = self.slower.max((of_cell - pace.unwrap_or(0.0)) * self.jobs() as f64 / longer);
        }
        found
    }

    /// A run of these configurations beside one another, with further words, that takes at most so long.
    pub fn run(
        &mut self,
        names: &[String],
        repeats: u32,
        more: &[&str],
        most: Option<Duration>,
    ) -> Result<Option<RunRecord>> {
        let (arguments, mut words) = (self.arguments, self.words(names, repeats, more));
        // Profiles are on no shelf.
        if let Some(on) = arguments.on.as_ref().filter(|_| !more.contains(&"--profile")) {
            words.extend(["--on".to_owned(), on.text.clone()]);
        }
        let (begin, at) = (Instant::now(), Timestamp::now().0);
        match run::collected(&words, &arguments.work, &self.shelf, &arguments.store, most)? {
            Ok(run) => {
                let is_fresh = |cell: &&CellRecord| cell.environment.taken.as_ref().is_none_or(|taken| taken.at >= at);
                let fresh = run.cells.iter().filter(is_fresh).count();
                if fresh >= PACE || self.pace.is_none() && fresh > 0 {
                    self.pace = Some(begin.elapsed().as_secs_f64() / fresh as f64);
                }
                // Of what is on no shelf each cell is another.
                let key = |cell: &CellRecord| match cell.environment.key.as_str() {
                    "" => format!("{} {}", run.id, cell.index),
                    key => key.to_owned(),
                };
                self.cells.extend(run.cells.iter().map(key));
                let size = run.plan.cells.first().map(|cell| cell.disk_size);
                self.disk_size = self.disk_size.or(size.filter(|_| !more.contains(&"--scale")));
                self.names.push(run.id.to_string());
                Ok(Some(run))
            }
            Err(TIME_IS_OVER) => Ok(None),
            Err(code) => {
                self.stopped = Some(code);
                Ok(None)
            }
        }
    }
}

impl Runs<'_> {
    /// Tasks that failed on all: the answer is about the others. Where none is left, all file systems are left out.
    fn note_unmeasured(&mut self, run: &RunRecord) {
        self.unmeasured = advice::unmeasured(run);
        for Unmeasured { task, reason } in &self.unmeasured {
            let reason = reason.as_deref().unwrap_or("no reason is known").trim_end_matches('.');
            self.not_asked.push(format!("task {task}, which no file system could do: {reason}"));
        }
    }
}

impl Track for Runs<'_> {
    fn measure(&mut self, candidates: &[Candidate], repeats: u32) -> Result<Option<Measured>> {
        let names: Vec<String> = candidates.iter().map(|candidate| candidate.name.clone()).collect();
        let Some(run) = self.run(&names, repeats, &[], None)? else { return Ok(None) };
        let skipped = |(name, reason): &(String, String)| LeftOut {
            what: name.clone(),
            why: reason.trim_end_matches('.').to_owned(),
        };
        if self.searched.is_empty() {
            self.note_unmeasured(&run);
        }
        let speeds = advice::speeds(&run, &self.unmeasured)?;
        let skipped = run.plan.skipped.iter().map(skipped).collect();
        self.versions.extend(again::versions(&run));
        self.searched.push(run);
        Ok(Some(Measured { speeds, skipped }))
    }

    fn room(&self, share: f64) -> usize {
        let left = self.arguments.budget.as_secs_f64() * share - self.begin.elapsed().as_secs_f64();
        match self.pace {
            _ if self.stopped.is_some() || left <= 0.0 => 0,
            None => usize::MAX,
            Some(pace) => (left / pace) as usize,
        }
    }

    fn skip(&mut self, what: String) {
        let why = if self.stopped.is_some() { "it was stopped before" } else { "the budget is used" };
        self.not_asked.push(format!("{what}: {why}"));
    }

    fn asked(&mut self, what: &str) {
        self.not_asked.retain(|line| line.strip_prefix(what).is_none_or(|rest| !rest.starts_with(": ")));
    }
}
