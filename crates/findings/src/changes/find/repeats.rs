//! Which repeats both runs have, and in which the later run failed.

use std::collections::{BTreeMap, BTreeSet};

use mountmark_record::{CellRecord, RunRecord};
use serde::Serialize;

use crate::figures::find::series::{Figures, Series};

/// A repeat of which the later run has no figure, though it ran.
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

    /// The repeats that ended in the later run without a figure, where the earlier run has one. Repeats of other seeds are
    /// other work: then all that failed, if that is a larger share than in the earlier run. A repeat that was not
    /// planned or not run is no failure.
    pub fn failures(&self, place: &Place, paired: bool) -> Vec<Failure> {
        let Some(other) = place.other else { return Vec::new() };
        let (one, other) = (place.one, (other, self.new.configurations[other].as_str()));
        let earlier = with_figure(self.old, place.before, one);
        let later = with_figure(self.new, place.after, other.0);
        let ran = repeats(&self.after, other.1);
        let failed: BTreeSet<u32> = ran.difference(&later).copied().collect();
        let is_counted = |repeat: &u32| paired && earlier.contains(repeat);
        let before = repeats(&self.before, &self.old.configurations[one]);
        let failed_before = before.difference(&earlier).count();
        let more = !paired && failed.len() * before.len() > failed_before * ran.len();
        let failure = |repeat: u32| Failure { repeat, reason: self.reason(other.1, place.task, repeat) };
        failed.into_iter().filter(|repeat| more || is_counted(repeat)).map(failure).collect()
    }

    fn reason(&self, configuration: &str, task: &str, repeat: u32) -> String {
        let mut cells = self.after.get(&(configuration, repeat)).into_iter().flatten();
        let found = cells.find_map(|cell| {
            let own = cell.outcomes.iter().filter(|ended| ended.task == task).map(|ended| &ended.outcome);
            own.chain([&cell.outcome]).find_map(|outcome| outcome.reason())
        });
        found.map(|reason| reason.trim().to_owned()).unwrap_or_default()
    }
}

fn ended(run: &RunRecord) -> Ended<'_> {
    let mut out = Ended::new();
    for cell in &run.cells {
        out.entry((cell.configuration.as_str(), cell.repeat)).or_default().push(cell);
    }
    out
}

/// The repeats of a configuration that ended.
fn repeats(ended: &Ended, configuration: &str) -> BTreeSet<u32> {
    ended.keys().filter(|(name, _)| *name == configuration).map(|(_, repeat)| *repeat).collect()
}

fn with_figure(figures: &Figures, series: Option<&Series>, configuration: usize) -> BTreeSet<u32> {
    let Some(series) = series else { return BTreeSet::new() };
    let own = figures.blocks.iter().zip(&series.blocks[configuration]);
    own.filter(|(_, value)| value.is_some()).map(|((repeat, _), _)| *repeat).collect()
}
