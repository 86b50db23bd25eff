//! Findings of a run for people: conclusions, verdicts by task, rankings, doubts, missing figures.

pub(crate) mod worded;

use mountmark_document::forms::{Block, Last, Table};
use mountmark_document::number;
use mountmark_document::text::BEST;

use crate::figures::find::{Estimate, MetricFindings, TaskFindings};
use crate::figures::say::quantity::quantity;
use crate::found::Findings;
use crate::matrix::say::best_means;
use crate::verdicts::say;
use crate::view::label;

/// The verdicts by which these tasks are judged, a sentence each.
pub(crate) fn sentences<'a>(findings: &Findings, tasks: impl Iterator<Item = &'a TaskFindings>) -> Vec<Block> {
    let judged = tasks.filter_map(|task| Some((task, task.judged()?)));
    let item = |(task, metric)| Block::Item(format!("{}: {}", label(task), say::sentences(findings, task, metric)));
    if findings.configurations.len() > 1 { judged.map(item).collect() } else { Vec::new() }
}

/// Medians of the baseline, and ratios of the others with their intervals.
pub(crate) fn ratios(findings: &Findings) -> Vec<Block> {
    let judged: Vec<(&TaskFindings, &MetricFindings)> =
        findings.tasks.iter().filter_map(|task| Some((task, task.judged()?))).collect();
    let others: Vec<usize> = (0..findings.configurations.len()).filter(|at| *at != findings.baseline).collect();
    let is_there = !others.is_empty() && !judged.is_empty();
    let Some(base) = findings.headings.get(findings.baseline).filter(|_| is_there) else {
        return Vec::new();
    };
    let has_interval = judged
        .iter()
        .any(|(_, metric)| metric.estimates.iter().flatten().any(|estimate| estimate.ratio_interval.is_some()));
    let depends = judged.iter().any(|(_, metric)| metric.dependences().next().is_some());
    let what = match (has_interval, depends) {
        (true, true) => "median ratio, its 95 % interval below, or that it depends on conditions",
        (true, false) => "median ratio, its 95 % interval below",
        (false, _) => "ratio",
    };
    let mut head = vec!["test".to_owned(), format!("{base} median")];
    head.extend(others.iter().map(|other| findings.headings[*other].clone()));
    let rows = judged.iter().map(|(task, metric)| {
        let median = metric.median(findings.baseline);
        let mut row = vec![task.id.clone()];
        row.push(median.map_or("-".into(), |median| quantity(metric.metric, median)));
        let depends = |one: usize| metric.dependences().any(|(other, _)| other == one);
        let base_depends = depends(findings.baseline);
        row.extend(others.iter().map(|other| match &metric.estimates[*other] {
            Some(estimate) => ratio_cell(estimate, base_depends || depends(*other)),
            None => "-".into(),
        }));
        row
    });
    vec![
        Block::Subheading(format!("Against {base}: {what}; * {}", best_means(findings))),
        Block::Table(Table::new(head, mark(findings, &judged, &others, rows.collect()), 1, Last::Figure)),
    ]
}

fn ratio_cell(estimate: &Estimate, depends: bool) -> String {
    let Some(ratio) = estimate.ratio else { return "-".into() };
    match estimate.ratio_interval {
        // An interval does not say what will be seen: the section below does.
        _ if depends => format!("{}\ndepends", number::ratio(ratio)),
        Some(interval) => {
            format!("{}\n{}-{}", number::ratio(ratio), number::ratio(interval.low), number::ratio(interval.high))
        }
        None => number::ratio(ratio),
    }
}

/// A star before the figures of those in first place.
fn mark(
    findings: &Findings,
    judged: &[(&TaskFindings, &MetricFindings)],
    others: &[usize],
    mut rows: Vec<Vec<String>>,
) -> Vec<Vec<String>> {
    for (row, (_, metric)) in rows.iter_mut().zip(judged) {
        for (cell, configuration) in
            row.iter_mut().skip(1).zip(std::iter::once(findings.baseline).chain(others.iter().copied()))
        {
            if metric.best.contains(&configuration) {
                cell.insert(0, BEST);
            }
        }
    }
    rows
}
