//! A run compared with an earlier one.

use anyhow::Result;
use mountmark_document::forms::{Block, Last, Object, Rows, Subject, Table, number_or_empty};
use mountmark_document::number::ratio;
use mountmark_document::text::titled;
use mountmark_model::heading;
use serde::Serialize;

use crate::changes::find::differences::Difference;
use crate::changes::find::{Change, ChangeOutcome};
use crate::changes::say::{counts, failed, more_or_less, remarks};
use crate::changes::{find, say};
use crate::figures::say::quantity::quantity;
use crate::missing::say::in_repeats;
use crate::run::show::about::labels;

#[derive(Clone, Copy, Debug)]
pub struct RunBeside<'a>(pub &'a find::Changes);

impl Subject for RunBeside<'_> {
    const COMMAND: &'static str = "compare RUN RUN";
    const NAME: &'static str = "a comparison of two runs";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(parts);
    const ROWS: Option<fn(&Self, &mut Rows) -> Result<()>> = Some(|changes, out| rows(changes.0, out));
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> =
        Some(|changes, out| out.head(&WordedChanges::new(changes.0)));
}

const HEAD: &str = "before,after,configuration,task,metric,unit,before_n,before_median,after_n,after_median,ratio,ratio_low,\
                    ratio_high,worse,outcome";

pub(crate) fn rows(changes: &find::Changes, out: &mut Rows) -> Result<()> {
    out.head(HEAD)?;
    for change in &changes.changes {
        let count =
            |summary: &Option<mountmark_stats::summary::Summary>| summary.map_or(0, |summary| summary.n).to_string();
        out.line([
            &changes.before,
            &changes.after,
            &change.configuration,
            &change.task,
            change.metric.id,
            change.metric.unit_text(),
            &count(&change.before),
            &number_or_empty(change.before.map(|summary| summary.median)),
            &count(&change.after),
            &number_or_empty(change.after.map(|summary| summary.median)),
            &number_or_empty(change.ratio),
            &number_or_empty(change.interval.map(|interval| interval.low)),
            &number_or_empty(change.interval.map(|interval| interval.high)),
            &number_or_empty(change.worse),
            word(change.outcome),
        ])?;
    }
    Ok(())
}

/// The word in JSON.
fn word(outcome: ChangeOutcome) -> &'static str {
    match outcome {
        ChangeOutcome::Lost => "lost",
        ChangeOutcome::LostInSome => "lost-in-some",
        ChangeOutcome::Regression => "regression",
        ChangeOutcome::NoDifferenceShown => "no-difference-shown",
        ChangeOutcome::NotJudged => "not-judged",
        ChangeOutcome::New => "new",
        ChangeOutcome::Improvement => "improvement",
    }
}

fn parts(RunBeside(changes): &RunBeside) -> Vec<Block> {
    let mut out =
        vec![Block::Fact("before".into(), changes.before.clone()), Block::Fact("after".into(), changes.after.clone())];
    out.extend(remarks(changes).into_iter().map(|remark| Block::Fact("note".into(), remark)));
    let names = changes.changes.iter().map(|change| change.configuration.as_str());
    out.extend(labels(names));
    out.extend(differences(&changes.differences));
    out.push(Block::Heading("What changed".into()));
    out.push(Block::Text(counts(&changes.changes)));
    // The count above includes the others; JSON and CSV list them.
    let told = changes.changes.iter().filter(|change| change.outcome != ChangeOutcome::NoDifferenceShown);
    let rows: Vec<Vec<String>> = told.map(row).collect();
    if !rows.is_empty() {
        out.push(Block::Table(Table::new(TABLE, rows, 3, Last::Repeated)));
    }
    out
}

/// The heads of [`row`].
pub(crate) const TABLE: [&str; 8] = ["file system", "test", "metric", "before", "after", "ratio", "95 %", "change"];

/// What differs between two runs, beside their figures.
pub(crate) fn differences(found: &[Difference]) -> Vec<Block> {
    let mut out = vec![Block::Heading("What differs between the runs".into())];
    let item = |d: &Difference| Block::Item(format!("{}: {} before, {} after", d.what, d.before, d.after));
    out.extend(found.iter().map(item));
    if found.is_empty() {
        out.push(Block::Text("Nothing but their names.".into()));
    }
    out
}

pub(crate) fn row(change: &Change) -> Vec<String> {
    let figure = |value: Option<f64>| value.map_or("-".into(), |value| quantity(change.metric, value));
    let outcome = match change.outcome {
        ChangeOutcome::Regression => format!("worse: {}", more_or_less(change)),
        ChangeOutcome::Improvement => format!("better: {}", more_or_less(change)),
        ChangeOutcome::NoDifferenceShown => "none shown".into(),
        ChangeOutcome::NotJudged => "not judged".into(),
        ChangeOutcome::LostInSome => format!("lost {}", in_repeats(&failed(change))),
        outcome => word(outcome).into(),
    };
    vec![
        heading(&change.configuration).into_owned(),
        titled(&change.task, &change.title),
        change.metric.title.into(),
        figure(change.before.map(|summary| summary.median)),
        figure(change.after.map(|summary| summary.median)),
        change.ratio.map_or("-".into(), ratio),
        change.interval.map_or("-".into(), |found| format!("{}-{}", ratio(found.low), ratio(found.high))),
        outcome,
    ]
}

#[derive(Serialize)]
pub(crate) struct WordedChanges<'a> {
    #[serde(flatten)]
    found: &'a find::Changes,
    remarks: Vec<String>,
    changes: Vec<WordedChange<'a>>,
}

#[derive(Serialize)]
struct WordedChange<'a> {
    #[serde(flatten)]
    change: &'a Change,
    sentence: String,
}

impl<'a> WordedChanges<'a> {
    pub(crate) fn new(found: &'a find::Changes) -> WordedChanges<'a> {
        let worded = |change| WordedChange { change, sentence: say::sentence(found, change) };
        let changes = found.changes.iter().map(worded).collect();
        WordedChanges { found, remarks: say::remarks(found), changes }
    }
}

#[cfg(test)]
mod tests;
