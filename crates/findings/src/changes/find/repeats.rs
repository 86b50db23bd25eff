//! Which repeats both runs have, and in which the later run failed.

use std::collections::{BTreeMap, BTreeSet};

use mountmark_model::Outcome;
use mountmark_record::{CellRecord, RunRecord};
use serde::Serialize;

use crate::figures::find::series::{Figures, Series};

/// A repeat in which the later run tried a task in vain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// Counted from 0.
    pub repeat: u32,
    /// Empty if none was given.
    pub reason: String,
}

/// The cells that ended, by configuration and repeat.
type Ended<'a> = BTreeMap<(&'a str, u32), Vec<&'a CellRecord>>;

/// Two runs, with their figures and the cells that ended.
pub(super) struct BothRuns<'a> {
    pub old: &'a Figures,
    pub new: &'a Figures,
    before: Ended<'a>,
    after: Ended<'a>,
}

/// The figures of one task by one metric, before and after.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub task: &'a str,
    pub before: Option<&'a Series>,
    pub after: Option<&'a Series>,
    /// The configuration's position in the earlier run.
    pub one: usize,
    /// And in the later one.
    pub other: Option<usize>,
}

impl<'a> BothRuns<'a> {
    pub fn new((before, old): (&'a RunRecord, &'a Figures), (after, new): (&'a RunRecord, &'a Figures)) -> Self {
        BothRuns { old, new, before: ended(before), after: ended(after) }
    }

    /// Figures before and after of the repeats that both runs have, by number.
    pub fn pairs(&self, place: &Place) -> Vec<(f64, f64)> {
        let (Some(before), Some(after), Some(other)) = (place.before, place.after, place.other) else {
            return Vec::new();
        };
        let earlier: BTreeMap<u32, f64> = self
            .old
            .blocks
            .iter()
            .zip(&before.blocks[place.one])
            .filter_map(|((repeat, _), value)| Some((*repeat, (*value)?)))
            .collect();
        let later = self.new.blocks.iter().zip(&after.blocks[other]);
        later.filter_map(|((repeat, _), value)| Some((*earlier.get(repeat)?, (*value)?))).collect()
    }

    /// The repeats in which the later run tried the task in vain, where the earlier run has a figure. Repeats of other seeds
    /// are other work: then all that failed, if that is a larger share than in the earlier run. What was not planned, not run
    /// or skipped is no failure.
    pub fn failures(&self, place: &Place, paired: bool) -> Vec<Failure> {
        let Some(other) = place.other else { return Vec::new() };
        let earlier = with_figure(self.old, place.before, place.one);
        let later = with_figure(self.new, place.after, other);
        let before = tried(&self.before, &self.old.configurations[place.one], place.task);
        let after = tried(&self.after, &self.new.configurations[other], place.task);
        let failed = |tried: &Tried| tried.values().filter(|reason| reason.is_some()).count();
        let more = !paired && failed(&after) * before.len() > failed(&before) * after.len();
        let is_counted = |repeat: &u32| !later.contains(repeat) && (more || paired && earlier.contains(repeat));
        let failure = |(repeat, reason): (u32, Option<String>)| Some(Failure { repeat, reason: reason? });
        after.into_iter().filter(|(repeat, _)| is_counted(repeat)).filter_map(failure).collect()
    }
}

/// The repeats in which a task was tried, each with its reason if that failed.
type Tried = BTreeMap<u32, Option<String>>;

fn tried(ended: &Ended, configuration: &str, task: &str) -> Tried {
    let own = ended.iter().filter(|((name, _), _)| *name == configuration);
    let outcomes = own.flat_map(|((_, repeat), cells)| cells.iter().map(|cell| (*repeat, deciding(cell, task))));
    let mut out = Tried::new();
    for (repeat, outcome) in outcomes.filter_map(|(repeat, outcome)| Some((repeat, outcome?))) {
        let reason = outcome.is_failed().then(|| outcome.reason().unwrap_or_default().trim().to_owned());
        out.entry(repeat).and_modify(|known| *known = known.take().or(reason.clone())).or_insert(reason);
    }
    out
}

/// What became of a task in a cell; `None` if the cell did not try it.
fn deciding<'a>(cell: &'a CellRecord, task: &str) -> Option<&'a Outcome> {
    // A run that varies a parameter has a cell for each of its points, which are in the names of tasks.
    let is_its = match task.rsplit_once('@') {
        None => true,
        Some((_, point)) => cell.outcomes.iter().any(|ended| ended.task.ends_with(&format!("@{point}"))),
    };
    match cell.outcomes.iter().find(|ended| ended.task == task) {
        Some(own) => Some(&own.outcome).filter(|outcome| !matches!(outcome, Outcome::Skipped { .. })),
        None => Some(&cell.outcome).filter(|outcome| outcome.is_failed() && is_its),
    }
}

fn ended(run: &RunRecord) -> Ended<'_> {
    let mut out = Ended::new();
    for cell in &run.cells {
        out.entry((cell.configuration.as_str(), cell.repeat)).or_default().push(cell);
    }
    out
}

fn with_figure(figures: &Figures, series: Option<&Series>, configuration: usize) -> BTreeSet<u32> {
    let Some(series) = series else { return BTreeSet::new() };
    let own = figures.blocks.iter().zip(&series.blocks[configuration]);
    own.filter(|(_, value)| value.is_some()).map(|((repeat, _), _)| *repeat).collect()
}
