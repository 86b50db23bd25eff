//! A run beside the figures of a published study, as a section of a report.

pub(crate) mod graphs;

use mountmark_document::forms::{Block, Last, Table, aside, named, strong};
use mountmark_document::markup::Markup;
use mountmark_document::number::{counted, ratio};
use mountmark_model::Metric;
use mountmark_stats::interval::Interval;

use crate::studies::find::{Agreement, ComparedFigure, OverallComparison, StudyComparison, TestComparison};
use crate::studies::say;
use crate::view::View;

/// The section, if the run was compared with a study.
pub(crate) fn section(view: &View) -> Vec<Block> {
    let Some(study) = view.report.study else { return Vec::new() };
    let StudyComparison { source, study_run, study_run_about, .. } = study;
    let mut out = vec![Block::Text(format!("{source}. Its run {study_run}: {study_run_about}."))];
    out.extend(say::warnings(&study.warnings).into_iter().map(Block::Item));
    let mut drawing = Markup::new();
    graphs::graphs(&mut drawing, study);
    out.push(Block::Drawn(drawing, Vec::new()));
    out.push(match study.overall.is_empty() {
        true => Block::Text(say::NONE.into()),
        false => overall(study),
    });
    if !study.moves.is_empty() {
        out.push(Block::Text("What moved most in rank:".into()));
        out.extend(say::moves(study).into_iter().map(Block::Item));
    }
    let mut metrics: Vec<&str> = study.tests.iter().map(|test| test.metric.as_str()).collect();
    metrics.dedup();
    for (index, metric) in metrics.iter().enumerate() {
        let tests: Vec<&TestComparison> = study.tests.iter().filter(|test| test.metric == *metric).collect();
        let count = counted(tests.len(), "test", "tests");
        let table = table(study, metric, &tests);
        out.push(match index {
            0 => table,
            _ => Block::Fold(format!("{}: {count} beside published figures", title(metric)), vec![table]),
        });
    }
    for (summary, texts) in say::notes(study) {
        if !texts.is_empty() {
            out.push(Block::Fold(summary.into(), texts.into_iter().map(Block::Item).collect()));
        }
    }
    out
}

fn title(metric: &str) -> &str {
    Metric::find(metric).map_or(metric, |metric| metric.title)
}

/// Tau with its interval, or why it is missing.
fn agreement_text(agreement: &Agreement) -> String {
    let Some(tau) = agreement.tau else { return "-".into() };
    tau_text(Some(tau), agreement.interval)
}

fn tau_text(tau: Option<f64>, interval: Option<Interval>) -> String {
    match (tau, interval) {
        (Some(tau), Some(interval)) => format!("{tau:.2} ({})", say::tau_range(interval)),
        (Some(tau), None) => format!("{tau:.2}"),
        (None, _) => "-".into(),
    }
}

/// One row per metric, and the scores of the file systems on both sides.
fn overall(study: &StudyComparison) -> Block {
    let ends = ["tests with a tau", "mean tau", "pairs in order"];
    let head = std::iter::once("metric").chain(study.common.iter().map(String::as_str)).chain(ends);
    let row = |all: &OverallComparison| {
        let scores = all.published_score.iter().zip(&all.measured_score);
        let scores = scores.map(|(published, measured)| pair(*published, *measured, ratio));
        let pairs = format!("{} of {}", all.same, all.same + all.reversed + all.tied);
        let tau = tau_text(all.mean_tau, all.mean_tau_interval);
        let name = std::iter::once(title(&all.metric).to_owned());
        name.chain(scores).chain([all.tests.to_string(), tau, pairs]).collect()
    };
    let table = Table::new(head, study.overall.iter().map(row), 1, Last::Figure);
    Block::Table(Table { caption: say::OVERALL.into(), ..table })
}

fn pair(published: Option<f64>, measured: Option<f64>, text: impl Fn(f64) -> String) -> String {
    let text = |value: Option<f64>| value.map_or("-".to_owned(), &text);
    format!("{} → {}", text(published), text(measured))
}

fn table(study: &StudyComparison, metric: &str, tests: &[&TestComparison]) -> Block {
    let head = std::iter::once("test").chain(study.common.iter().map(String::as_str)).chain(["tau (95 %)"]);
    let row = |test: &&TestComparison| {
        let cells = test.entries.iter().map(|entry| cell(metric, entry));
        // The reason for a missing interval is the same in the whole table; that for a missing tau is not.
        let remark = say::limit(&test.agreement).filter(|_| test.agreement.tau.is_none());
        let tau = agreement_text(&test.agreement) + &remark.map_or(String::new(), |text| format!("\n{}", aside(&text)));
        std::iter::once(named(&test.task, &test.title)).chain(cells).chain([tau]).collect()
    };
    let caption = format!("{}, {}", title(metric), say::RANKED);
    Block::Table(Table { caption, look: "study", ..Table::new(head, tests.iter().map(row), 1, Last::Figure) })
}

/// A published figure and a measured one, and below them their ranks.
fn cell(metric: &str, entry: &ComparedFigure) -> String {
    let figures = pair(entry.published, entry.measured, |value| say::value(metric, value));
    match (entry.published_rank, entry.measured_rank) {
        (Some(from), Some(to)) => {
            let ranks = format!("{from} → {to}");
            let is_far = (from - to).abs() >= 2.0;
            format!("{figures}\n{}", if is_far { strong(&ranks) } else { aside(&ranks) })
        }
        _ => figures,
    }
}
