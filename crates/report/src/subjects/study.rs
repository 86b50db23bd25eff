//! A run compared with a published study.

use anyhow::Result;
use mountmark_analyse::Interval;
use mountmark_analyse::study::{Agreement, ComparedFigure, OverallComparison, StudyComparison, TestComparison};
use mountmark_model::{Better, Metric};

use super::{Object, Rows, Subject};
use crate::text::titled;
use crate::worded::WordedStudy;
use crate::words;
use crate::words::number::ratio;
use crate::writers::csv::number_or_empty;
use crate::writers::{Last, Part, Table, list};

#[derive(Clone, Copy, Debug)]
pub struct StudyBeside<'a>(pub &'a StudyComparison);

impl Subject for StudyBeside<'_> {
    const COMMAND: &'static str = "compare --study";
    const NAME: &'static str = "a comparison with a study";
    const PARTS: Option<fn(&Self) -> Vec<Part>> = Some(parts);
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

fn parts(StudyBeside(comparison): &StudyBeside) -> Vec<Part> {
    let mut out = vec![
        labelled("study", comparison.source.clone()),
        labelled("", format!("{}, run {}: {}", comparison.study, comparison.study_run, comparison.study_run_about)),
    ];
    for other in &comparison.other_study_runs {
        out.push(labelled("", format!("another run: --study '{}#{other}'", comparison.study)));
    }
    out.push(labelled("run", comparison.run.clone()));
    out.extend(words::study::warnings(&comparison.warnings).into_iter().map(|text| labelled("note", text)));
    if comparison.tests.is_empty() {
        out.push(Part::Heading(match comparison.single.is_empty() {
            true => "There is no figure that both have.".into(),
            false => "Only one file system has figures in both: nothing is ranked.".into(),
        }));
    }
    for overall in &comparison.overall {
        metric(&mut out, comparison, overall);
    }
    moved(&mut out, comparison);
    let joined = |names: &[String]| names.join(", ");
    if !comparison.only_published.is_empty() {
        out.push(Part::Heading(format!("Only the study has: {}", joined(&comparison.only_published))));
    }
    if !comparison.only_measured.is_empty() {
        out.push(Part::Heading(format!("Only the run has: {}", joined(&comparison.only_measured))));
    }
    for (heading, items) in [
        ("The run has no figure of:", words::study::not_measured(comparison)),
        ("Both have figures of only one file system, so nothing is ranked:", words::study::single(comparison)),
        ("How the run's suite does the tests that changed most:", comparison.decisions.clone()),
        ("Where the study contradicts itself:", comparison.inconsistencies.clone()),
        ("How this was computed:", words::study::remarks()),
    ] {
        list(&mut out, heading, &items);
    }
    out
}

fn labelled(label: &str, text: String) -> Part {
    Part::Labelled(label.into(), text)
}

/// The tests of one metric, and their summary.
fn metric(out: &mut Vec<Part>, comparison: &StudyComparison, overall: &OverallComparison) {
    let tests: Vec<&TestComparison> = comparison.tests.iter().filter(|test| test.metric == overall.metric).collect();
    let Some(first) = tests.first() else { return };
    let better = match first.better {
        Better::Lower => "lower is better",
        Better::Higher => "higher is better",
    };
    let (title, unit) = Metric::find(&overall.metric)
        .map_or((&*overall.metric, &*first.unit), |metric| (metric.title, metric.unit_text()));
    out.push(Part::Heading(format!(
        "{title} ({unit}), {better}: published above, measured below, each with its rank."
    )));
    let mut head = vec![format!("{title} ({unit})")];
    head.extend(comparison.common.iter().cloned());
    head.push("tau".into());
    let rows = tests.iter().map(|test| row(test)).collect();
    out.push(Part::Table(Table { head, rows, keys: 1, last: Last::Repeated }));
    out.extend(together(comparison, overall).into_iter().map(Part::Paragraph));
}

fn row(test: &TestComparison) -> Vec<String> {
    let mut row = vec![titled(&test.task, &test.title)];
    row.extend(test.entries.iter().map(|entry| cell(&test.metric, entry)));
    row.push(tau(&test.agreement));
    row
}

