//! Failures, skipped tasks, figures that depend on conditions, and doubtful samples.

use std::collections::BTreeMap;

use mountmark_document::forms::{Block, Last, Table};
use mountmark_document::number::counted;
use mountmark_model::{Outcome, heading};

use crate::doubts::say::value;
use crate::missing::say;
use crate::view::View;
use crate::{dependence, doubts};

/// Maximum number of failures shown with the output of the command and the kernel; more of a kind add nothing.
const DETAILS: usize = 40;

/// The section; present even if empty, so that readers find the answer.
pub(crate) fn section(view: &View) -> Vec<Block> {
    let mut out = Vec::new();
    let findings = view.findings();
    let failures = failures(view);
    let dependent = dependence::say::sentences(findings);
    if findings.missing.is_empty() && failures.is_empty() && dependent.is_empty() && findings.doubts.is_empty() {
        out.push(Block::Text(
            "Nothing: every planned cell ran, every test succeeded, and no sample stands out.".into(),
        ));
        return out;
    }
    out.extend(say::sentences(&findings.missing).into_iter().map(Block::Item));
    let told = failures.iter().take(DETAILS).filter(|(_, (_, detail))| !detail.is_empty());
    out.extend(told.map(|((configuration, task, reason), (times, detail))| {
        let at = if task.is_empty() { String::new() } else { format!(" at {task}") };
        let times = counted(*times, "time", "times");
        let summary = format!("What was said when {} failed{at} ({times}): {reason}", heading(configuration));
        Block::Fold(summary, vec![Block::Output((*detail).to_owned())])
    }));
    if failures.len() > DETAILS {
        out.push(Block::Text(format!("And {} more kinds of failures.", failures.len() - DETAILS)));
    }
    if !dependent.is_empty() {
        out.push(Block::Subheading(dependence::say::HEADING.into()));
        out.extend(dependent.into_iter().map(Block::Item));
    }
    if !findings.doubts.is_empty() {
        out.push(Block::Subheading(doubts::say::HEADING.into()));
        out.push(samples(view));
    }
    out
}

type Failures<'a> = BTreeMap<(&'a str, &'a str, &'a str), (usize, &'a str)>;

/// Failures by configuration, task and reason; repeats mostly fail in the same way.
fn failures<'a>(view: &View<'a>) -> Failures<'a> {
    let mut out: Failures = BTreeMap::new();
    for cell in &view.run().cells {
        let tasks = cell.outcomes.iter().map(|ended| (ended.task.as_str(), &ended.outcome));
        let whole = [("", &cell.outcome)].into_iter();
        let mut seen: Vec<&str> = Vec::new();
        for (task, outcome) in tasks.chain(whole) {
            let Outcome::Failed { reason, detail } = outcome else { continue };
            // A failed step ends its cell with the same sentence.
            if seen.contains(&reason.as_str()) {
                continue;
            }
            seen.push(reason);
            let entry = out.entry((&cell.configuration, task, reason)).or_insert((0, detail));
            entry.0 += 1;
        }
    }
    out
}

/// The doubtful samples.
fn samples(view: &View) -> Block {
    let head = ["test", "file system", "repeat", "metric", "sample", "the others", "run again"];
    let row = |doubt: &doubts::find::Doubt| {
        vec![
            doubt.task.clone(),
            view.name(doubt.configuration).to_owned(),
            (doubt.repeat + 1).to_string(),
            doubt.metric.clone(),
            value(doubt, doubt.value),
            value(doubt, doubt.others),
            if doubt.again { "yes" } else { "no" }.to_owned(),
        ]
    };
    Block::Table(Table::new(head, view.findings().doubts.iter().map(row), 2, Last::Words))
}
