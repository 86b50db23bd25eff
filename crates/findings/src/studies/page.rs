//! A run compared with the figures of a published study.

pub(crate) mod graphs;

use mountmark_document::markup::Markup;
use mountmark_document::number::{counted, ratio};
use mountmark_document::put;
use mountmark_model::Metric;
use mountmark_stats::interval::Interval;

use crate::sections::Section;
use crate::studies::find::{Agreement, ComparedFigure, StudyComparison, TestComparison};
use crate::studies::say;
use crate::view::View;

/// The section, if the run was compared with a study.
pub(crate) fn study(view: &View) -> Markup {
    let mut out = Markup::new();
    let Some(study) = view.report.study else { return out };
    view.heading(&mut out, &Section::STUDY);
    put!(out, "<p>", study.source, ". Its run ", study.study_run, ": ", study.study_run_about, ".</p>\n");
    if !study.warnings.is_empty() {
        put!(out, "<div class=\"limits\"><ul>\n");
        for warning in say::warnings(&study.warnings) {
            put!(out, "<li>", warning, "</li>\n");
        }
        put!(out, "</ul></div>\n");
    }
    graphs::graphs(&mut out, view, study);
    overall(&mut out, view, study);
    moves(&mut out, study);
    let mut metrics: Vec<&str> = study.tests.iter().map(|test| test.metric.as_str()).collect();
    metrics.dedup();
    for (index, metric) in metrics.iter().enumerate() {
        let tests: Vec<&TestComparison> = study.tests.iter().filter(|test| test.metric == *metric).collect();
        if index > 0 {
            put!(
                out,
                "<details><summary>",
                title(metric),
                ": ",
                counted(tests.len(), "test", "tests"),
                " beside published figures</summary>\n"
            );
        }
        table(&mut out, view, study, metric, index, &tests);
        if index > 0 {
            put!(out, "</details>\n");
        }
    }
    for (summary, texts) in [
        ("What the publication has and this run has not", say::not_measured(study)),
        ("Where the publication contradicts itself", study.inconsistencies.clone()),
        ("How this was computed", say::remarks()),
    ] {
        if !texts.is_empty() {
            put!(out, "<details><summary>", summary, "</summary>\n<ul>\n");
            for text in texts {
                put!(out, "<li>", text, "</li>\n");
            }
            put!(out, "</ul>\n</details>\n");
        }
    }
    out
}

fn title(metric: &str) -> &str {
    Metric::find(metric).map_or(metric, |metric| metric.title)
}

/// Tau with its interval, or why it is missing.
fn agreement_text(agreement: &Agreement) -> String {
    let Some(tau) = agreement.tau else { return "–".into() };
    tau_text(Some(tau), agreement.interval)
}

fn tau_text(tau: Option<f64>, interval: Option<Interval>) -> String {
    match (tau, interval) {
        (Some(tau), Some(interval)) => format!("{tau:.2} ({})", say::tau_range(interval)),
        (Some(tau), None) => format!("{tau:.2}"),
        (None, _) => "–".into(),
    }
}

/// One row per metric, and the scores of the file systems on both sides.
fn overall(out: &mut Markup, view: &View, study: &StudyComparison) {
    if study.overall.is_empty() {
        put!(out, "<p>", say::NONE, "</p>\n");
        return;
    }
    let caption = view.id("study-overall");
    put!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"",
        caption,
        "\">\n<table class=\"plain\">\n<caption id=\"",
        caption,
        "\">"
    );
    put!(out, say::OVERALL, "</caption>\n<thead><tr><th scope=\"col\">metric</th>");
    for name in &study.common {
        put!(out, "<th scope=\"col\">", name, "</th>");
    }
    put!(
        out,
        "<th scope=\"col\">tests</th><th scope=\"col\">mean tau</th><th scope=\"col\">pairs in order</th></tr></thead>\n<tbody>\n"
    );
    for all in &study.overall {
        put!(out, "<tr><th scope=\"row\">", title(&all.metric), "</th>");
        for (published, measured) in all.published_score.iter().zip(&all.measured_score) {
            put!(out, "<td>", pair(*published, *measured, ratio), "</td>");
        }
        let pairs = all.same + all.reversed + all.tied;
        put!(out, "<td>", all.tests, "</td><td>", tau_text(all.mean_tau, all.mean_tau_interval), "</td><td>");
        put!(out, all.same, " of ", pairs, "</td></tr>\n");
    }
    put!(out, "</tbody>\n</table>\n</div>\n");
}

fn pair(published: Option<f64>, measured: Option<f64>, text: impl Fn(f64) -> String) -> String {
    let text = |value: Option<f64>| value.map_or("–".to_owned(), &text);
    format!("{} → {}", text(published), text(measured))
}

fn moves(out: &mut Markup, study: &StudyComparison) {
    if study.moves.is_empty() {
        return;
    }
    put!(out, "<p>What moved most in rank:</p>\n<ul>\n");
    for sentence in say::moves(study) {
        put!(out, "<li>", sentence, "</li>\n");
    }
    put!(out, "</ul>\n");
}

fn table(
    out: &mut Markup,
    view: &View,
    study: &StudyComparison,
    metric: &str,
    index: usize,
    tests: &[&TestComparison],
) {
    let caption = view.id(&format!("study-{index}"));
    put!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"",
        caption,
        "\">\n<table class=\"plain study\">\n<caption id=\"",
        caption
    );
    put!(out, "\">", title(metric), ", ", say::RANKED, "</caption>\n");
    put!(out, "<thead><tr><th scope=\"col\">test</th>");
    for name in &study.common {
        put!(out, "<th scope=\"col\">", name, "</th>");
    }
    put!(out, "<th scope=\"col\">tau (95 %)</th></tr></thead>\n<tbody>\n");
    for test in tests {
        put!(out, "<tr><th scope=\"row\"><span class=\"id\">", test.task, "</span> ");
        if test.title != test.task {
            put!(out, test.title);
        }
        put!(out, "</th>");
        for entry in &test.entries {
            cell(out, metric, entry);
        }
        put!(out, "<td>", agreement_text(&test.agreement));
        // The reason for a missing interval is the same in the whole table; that for a missing tau is not.
        if let Some(remark) = say::limit(&test.agreement).filter(|_| test.agreement.tau.is_none()) {
            put!(out, "<span class=\"verdict\">", remark, "</span>");
        }
        put!(out, "</td></tr>\n");
    }
    put!(out, "</tbody>\n</table>\n</div>\n");
}

fn cell(out: &mut Markup, metric: &str, entry: &ComparedFigure) {
    let text = |value| say::value(metric, value);
    put!(out, "<td>", pair(entry.published, entry.measured, text));
    if let (Some(from), Some(to)) = (entry.published_rank, entry.measured_rank) {
        let class = if (from - to).abs() >= 2.0 { "ranks far" } else { "ranks" };
        put!(out, "<span class=\"", class, "\">", from, " → ", to, "</span>");
    }
    put!(out, "</td>");
}
