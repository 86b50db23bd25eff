//! Findings of a run for people: conclusions, verdicts by task, rankings, doubts, missing figures.

pub(crate) mod worded;

use anyhow::Result;
use mountmark_document::forms::{Block, Last, Object, Subject, Table, list};
use mountmark_document::number;
use mountmark_document::text::BEST;
use mountmark_record::RunRecord;

use crate::figures::find::{Estimate, MetricFindings, TaskFindings};
use crate::figures::say::quantity::quantity;
use crate::figures::say::{basis, category};
use crate::found::Findings;
use crate::matrix::say::best_means;
use crate::overview::say::opening::Opening;
use crate::rankings::find::rank::Rank;
use crate::run::show::about::about;
use crate::sections::Section;
use crate::verdicts::say;
use crate::verdicts::show::worded::WordedFindings;
use crate::view::label;
use crate::{curves, dependence, doubts, missing, overview, remarks};

#[derive(Clone, Copy, Debug)]
pub struct Verdicts<'a> {
    pub run: &'a RunRecord,
    pub findings: &'a Findings,
}

impl Subject for Verdicts<'_> {
    const COMMAND: &'static str = "show --verdict";
    const NAME: &'static str = "the verdicts of a run";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(|subject| sections(subject.run, subject.findings));
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> =
        Some(|subject, out| out.head(&WordedFindings::new(subject.findings)));
}

/// The findings of a run, as reports show them too.
pub(crate) fn sections(run: &RunRecord, findings: &Findings) -> Vec<Block> {
    let opening = Opening::of(findings);
    let mut out = vec![Block::Text(opening.answer)];
    list(&mut out, Section::CONCLUSIONS.heading, &opening.further);
    out.push(Block::Heading(Section::COMPARED.heading.into()));
    out.extend(about(run));
    if let Some(name) = findings.headings.get(findings.baseline).filter(|_| findings.configurations.len() > 1) {
        out.push(Block::Fact("baseline".into(), name.clone()));
    }
    list(&mut out, overview::say::opening::REST, &opening.rest);
    out.extend(curves::show::parts(findings));
    list(&mut out, "How to read them", &remarks::say::sentences(findings));
    let judged: Vec<(&TaskFindings, &MetricFindings)> =
        findings.tasks.iter().filter_map(|task| Some((task, task.judged()?))).collect();
    if !judged.is_empty() && findings.configurations.len() > 1 {
        out.push(Block::Heading("By test".into()));
        for (task, metric) in &judged {
            let sentence = say::sentences(findings, task, metric);
            out.push(Block::Item(format!("{}: {sentence}", label(task))));
        }
    }
    out.extend(ratios(findings, &judged));
    for found in findings.categories.iter().filter(|found| found.ranking.len() > 1) {
        out.push(Block::Heading(format!("Ranking, {} (by {})", category(&found.category), basis(found.basis))));
        out.push(ranking(findings, &found.ranking));
    }
    if findings.overall.ranking.len() > 1 {
        out.push(Block::Heading(format!("Ranking, all tests (by {})", basis(findings.overall.basis))));
        out.push(ranking(findings, &findings.overall.ranking));
    }
    list(&mut out, dependence::say::HEADING, &dependence::say::sentences(findings));
    list(&mut out, doubts::say::HEADING, &doubts::say::sentences(findings));
    list(&mut out, "Missing", &missing::say::sentences(&findings.missing));
    out
}

/// Medians of the baseline, and ratios of the others with their intervals.
fn ratios(findings: &Findings, judged: &[(&TaskFindings, &MetricFindings)]) -> Vec<Block> {
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
        Block::Heading(format!("Against {base}: {what}; * {}", best_means(findings))),
        Block::Table(Table {
            head,
            rows: mark(findings, judged, &others, rows.collect()),
            keys: 1,
            last: Last::Figure,
        }),
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

fn ranking(findings: &Findings, ranks: &[Rank]) -> Block {
    let head = ["file system", "times the best", "95 % interval", "keeps its place"].map(str::to_owned).to_vec();
    let rows = ranks.iter().map(|rank| {
        vec![
            findings.headings[rank.configuration].clone(),
            number::ratio(rank.score),
            rank.interval.map_or("-".into(), number::range),
            rank.stability.map_or("-".into(), number::share),
        ]
    });
    Block::Table(Table { head, rows: rows.collect(), keys: 1, last: Last::Figure })
}

#[cfg(test)]
mod tests;
