//! A run beside figures that were kept: what is worse than a limit, and why.

use anyhow::Result;
use mountmark_document::forms::{Block, Check, Last, Object, Rows, Subject, Table};
use mountmark_document::number::{and, percent};
use mountmark_model::heading;

use crate::baseline::find::Reason;
use crate::changes::find::{Change, ChangeOutcome, Changes};
use crate::changes::say;
use crate::changes::show::{TABLE, WordedChanges, row, rows};

/// Changes since a baseline.
#[derive(Clone, Copy, Debug)]
pub struct Gate<'a> {
    pub changes: &'a Changes,
    /// The share by which a figure may be worse: 0.02.
    pub limit: f64,
    /// What makes changes.
    pub causes: &'a [Reason],
}

impl Gate<'_> {
    /// How its files for programs begin, by the names of formats.
    pub const STARTS: [(&'static str, &'static str); 3] = [
        ("json", "{\"before\":"),
        ("csv", "before,after,configuration,task,"),
        ("junit", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"a run beside its baseline\""),
    ];

    /// What fails, the worst first, each in a sentence with its cause.
    pub fn failures(&self) -> Vec<String> {
        self.changes.beyond(self.limit).into_iter().map(|change| self.failure(change)).collect()
    }

    fn failure(&self, change: &Change) -> String {
        let sentence = say::sentence(self.changes, change);
        match self.cause(change) {
            Some(cause) => format!("{sentence} {cause}"),
            None => sentence,
        }
    }

    fn cause(&self, change: &Change) -> Option<&str> {
        let change = (&change.task, &change.configuration, change.metric.id);
        let is_it = |cause: &&Reason| (&cause.task, &cause.configuration, cause.metric) == change;
        self.causes.iter().find(is_it).map(|cause| cause.sentence.as_str())
    }

    fn headline(&self) -> String {
        let (all, beyond) = (self.changes.changes.len(), self.changes.beyond(self.limit));
        let is = |count: usize| if count == 1 { "1 is".to_owned() } else { format!("{count} are") };
        let of = |outcome: ChangeOutcome| self.changes.changes.iter().filter(|one| one.outcome == outcome).count();
        let worse = beyond.iter().filter(|change| change.outcome == ChangeOutcome::Regression).count();
        let worse = if worse == 0 { "none is".to_owned() } else { is(worse) };
        let mut parts = vec![format!("{worse} worse by more than {}", percent(self.limit))];
        for (count, what) in [
            (of(ChangeOutcome::Lost), "lost"),
            (of(ChangeOutcome::LostInSome), "lost in some repeats"),
            (of(ChangeOutcome::NotJudged), "not judged"),
        ] {
            parts.extend((count > 0).then(|| format!("{} {what}", is(count))));
        }
        format!("Of {all} figures, {}.", and(parts))
    }
}

impl Subject for Gate<'_> {
    const COMMAND: &'static str = "baseline check";
    const NAME: &'static str = "a run beside its baseline";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(blocks);
    const ROWS: Option<fn(&Self, &mut Rows) -> Result<()>> = Some(|gate, out| rows(gate.changes, out));
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> = Some(object);
    const CHECKS: Option<fn(&Self) -> Vec<Check>> = Some(checks);
}

/// Short enough for a pull request: what moved or is not judged, and why.
fn blocks(gate: &Gate) -> Vec<Block> {
    let mut out = vec![Block::Text(gate.headline())];
    // What is not judged is no evidence that nothing became worse.
    let moved = |change: &&Change| change.outcome != ChangeOutcome::NoDifferenceShown;
    let moved: Vec<&Change> = gate.changes.changes.iter().filter(moved).collect();
    if !moved.is_empty() {
        let rows = moved.iter().map(|change| row(change));
        out.push(Block::Table(Table::new(TABLE, rows, 3, Last::Repeated)));
    }
    out.extend(say::of_one_run(gate.changes).into_iter().map(Block::Item));
    out.extend(gate.causes.iter().map(|cause| Block::Item(cause.sentence.clone())));
    out
}

fn object(gate: &Gate, out: &mut Object) -> Result<()> {
    out.head(&WordedChanges::new(gate.changes))?;
    out.list("failures", gate.failures())?;
    out.list("causes", gate.causes)
}

fn checks(gate: &Gate) -> Vec<Check> {
    let beyond = gate.changes.beyond(gate.limit);
    let check = |change: &Change| Check {
        class: heading(&change.configuration).into_owned(),
        name: format!("{}, {}", change.task, change.metric.id),
        failure: beyond.contains(&change).then(|| gate.failure(change)),
        skipped: (change.outcome == ChangeOutcome::NotJudged).then(|| say::sentence(gate.changes, change)),
    };
    gate.changes.changes.iter().map(check).collect()
}

#[cfg(test)]
mod tests;