fn cell(metric: &str, entry: &ComparedFigure) -> String {
    let figure = |value: Option<f64>, rank: Option<f64>| match (value, rank) {
        (Some(value), Some(rank)) => format!("{} #{:<3}", format_value(metric, value), rank),
        (Some(value), None) => format!("{}     ", format_value(metric, value)),
        (None, _) => "-     ".into(),
    };
    format!("{}\n{}", figure(entry.published, entry.published_rank), figure(entry.measured, entry.measured_rank))
}

fn tau(agreement: &Agreement) -> String {
    let Some(tau) = agreement.tau else {
        return if agreement.items < 3 { "too few".into() } else { "all equal".into() };
    };
    agreement.interval.map_or(format!("{tau:.2}"), |interval| format!("{tau:.2}\n{}", range(interval)))
}

fn range(interval: Interval) -> String {
    format!("{:.2} to {:.2}", interval.low, interval.high)
}

fn format_value(metric: &str, value: f64) -> String {
    Metric::find(metric).map_or_else(|| format!("{value}"), |metric| metric.format(value))
}

fn together(comparison: &StudyComparison, overall: &OverallComparison) -> Vec<String> {
    let mut out = Vec::new();
    let pairs = overall.same + overall.reversed + overall.tied;
    if let (Some(mean), true) = (overall.mean_tau, overall.tests > 1) {
        let interval =
            overall.mean_tau_interval.map_or(String::new(), |interval| format!(" (95 %: {})", range(interval)));
        out.push(format!(
            "All {} tests: mean tau {mean:.2}{interval}. Of {pairs} pairs of file systems {} are in the same order, {} in reverse \
             order, {} equal on one side.",
            overall.tests, overall.same, overall.reversed, overall.tied
        ));
    }
    let order = |scores: &[Option<f64>]| {
        let mut scored: Vec<(&String, f64)> =
            comparison.common.iter().zip(scores).filter_map(|(fs, score)| Some((fs, (*score)?))).collect();
        let higher = Metric::find(&overall.metric).is_some_and(|metric| metric.better == Better::Higher);
        scored.sort_by(|a, b| if higher { b.1.total_cmp(&a.1) } else { a.1.total_cmp(&b.1) });
        scored.iter().map(|(fs, score)| format!("{fs} {score:.2}")).collect::<Vec<_>>().join(", ")
    };
    if overall.tests > 1 && overall.agreement.items > 1 {
        let agreement = match (overall.agreement.tau, overall.agreement.interval, overall.agreement.p) {
            (Some(tau), Some(interval), Some(p)) => format!("; tau {tau:.2} ({}), p {p:.2}", range(interval)),
            (Some(tau), None, _) => format!("; tau {tau:.2}"),
            _ => String::new(),
        };
        out.push(format!(
            "Mean ratio to the group, best first. Published: {}. Measured: {}{agreement}.",
            order(&overall.published_score),
            order(&overall.measured_score)
        ));
    }
    out
}

fn moved(out: &mut Vec<Part>, comparison: &StudyComparison) {
    let of = |metric: &str| if metric == Metric::ELAPSED.id { String::new() } else { format!(" ({metric})") };
    let moves = comparison.moves.iter().map(|found| {
        format!(
            "{} {}{}: {} from rank {} to {} of {} ({}, now {})",
            found.task,
            found.title,
            of(&found.metric),
            found.fs,
            found.from,
            found.to,
            found.of,
            format_value(&found.metric, found.published),
            format_value(&found.metric, found.measured),
        )
    });
    list(out, "Largest changes of rank:", &moves.collect::<Vec<_>>());
    let changes = comparison.changes.iter().map(|found| {
        format!(
            "{} {}{}: {} from {} to {} of the group's mean ({} times as much)",
            found.task,
            found.title,
            of(&found.metric),
            found.fs,
            ratio(found.from),
            ratio(found.to),
            ratio(found.factor),
        )
    });
    list(out, "Largest changes of the ratio to the group:", &changes.collect::<Vec<_>>());
}
