//! Failures, skipped tasks, figures that depend on conditions, and doubtful samples.

use std::collections::BTreeMap;

use mountmark_document::markup::Markup;
use mountmark_document::number::counted;
use mountmark_document::put;
use mountmark_model::{Outcome, heading};

use crate::dependence;
use crate::doubts::say::value;
use crate::missing::say;
use crate::sections::Section;
use crate::view::View;

/// Maximum number of failures shown with the output of the command and the kernel; more of a kind add nothing.
const DETAILS: usize = 40;

/// The section; present even if empty, so that readers find the answer.
pub(crate) fn trouble(view: &View) -> Markup {
    let mut out = Markup::new();
    view.heading(&mut out, &Section::TROUBLE);
    let findings = view.findings();
    let failures = failures(view);
    let dependent = dependence::say::sentences(findings);
    if findings.missing.is_empty() && failures.is_empty() && dependent.is_empty() && findings.doubts.is_empty() {
        put!(out, "<p>Nothing: every planned cell ran, every test succeeded, and no sample stands out.</p>\n");
        return out;
    }
    if !findings.missing.is_empty() {
        put!(out, "<ul>\n");
        for sentence in say::sentences(&findings.missing) {
            put!(out, "<li>", sentence, "</li>\n");
        }
        put!(out, "</ul>\n");
    }
    for ((configuration, task, reason), (times, detail)) in failures.iter().take(DETAILS) {
        if detail.is_empty() {
            continue;
        }
        put!(out, "<details><summary>What was said when ", heading(configuration));
        if !task.is_empty() {
            put!(out, " failed at ", task);
        } else {
            put!(out, " failed");
        }
        put!(
            out,
            " (",
            counted(*times, "time", "times"),
            "): ",
            reason,
            "</summary><pre tabindex=\"0\">",
            detail,
            "</pre></details>\n"
        );
    }
    if failures.len() > DETAILS {
        put!(out, "<p>And ", failures.len() - DETAILS, " more kinds of failures.</p>\n");
    }
    if !dependent.is_empty() {
        put!(out, "<p>These depend on conditions that a repeat draws and the question does not name:</p>\n<ul>\n");
        for sentence in dependent {
            put!(out, "<li>", sentence, "</li>\n");
        }
        put!(out, "</ul>\n");
    }
    doubts(&mut out, view);
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

fn doubts(out: &mut Markup, view: &View) {
    let doubts = &view.findings().doubts;
    if doubts.is_empty() {
        return;
    }
    let caption = view.id("doubts-caption");
    put!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"",
        caption,
        "\">\n<table class=\"plain\">\n<caption id=\"",
        caption
    );
    put!(out, "\">Samples that do not fit the others of their row</caption>\n<thead><tr><th scope=\"col\">test</th>");
    put!(
        out,
        "<th scope=\"col\" class=\"words\">file system</th><th scope=\"col\">repeat</th><th scope=\"col\" class=\"words\">metric</th>"
    );
    put!(
        out,
        "<th scope=\"col\">sample</th><th scope=\"col\">the others</th><th scope=\"col\" class=\"words\">run again</th></tr></thead>\n<tbody>\n"
    );
    for doubt in doubts {
        put!(out, "<tr><th scope=\"row\">", doubt.task, "</th><td class=\"words\">", view.name(doubt.configuration));
        put!(
            out,
            "</td><td>",
            doubt.repeat + 1,
            "</td><td class=\"words\">",
            doubt.metric,
            "</td><td>",
            value(doubt, doubt.value)
        );
        let again = if doubt.again { "yes" } else { "no" };
        put!(out, "</td><td>", value(doubt, doubt.others), "</td><td class=\"words\">", again, "</td></tr>\n");
    }
    put!(out, "</tbody>\n</table>\n</div>\n");
}
