//! The search: defaults, screening of options, the few that matter in full, and fewer and fewer in more and more repeats.

use std::time::{Duration, Instant};

use anyhow::Result;
use mountmark_findings::advice::{self, Candidate, LeftOut, PowerCuts, Screened, Speeds};
use mountmark_findings::obstacles;
use mountmark_model::{Bytes, Cell, FileSystem, Plan, counted};
use mountmark_plan::{Catalogue, configurations};
use mountmark_record::RunRecord;

use super::Arguments;
use super::candidates::say_left_out;
use super::screen::candidate;
use crate::commands::run;

/// Configurations that are left when repeats are no longer doubled for half of them.
const FEW: usize = 4;

/// Repeats of those that are left at the end.
const MOST_REPEATS: u32 = 8;

/// A search under way.
pub struct Search<'a> {
    pub arguments: &'a Arguments,
    /// Of all configurations that were measured.
    pub speeds: Speeds,
    /// The same, as candidates.
    pub tried: Vec<Candidate>,
    pub screened: Vec<Screened>,
    pub left_out: Vec<LeftOut>,
    /// What is taken if nothing is better.
    pub simplest: String,
    /// What power cuts showed, the answer first.
    pub power_cuts: Vec<PowerCuts>,
    pub not_asked: Vec<String>,
    /// Names of the runs.
    pub runs: Vec<String>,
    /// Cells of all runs, those from the shelf included.
    pub cells: usize,
    /// The last run of the search itself.
    pub latest: Option<RunRecord>,
    /// The exit code, once the user has stopped it.
    pub stopped: Option<u8>,
    begin: Instant,
    /// Wall seconds of measuring, and cells that were measured in them.
    pace: (f64, usize),
    disk_size: Option<Bytes>,
}

