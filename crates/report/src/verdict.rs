//! What is found in a run, for people: conclusions, verdicts by task, rankings, doubts, what is missing.
//!
//! Not a figure is computed here: everything is in [`Findings`].

use anyhow::Result;
use mountmark_analyse::{Estimate, Findings, MetricFindings, Rank, TaskFindings, VerdictOutcome};
use mountmark_record::RunRecord;

use crate::format::{Options, UnknownName, unknown};
use crate::header::header;
use crate::html::view::{label, quantity};
use crate::section::{Section, markdown, text};

/// The formats of verdicts; the first is the default.
pub const VERDICT_FORMATS: [&str; 3] = ["table", "markdown", "json"];

/// Refuses formats that verdicts do not have.
pub fn check_verdict_format(name: &str) -> Result<(), UnknownName> {
    if VERDICT_FORMATS.contains(&name) { Ok(()) } else { Err(unknown("format", name, VERDICT_FORMATS.to_vec())) }
}

/// The findings as text that ends with a line end.
pub fn verdict(run: &RunRecord, findings: &Findings, format: &str, options: &Options) -> Result<String> {
    check_verdict_format(format)?;
    Ok(match format {
        "json" => serde_json::to_string(findings)? + "\n",
        "markdown" => markdown(&sections(run, findings)),
        _ => text(&sections(run, findings), options),
    })
}

fn sections(run: &RunRecord, findings: &Findings) -> Vec<Section> {
    let mut out: Vec<Section> =
        header(run).into_iter().map(|(label, text)| Section::Labelled(label.into(), text)).collect();
    if let Some(name) = findings.configurations.get(findings.baseline).filter(|_| findings.configurations.len() > 1) {
        out.push(Section::Labelled("baseline".into(), name.clone()));
    }
    list(&mut out, "Conclusions", &findings.conclusions);
    list(&mut out, "How to read them", &findings.remarks);
    let judged: Vec<(&TaskFindings, &MetricFindings)> =
        findings.tasks.iter().filter_map(|task| Some((task, task.judged()?))).collect();
    if !judged.is_empty() && findings.configurations.len() > 1 {
        out.push(Section::Heading("By test".into()));
        for (task, metric) in &judged {
            let sentence = metric.verdict.as_ref().map_or(String::new(), |verdict| verdict.sentence.clone());
            out.push(Section::Item(format!("{}: {sentence}", label(task))));
        }
    }
    out.extend(ratios(findings, &judged));
    for category in findings.categories.iter().filter(|category| category.ranking.len() > 1) {
        out.push(Section::Heading(format!("Ranking, {} (by {})", category.name, category.basis)));
        out.push(ranking(findings, &category.ranking));
    }
    if findings.overall.ranking.len() > 1 {
        out.push(Section::Heading(format!("Ranking, all tests (by {})", findings.overall.basis)));
        out.push(ranking(findings, &findings.overall.ranking));
    }
    let doubts: Vec<String> = findings
        .doubts
        .iter()
        .map(|doubt| {
            let name = &findings.configurations[doubt.configuration];
            let again = if doubt.again { "; its cell was run again" } else { "" };
            let metric = mountmark_model::Metric::find(&doubt.metric);
            let figure = |value: f64| metric.map_or(format!("{value}"), |metric| metric.format(value));
            format!(
                "{name}, {}, {}, repeat {}: {}, the others {}{again}.",
                doubt.task,
                doubt.metric,
                doubt.repeat + 1,
                figure(doubt.value),
                figure(doubt.others)
            )
        })
        .collect();
    list(&mut out, "Doubtful samples", &doubts);
    list(&mut out, "Missing", &findings.missing);
    out
}

fn list(out: &mut Vec<Section>, heading: &str, items: &[String]) {
    if !items.is_empty() {
        out.push(Section::Heading(heading.into()));
        out.extend(items.iter().map(|item| Section::Item(item.clone())));
    }
}

/// Medians of the baseline, ratios of the others with their intervals.
fn ratios(findings: &Findings, judged: &[(&TaskFindings, &MetricFindings)]) -> Vec<Section> {
    let others: Vec<usize> = (0..findings.configurations.len()).filter(|at| *at != findings.baseline).collect();
    let is_there = !others.is_empty() && !judged.is_empty();
    let Some(base) = findings.configurations.get(findings.baseline).filter(|_| is_there) else {
        return Vec::new();
    };
    let has_interval = judged
        .iter()
        .any(|(_, metric)| metric.estimates.iter().flatten().any(|estimate| estimate.ratio_interval.is_some()));
    let what = if has_interval { "median ratio, its 95 % interval below" } else { "ratio" };
    let mut head = vec!["test".to_owned(), format!("{base} median")];
    head.extend(others.iter().map(|other| findings.configurations[*other].clone()));
    let rows = judged.iter().map(|(task, metric)| {
        let median = metric.estimates[findings.baseline].as_ref();
        let mut row = vec![task.id.clone()];
        row.push(median.map_or("-".into(), |found| quantity(metric.metric, found.summary.median)));
        row.extend(others.iter().map(|other| metric.estimates[*other].as_ref().map_or("-".into(), ratio)));
        row
    });
    vec![
        Section::Heading(format!("Against {base}: {what}; * the best, and what shares the first place")),
        Section::Table(head, mark(findings, judged, &others, rows.collect()), 1),
    ]
}

fn ratio(estimate: &Estimate) -> String {
    let Some(ratio) = estimate.ratio else { return "-".into() };
    match estimate.ratio_interval {
        Some(interval) => format!("{}\n{}-{}", short(ratio), short(interval.low), short(interval.high)),
        None => short(ratio),
    }
}

/// Three digits, more near 1.
fn short(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value != 1.0 && (value - 1.0).abs() < 0.02 => format!("{value:.3}"),
        value if value >= 0.1 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}

/// A star before the figures of those that lead.
fn mark(
    findings: &Findings,
    judged: &[(&TaskFindings, &MetricFindings)],
    others: &[usize],
    mut rows: Vec<Vec<String>>,
) -> Vec<Vec<String>> {
    for (row, (_, metric)) in rows.iter_mut().zip(judged) {
        let leaders: Vec<usize> = match metric.verdict.as_ref().map(|verdict| &verdict.outcome) {
            Some(VerdictOutcome::Winner { configuration }) => vec![*configuration],
            Some(VerdictOutcome::Tied { configurations }) => configurations.clone(),
            _ => Vec::new(),
        };
        for (cell, configuration) in
            row.iter_mut().skip(1).zip(std::iter::once(findings.baseline).chain(others.iter().copied()))
        {
            if leaders.contains(&configuration) {
                cell.insert(0, '*');
            }
        }
    }
    rows
}

fn ranking(findings: &Findings, ranks: &[Rank]) -> Section {
    let head = ["file system", "times the best", "95 % interval", "keeps its place"].map(str::to_owned).to_vec();
    let rows = ranks.iter().map(|rank| {
        vec![
            findings.configurations[rank.configuration].clone(),
            short(rank.score),
            rank.interval.map_or("-".into(), |interval| format!("{} to {}", short(interval.low), short(interval.high))),
            rank.stability.map_or("-".into(), |share| format!("{:.0} %", (share * 100.0).floor())),
        ]
    });
    Section::Table(head, rows.collect(), 1)
}

#[cfg(test)]
mod tests;
