//! A run beside an earlier one, in four formats.

use anyhow::Result;
use mountmark_analyse::{Change, ChangeOutcome, Changes};

use crate::csv::{number, quote};
use crate::format::Options;
use crate::html::view::quantity;
use crate::section::{Section, markdown, text};
use crate::study::check_comparison_format;
use crate::text::titled;

/// The changes as text that ends with a line end.
pub fn changes(changes: &Changes, format: &str, options: &Options) -> Result<String> {
    check_comparison_format(format)?;
    Ok(match format {
        "json" => serde_json::to_string_pretty(changes)? + "\n",
        "csv" => csv(changes),
        "markdown" => markdown(&sections(changes)),
        _ => text(&sections(changes), options),
    })
}

const HEAD: &str = "before,after,configuration,task,metric,unit,before_n,before_median,after_n,after_median,ratio,ratio_low,\
                    ratio_high,worse,outcome\n";

fn csv(changes: &Changes) -> String {
    let mut out = String::from(HEAD);
    let or_empty = |value: Option<f64>| value.map_or(String::new(), number);
    for change in &changes.changes {
        let (metric, unit) = (change.metric.id, change.metric.unit_text());
        let names =
            [&changes.before, &changes.after, &change.configuration, &change.task, metric, unit].map(quote).join(",");
        let count = |summary: &Option<mountmark_analyse::Summary>| summary.map_or(0, |summary| summary.n);
        out += &format!(
            "{names},{},{},{},{},{},{},{},{},{}\n",
            count(&change.before),
            or_empty(change.before.map(|summary| summary.median)),
            count(&change.after),
            or_empty(change.after.map(|summary| summary.median)),
            or_empty(change.ratio),
            or_empty(change.interval.map(|interval| interval.low)),
            or_empty(change.interval.map(|interval| interval.high)),
            or_empty(change.worse),
            word(change.outcome),
        );
    }
    out
}

/// As in JSON.
fn word(outcome: ChangeOutcome) -> &'static str {
    match outcome {
        ChangeOutcome::Lost => "lost",
        ChangeOutcome::Regression => "regression",
        ChangeOutcome::NoDifferenceShown => "no-difference-shown",
        ChangeOutcome::NotJudged => "not-judged",
        ChangeOutcome::New => "new",
        ChangeOutcome::Improvement => "improvement",
    }
}

fn sections(changes: &Changes) -> Vec<Section> {
    let mut out = vec![
        Section::Labelled("before".into(), changes.before.clone()),
        Section::Labelled("after".into(), changes.after.clone()),
    ];
    out.extend(changes.remarks.iter().map(|remark| Section::Labelled("note".into(), remark.clone())));
    out.push(Section::Heading("What differs between the runs".into()));
    if changes.differences.is_empty() {
        out.push(Section::Paragraph("Nothing but their names.".into()));
    } else {
        let rows = changes.differences.iter().map(|d| vec![d.what.clone(), d.before.clone(), d.after.clone()]);
        for row in rows {
            out.push(Section::Item(format!("{}: {} before, {} after", row[0], row[1], row[2])));
        }
    }
    let count = |outcome: ChangeOutcome| changes.changes.iter().filter(|change| change.outcome == outcome).count();
    out.push(Section::Heading("What changed".into()));
    out.push(Section::Paragraph(format!(
        "Of {} figures, {} worse, {} better, {} without a difference that matters, {} lost, {} new, {} not judged.",
        changes.changes.len(),
        count(ChangeOutcome::Regression),
        count(ChangeOutcome::Improvement),
        count(ChangeOutcome::NoDifferenceShown),
        count(ChangeOutcome::Lost),
        count(ChangeOutcome::New),
        count(ChangeOutcome::NotJudged),
    )));
    // The count above says how many others there are, and JSON and CSV have them.
    let told = changes.changes.iter().filter(|change| change.outcome != ChangeOutcome::NoDifferenceShown);
    let rows: Vec<Vec<String>> = told.map(row).collect();
    if !rows.is_empty() {
        let head = ["file system", "test", "metric", "before", "after", "ratio", "95 %", "change"];
        let head = head.map(str::to_owned).to_vec();
        out.push(Section::Table(head, rows, 3));
    }
    out
}

fn row(change: &Change) -> Vec<String> {
    let figure = |value: Option<f64>| value.map_or("-".into(), |value| quantity(change.metric, value));
    let factor = |value: f64| format!("{value:.3}");
    let outcome = match change.outcome {
        ChangeOutcome::Regression => format!("worse: {}", change.more_or_less()),
        ChangeOutcome::Improvement => format!("better: {}", change.more_or_less()),
        ChangeOutcome::NoDifferenceShown => "none shown".into(),
        ChangeOutcome::NotJudged => "not judged".into(),
        outcome => word(outcome).into(),
    };
    vec![
        change.configuration.clone(),
        titled(&change.task, &change.title),
        change.metric.title.into(),
        figure(change.before.map(|summary| summary.median)),
        figure(change.after.map(|summary| summary.median)),
        change.ratio.map_or("-".into(), factor),
        change.interval.map_or("-".into(), |found| format!("{}-{}", factor(found.low), factor(found.high))),
        outcome,
    ]
}

#[cfg(test)]
mod tests;