impl<'a> Search<'a> {
    pub fn new(arguments: &'a Arguments) -> Search<'a> {
        Search {
            arguments,
            speeds: Speeds::new(),
            tried: Vec::new(),
            screened: Vec::new(),
            left_out: Vec::new(),
            simplest: String::new(),
            power_cuts: Vec::new(),
            not_asked: Vec::new(),
            runs: Vec::new(),
            cells: 0,
            latest: None,
            stopped: None,
            begin: Instant::now(),
            pace: (0.0, 0),
            disk_size: None,
        }
    }

    /// Configurations that the search compares: what makes a difference harder to show.
    pub fn searched(&self) -> usize {
        self.tried.len()
    }

    /// The suite, or the command.
    pub fn work(&self) -> String {
        let of_run = || self.latest.as_ref().map(|run| run.plan.suite.clone()).unwrap_or_default();
        self.arguments.work.line().unwrap_or_else(of_run)
    }

    pub fn scale(&self) -> String {
        self.latest.as_ref().map_or_else(|| "1".into(), |run| run.plan.scale.to_string())
    }

    /// The last plan of the search, for what it is measured on.
    pub fn plan(&self) -> Option<&Plan> {
        self.latest.as_ref().map(|run| &run.plan)
    }

    /// Whether nothing more is asked, as the user stopped it, or as the time is over; then `what` was not asked.
    pub fn is_over(&mut self, what: &str) -> bool {
        self.does_not_fit(0, 0.0, what)
    }

    /// Guests side by side.
    fn jobs(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        self.arguments.jobs.unwrap_or_else(all)
    }

    /// What is left of the budget.
    pub fn time_left(&self) -> Duration {
        self.arguments.budget.saturating_sub(self.begin.elapsed())
    }

    /// The same of something that takes so many cells, each of them so many seconds longer than those before.
    pub fn does_not_fit(&mut self, cells: usize, longer: f64, what: &str) -> bool {
        let (seconds, measured) = self.pace;
        let of_cell = if measured == 0 { 0.0 } else { seconds / measured as f64 } + longer / self.jobs() as f64;
        let needed = cells as f64 * of_cell;
        let is_over =
            self.stopped.is_some() || self.begin.elapsed().as_secs_f64() + needed > self.arguments.budget.as_secs_f64();
        if is_over {
            self.not_asked.push(format!(
                "{what}: {}",
                if self.stopped.is_some() { "it was stopped before" } else { "the budget is used" }
            ));
        }
        is_over
    }

    /// The candidate to take of these file systems; `None` if nothing could be measured, or nothing is safe enough: it is said.
    /// `usual` is taken if nothing is better, or else the first that is safe.
    pub fn all(&mut self, catalogue: &Catalogue, filesystems: &[String], usual: &str) -> Result<Option<Candidate>> {
        let defaults: Vec<Candidate> = filesystems.iter().map(|name| candidate(name, &[])).collect();
        say!("mountmark: {} with their defaults", counted(defaults.len(), "file system"));
        if !self.measure(&defaults, 1)? {
            return Ok(None);
        }
        if advice::in_order(&self.speeds, &defaults).is_empty() {
            self.say_failure();
            say!("mountmark: no file system ran this work to its end; `mountmark show` has what was printed");
            return Ok(None);
        }
        self.leave_out_unsafe(catalogue, &defaults)?;
        let kept: Vec<&FileSystem> = filesystems
            .iter()
            .filter(|name| !self.left_out.iter().any(|left| left.what == **name))
            .map(|name| catalogue.get::<FileSystem>(name))
            .collect::<Result<_, _>>()?;
        let simplest = kept.iter().find(|one| one.name == usual).or(kept.first());
        let Some(simplest) = simplest.map(|one| one.name.clone()) else {
            say_left_out(&self.left_out);
            say!("mountmark: nothing that was asked keeps what has to survive; --survive nothing asks without that");
            return Ok(None);
        };
        self.simplest.clone_from(&simplest);
        self.say_best();
        let population = self.screen(catalogue, &kept)?;
        let mut left = self.narrow(population, &simplest)?;
        // What has to survive is tried, not only read.
        while let Some(answer) = advice::decide(&self.speeds, &left, &simplest, self.searched()).cloned() {
            if self.survives(catalogue, &answer)? {
                return Ok(Some(answer));
            }
            left.retain(|candidate| *candidate != answer);
        }
        say_left_out(&self.left_out);
        Ok(None)
    }

    /// Measures candidates in so many repeats; false if the user stopped it.
    pub(super) fn measure(&mut self, candidates: &[Candidate], repeats: u32) -> Result<bool> {
        let names: Vec<String> = candidates.iter().map(|candidate| candidate.name.clone()).collect();
        let before = self.speeds.clone();
        let Some(run) = self.beside(&names, repeats, &[])? else { return Ok(false) };
        for (name, speeds) in advice::speeds(&run) {
            let known = self.speeds.entry(name).or_default();
            if speeds.len() > known.len() {
                *known = speeds;
            }
        }
        for candidate in candidates {
            if !before.contains_key(&candidate.name) && self.speeds.contains_key(&candidate.name) {
                self.tried.push(candidate.clone());
            }
        }
        for (name, reason) in &run.plan.skipped {
            if !self.left_out.iter().any(|left| left.what == *name) {
                self.left_out.push(LeftOut { what: name.clone(), why: reason.trim_end_matches('.').to_owned() });
            }
        }
        self.latest = Some(run);
        Ok(true)
    }

    /// A run of these configurations beside one another, with further words; `None` if the user stopped it.
    pub fn beside(&mut self, names: &[String], repeats: u32, more: &[&str]) -> Result<Option<RunRecord>> {
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
            ("--scale", arguments.scale.as_ref()),
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
        if let Some(size) = self.disk_size.filter(|_| !more.contains(&"--scale")) {
            add("--disk-size", &size.0.to_string());
        }
        words.extend(more.iter().map(|word| (*word).to_owned()));
        let begin = Instant::now();
        match run::collected(&words, &arguments.work, &arguments.shelf, &arguments.store)? {
            Ok(run) => {
                let fresh = run.cells.iter().filter(|cell| cell.environment.taken.is_none()).count();
                self.pace.0 += begin.elapsed().as_secs_f64();
                self.pace.1 += fresh;
                self.cells += run.cells.len();
                self.disk_size = self.disk_size.or(run.plan.cells.first().map(|cell| cell.disk_size));
                self.runs.push(run.id.to_string());
                Ok(Some(run))
            }
            Err(code) => {
                self.stopped = Some(code);
                Ok(None)
            }
        }
    }

    /// Leaves out those of `candidates` on which what is wanted does not survive, by documents and by power cuts.
    pub(super) fn leave_out_unsafe(&mut self, catalogue: &Catalogue, candidates: &[Candidate]) -> Result<()> {
        let (Some(survive), Some(run)) = (self.arguments.survive.0, &self.latest) else { return Ok(()) };
        let names: Vec<String> = candidates.iter().map(|candidate| candidate.name.clone()).collect();
        // Of those that were not measured it is known by what is written.
        let planned = configurations(catalogue, &names)?;
        let mut asked = run.clone();
        if let Some(cell) = asked.plan.cells.first().cloned() {
            let of = |configuration| Cell { configuration, ..cell.clone() };
            asked.plan.cells.extend(planned.into_iter().map(of));
        }
        asked.plan.configurations = names;
        for (name, reason) in obstacles(&asked, survive) {
            if self.left_out.iter().any(|left| left.what == name) {
                continue;
            }
            self.left_out.push(LeftOut { what: name, why: format!("--survive {}: {reason}", survive.name()) });
        }
        Ok(())
    }

    /// Measures half of the candidates, the faster ones, in twice the repeats, until few are left.
    fn narrow(&mut self, mut left: Vec<Candidate>, simplest: &str) -> Result<Vec<Candidate>> {
        left.retain(|candidate| self.left_out.iter().all(|out| out.what != candidate.name));
        let mut repeats = 2;
        loop {
            let known = |one: &&Candidate| self.speeds.get(&one.name).map_or(0, Vec::len);
            let new: usize = left.iter().map(|one| (repeats as usize).saturating_sub(known(&one))).sum();
            if self.does_not_fit(new, 0.0, &format!("{} in {repeats} repeats", counted(left.len(), "configuration"))) {
                return Ok(left);
            }
            say!("mountmark: {} in {}", counted(left.len(), "configuration"), counted(repeats as usize, "repeat"));
            if !self.measure(&left, repeats)? {
                return Ok(left);
            }
            self.say_best();
            if repeats >= MOST_REPEATS {
                return Ok(left);
            }
            left = self.faster_half(&left, simplest);
            repeats *= 2;
        }
    }

    /// The faster half, with what the answer has to be compared with: the simplest, and the defaults of the fastest.
    fn faster_half(&self, left: &[Candidate], simplest: &str) -> Vec<Candidate> {
        let order = advice::in_order(&self.speeds, left);
        let half = order.len().div_ceil(2).max(FEW);
        let fastest = order.first().map(|first| first.filesystem.clone()).unwrap_or_default();
        // The fastest of another file system: the answer says how far it is behind.
        let second = order.iter().find(|one| one.filesystem != fastest).map(|one| one.name.clone());
        let is_kept = |(place, one): &(usize, &&Candidate)| {
            *place < half || one.name == simplest || one.name == fastest || Some(&one.name) == second.as_ref()
        };
        order.iter().enumerate().filter(is_kept).map(|(_, one)| (*one).clone()).collect()
    }

    /// The fastest configuration of another file system.
    pub fn second(&self, answer: &Candidate) -> Option<Candidate> {
        let most = self.speeds.get(&answer.name)?.len();
        let safe: Vec<Candidate> =
            self.tried.iter().filter(|one| self.left_out.iter().all(|out| out.what != one.name)).cloned().collect();
        let order = advice::in_order(&self.speeds, &safe);
        let others = || order.iter().filter(|one| one.filesystem != answer.filesystem);
        // Those of as many repeats first: few repeats flatter.
        let as_many = others().find(|one| self.speeds[&one.name].len() == most);
        as_many.or_else(|| others().next()).map(|one| (*one).clone())
    }

    /// What failed in the last run.
    fn say_failure(&self) {
        let cells = self.latest.iter().flat_map(|run| &run.cells);
        let of_cell = |cell: &'_ mountmark_record::CellRecord| {
            let task = cell.outcomes.iter().find_map(|one| Some((one.task.clone(), one.outcome.reason()?.to_owned())));
            let (task, reason) = task.or_else(|| Some(("the cell".into(), cell.outcome.reason()?.to_owned())))?;
            Some(format!("{task} failed on {}: {reason}", cell.configuration))
        };
        if let Some(failure) = cells.filter_map(of_cell).next() {
            say!("mountmark: {failure}");
        }
    }

    /// How it stands.
    fn say_best(&self) {
        let order = advice::in_order(&self.speeds, &self.tried);
        let safe = order.iter().filter(|one| self.left_out.iter().all(|out| out.what != one.name));
        let most = self.tried.iter().map(|one| self.speeds[&one.name].len()).max().unwrap_or(0);
        let lead: Vec<&&Candidate> = safe.filter(|one| self.speeds[&one.name].len() == most).take(2).collect();
        if let [first, next] = &lead[..]
            && let Some(gain) = advice::gain(&self.speeds, &first.name, &next.name, self.searched())
        {
            let sure = if gain.shown { "shown" } else { "not yet shown" };
            say!(
                "mountmark: so far {} is fastest, {:.1} % before {} ({sure}, {} of {})",
                first.name,
                100.0 * (gain.ratio - 1.0),
                next.name,
                counted(most, "repeat"),
                counted(self.tried.len(), "configuration")
            );
        }
    }
}
