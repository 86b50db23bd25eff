//! The search: defaults, options, power cuts. What has to survive decides what takes part.

use std::sync::Arc;

use anyhow::Result;
use mountmark_cells::{Alike, PlannedCell};
use mountmark_findings::advice::{self, Candidate, LeftOut, PowerCuts};
use mountmark_findings::obstacles;
use mountmark_model::{TuningOption, counted};
use mountmark_plan::{Catalogue, configurations};
use mountmark_record::TaskOutcome;

use super::Arguments;
use super::candidates::{self, candidate, say_left_out};
use super::race::Race;
use super::runs::Runs;

/// A search under way.
pub struct Search<'a> {
    pub arguments: &'a Arguments,
    pub runs: Runs<'a>,
    pub race: Race,
    /// What is taken if nothing is better, and what would be if it were not left out.
    pub simplest: String,
    pub usual: String,
    /// The fastest on another file system than the answer.
    pub second: Option<Candidate>,
    /// What power cuts showed, the answer first.
    pub power_cuts: Vec<PowerCuts>,
}

impl<'a> Search<'a> {
    pub fn new(arguments: &'a Arguments) -> Search<'a> {
        let (runs, race) = (Runs::new(arguments), Race::default());
        let (simplest, usual) = (String::new(), String::new());
        Search { arguments, runs, race, simplest, usual, second: None, power_cuts: Vec::new() }
    }

    /// The suite, or the command.
    pub fn work(&self) -> String {
        let of_run = || self.runs.plan().map(|plan| plan.suite.clone()).unwrap_or_default();
        self.arguments.work.line().unwrap_or_else(of_run)
    }

    pub fn scale(&self) -> String {
        self.runs.plan().map_or_else(|| "1".into(), |plan| plan.scale.to_string())
    }

    /// The candidate to take of these file systems; `None` if nothing could be measured, or nothing is safe enough: it is said.
    /// `usual` is taken if nothing is better, or else the first that is safe.
    pub fn all(&mut self, catalogue: &Catalogue, filesystems: &[String], usual: &str) -> Result<Option<Candidate>> {
        usual.clone_into(&mut self.usual);
        self.runs.choose_scale(usual)?;
        let defaults: Vec<Candidate> = filesystems.iter().map(|name| candidate(name, &[])).collect();
        say!("mountmark: {} with their defaults", counted(defaults.len(), "file system"));
        if self.runs.stopped.is_some() || !self.race.measure(&mut self.runs, &defaults, 1)? {
            return Ok(None);
        }
        self.leave_out_failed();
        let order = advice::in_order(&self.race.speeds, &defaults);
        if order.is_empty() {
            say_left_out(&self.race.left_out);
            say!("mountmark: no file system ran this work to its end; `mountmark show` has what was printed");
            return Ok(None);
        }
        let order: Vec<String> = order.iter().map(|one| one.name.clone()).collect();
        self.leave_out_unsafe(catalogue, &defaults)?;
        let is_kept = |name: &&String| !self.race.is_out(name);
        let simplest = filesystems.iter().find(|name| *name == usual).filter(is_kept);
        let Some(simplest) = simplest.or_else(|| filesystems.iter().find(is_kept)).cloned() else {
            say_left_out(&self.race.left_out);
            say!("mountmark: nothing that was asked keeps what has to survive; --survive nothing asks without that");
            return Ok(None);
        };
        self.simplest.clone_from(&simplest);
        self.race.say_best();
        // The faster ones first: there may be no time for the options of all.
        for name in order {
            if self.race.is_out(&name) {
                continue;
            }
            let options = self.safe_options(catalogue, &name)?;
            // If the user stopped it, the others are said to be not asked.
            self.race.screen(&mut self.runs, &name, &options)?;
        }
        let left = self.race.narrow(&mut self.runs, &simplest)?;
        self.race.leave_out_interrupted();
        self.decided(catalogue, left, filesystems)
    }

    /// The answer of what is left. What has to survive is tried, not only read.
    fn decided(
        &mut self,
        catalogue: &Catalogue,
        mut left: Vec<Candidate>,
        filesystems: &[String],
    ) -> Result<Option<Candidate>> {
        while let Some(simplest) = advice::simplest(&self.race.speeds, &left, &self.simplest, filesystems).cloned() {
            self.simplest = simplest.name;
            let answer = advice::decide(&self.race.speeds, &left, &self.simplest, self.race.searched());
            let Some(answer) = answer.cloned() else { break };
            if self.survives(catalogue, &answer)? {
                self.second = self.find_second(catalogue, &answer)?;
                // The simplest may be the second, too.
                if !self.race.is_out(&self.simplest) {
                    self.power_cuts.sort_by_key(|cuts| cuts.configuration != answer.name);
                    return Ok(Some(answer));
                }
            }
            left.retain(|candidate| !self.race.is_out(&candidate.name));
        }
        say_left_out(&self.race.left_out);
        Ok(None)
    }

    /// The fastest on another file system. One that loses what has to survive is left out, and the next is it.
    fn find_second(&mut self, catalogue: &Catalogue, answer: &Candidate) -> Result<Option<Candidate>> {
        while let Some(second) = self.race.second(answer) {
            if self.survives(catalogue, &second)? {
                return Ok(Some(second));
            }
        }
        Ok(None)
    }

    /// What would be taken if nothing were better, and why it is left out; `None` if it is not.
    pub fn instead_of(&self) -> Option<LeftOut> {
        let is_usual = |left: &&LeftOut| left.what == self.usual;
        self.race.left_out.iter().find(is_usual).filter(|_| self.simplest != self.usual).cloned()
    }

    /// The options of a file system with which what has to survive survives; the others are left out.
    fn safe_options<'c>(&mut self, catalogue: &'c Catalogue, name: &str) -> Result<Vec<&'c TuningOption>> {
        let tuning = &candidates::filesystem(catalogue, name)?.tuning;
        let of = |one: &TuningOption| candidate(name, &[&one.option]);
        let single: Vec<Candidate> = tuning.iter().map(of).collect();
        for (one, option) in single.iter().zip(tuning) {
            if let Some(why) = candidates::refused(catalogue, self.arguments, name, option)? {
                self.race.left_out.push(LeftOut { what: one.name.clone(), why });
            }
        }
        self.leave_out_unsafe(catalogue, &single)?;
        Ok(tuning.iter().filter(|one| !self.race.is_out(&of(one).name)).collect())
    }

    /// Leaves out those of `candidates` on which what is wanted does not survive, by documents and by power cuts.
    fn leave_out_unsafe(&mut self, catalogue: &Catalogue, candidates: &[Candidate]) -> Result<()> {
        let (Some(survive), Some(run)) = (self.arguments.survive.0, self.runs.latest()) else { return Ok(()) };
        let names: Vec<String> = candidates.iter().map(|candidate| candidate.name.clone()).collect();
        // Of those that were not measured it is known by what is written.
        let planned = configurations(catalogue, &names)?;
        let mut asked = run.clone();
        if let Some(cell) = asked.plan.cells.first().cloned() {
            let of = |configuration| {
                let alike = Arc::new(Alike { configuration, ..Alike::clone(&cell.alike) });
                PlannedCell { alike, ..cell.clone() }
            };
            asked.plan.cells.extend(planned.into_iter().map(of));
        }
        asked.plan.configurations = names;
        for (name, reason) in obstacles(&asked, survive) {
            if !self.race.is_out(&name) {
                self.race.left_out.push(LeftOut { what: name, why: format!("--survive {}: {reason}", survive.name()) });
            }
        }
        Ok(())
    }

    /// Leaves out those that have no speed, each with what failed on it in the last run.
    fn leave_out_failed(&mut self) {
        for cell in self.runs.latest().iter().flat_map(|run| &run.cells) {
            let name = &cell.configuration;
            let has_speed = self.race.speeds.get(name).is_some_and(|speeds| speeds.iter().any(Option::is_some));
            let tasks = cell.outcomes.iter().filter(|one| one.outcome.is_failed());
            let of_task = |one: &TaskOutcome| Some(format!("{} failed: {}", one.task, one.outcome.reason()?));
            let whole = || Some(format!("the cell failed: {}", cell.outcome.reason()?));
            let why = tasks.filter_map(of_task).next().or_else(whole);
            if let Some(why) = why.filter(|_| !has_speed && !self.race.is_out(name)) {
                self.race.left_out.push(LeftOut { what: name.clone(), why });
            }
        }
    }
}
