//! A run compared with a published study.

pub(crate) mod worded;

use anyhow::Result;
use mountmark_document::forms::{Block, Last, Object, Rows, Subject, Table, list, number_or_empty};
use mountmark_document::text::titled;
use mountmark_model::Metric;

use crate::matrix;
use crate::studies::find::{Agreement, ComparedFigure, OverallComparison, StudyComparison, TestComparison};
use crate::studies::say;
use crate::studies::show::worded::WordedStudy;

#[derive(Clone, Copy, Debug)]
pub struct StudyBeside<'a>(pub &'a StudyComparison);

impl Subject for StudyBeside<'_> {
    const COMMAND: &'static str = "compare --study";
    const NAME: &'static str = "a comparison with a study";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(parts);
    const ROWS: Option<fn(&Self, &mut Rows) -> Result<()>> = Some(rows);
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> =
        Some(|beside, out| out.head(&WordedStudy::new(beside.0)));
}

const HEAD: &str = "study,study_run,run,metric,unit,task,fs,published,measured,published_rank,measured_rank,\
                    published_ratio,measured_ratio,tau,tau_low,tau_high,p";

fn rows(StudyBeside(comparison): &StudyBeside, out: &mut Rows) -> Result<()> {
    out.head(HEAD)?;
    for test in &comparison.tests {
        for (fs, entry) in comparison.common.iter().zip(&test.entries) {
            let names =
                [&comparison.study, &comparison.study_run, &comparison.run, &test.metric, &test.unit, &test.task, fs];
            let agreement = &test.agreement;
            let figures = [
                entry.published,
                entry.measured,
                entry.published_rank,
                entry.measured_rank,
                entry.published_ratio,
                entry.measured_ratio,
                agreement.tau,
                agreement.interval.map(|interval| interval.low),
                agreement.interval.map(|interval| interval.high),
                agreement.p,
            ];
            out.line(names.into_iter().cloned().chain(figures.map(number_or_empty)))?;
        }
    }
    Ok(())
}

fn parts(StudyBeside(comparison): &StudyBeside) -> Vec<Block> {
    let mut out = vec![
        labelled("study", comparison.source.clone()),
        labelled("", format!("{}, run {}: {}", comparison.study, comparison.study_run, comparison.study_run_about)),
    ];
    for other in &comparison.other_study_runs {
        out.push(labelled("", format!("another run: --study '{}#{other}'", comparison.study)));
    }
    out.push(labelled("run", comparison.run.clone()));
    out.extend(say::warnings(&comparison.warnings).into_iter().map(|text| labelled("note", text)));
    if comparison.tests.is_empty() {
        out.push(Block::Heading(say::unranked(comparison).into()));
    }
    for overall in &comparison.overall {
        metric(&mut out, comparison, overall);
    }
    list(&mut out, "Largest changes of rank:", &say::moves(comparison));
    list(&mut out, "Largest changes of the ratio to the group:", &say::changes(comparison));
    out.extend(say::one_sided(comparison).into_iter().map(Block::Heading));
    for (heading, items) in say::notes(comparison) {
        list(&mut out, &format!("{heading}:"), &items);
    }
    out
}

fn labelled(label: &str, text: String) -> Block {
    Block::Fact(label.into(), text)
}

/// The tests of one metric, and their summary.
fn metric(out: &mut Vec<Block>, comparison: &StudyComparison, overall: &OverallComparison) {
    let tests: Vec<&TestComparison> = comparison.tests.iter().filter(|test| test.metric == overall.metric).collect();
    let Some(first) = tests.first() else { return };
    let name = match Metric::find(&overall.metric) {
        Some(metric) => matrix::say::head(metric),
        None => format!("{} ({})", overall.metric, first.unit),
    };
    out.push(Block::Heading(say::tests(&name, first.better)));
    let mut head = vec![name];
    head.extend(comparison.common.iter().cloned());
    head.push("tau".into());
    out.push(Block::Table(Table::new(head, tests.iter().map(|test| row(test)), 1, Last::Repeated)));
    out.extend(say::together(comparison, overall).into_iter().map(Block::Text));
}

fn row(test: &TestComparison) -> Vec<String> {
    let mut row = vec![titled(&test.task, &test.title)];
    row.extend(test.entries.iter().map(|entry| cell(&test.metric, entry)));
    row.push(tau(&test.agreement));
    row
}

fn cell(metric: &str, entry: &ComparedFigure) -> String {
    let figure = |value: Option<f64>, rank: Option<f64>| match (value, rank) {
        (Some(value), Some(rank)) => format!("{} #{:<3}", say::value(metric, value), rank),
        (Some(value), None) => format!("{}     ", say::value(metric, value)),
        (None, _) => "-     ".into(),
    };
    format!("{}\n{}", figure(entry.published, entry.published_rank), figure(entry.measured, entry.measured_rank))
}

fn tau(agreement: &Agreement) -> String {
    match (agreement.tau, agreement.interval) {
        (Some(tau), Some(interval)) => format!("{tau:.2}\n{}", say::tau_range(interval)),
        (Some(tau), None) => format!("{tau:.2}"),
        (None, _) => say::no_tau(agreement).into(),
    }
}
