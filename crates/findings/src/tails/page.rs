//! Work after commands return: the time until their data is durable, and until the machine is idle.

use mountmark_document::draw::plot::{AxisScale, axis};
use mountmark_document::markup::Markup;
use mountmark_document::put;
use mountmark_model::Metric;

use crate::figures::find::TaskFindings;
use crate::figures::say::quantity::{end, quantity};
use crate::matrix::page::label;
use crate::sections::Section;
use crate::verdicts;
use crate::view::View;

/// A test is listed if any file system left at least this part of its returned time, and [`LEAST`] seconds.
const PART: f64 = 0.05;
const LEAST: f64 = 0.01;

/// Sums over the tests of one file system, in seconds.
struct Tail {
    configuration: usize,
    parts: [f64; 3],
}

/// The parts of a bar.
const PARTS: [(&Metric, &str); 3] =
    [(&Metric::ELAPSED, "returned"), (&Metric::SYNC, "then durable"), (&Metric::SETTLE, "then settled")];

/// The section, if the run has such figures.
pub(crate) fn tails(view: &View) -> Markup {
    let mut out = Markup::new();
    let synced = |task: &TaskFindings| task.figures(&Metric::SYNC).is_some();
    let tasks: Vec<&TaskFindings> = view.tasks().filter(|task| synced(task)).collect();
    let totals = PARTS.map(|(metric, _)| view.findings().total(metric, synced).sums);
    let tail = |configuration: usize| {
        let [returned, durable, settled] = [0, 1, 2].map(|part| totals[part][configuration]);
        Some(Tail { configuration, parts: [returned?, durable?, settled?] })
    };
    let tails: Vec<Tail> = (0..view.findings().configurations.len()).filter_map(tail).collect();
    if tasks.is_empty() || tails.is_empty() {
        return out;
    }
    view.heading(&mut out, &Section::TAILS);
    put!(
        out,
        "<p>A command may return before its data is on the medium. What is missing then is flushed and timed apart ("
    );
    put!(
        out,
        "durable), and before the next test begins the machine comes to rest (settled). A file system that is quick "
    );
    put!(out, "because it leaves work for later shows it here.</p>\n");
    chart(&mut out, view, &tails);
    table(&mut out, view, &tasks);
    out
}

fn chart(out: &mut Markup, view: &View, tails: &[Tail]) {
    let scale = AxisScale::covering(tails.iter().map(|tail| tail.parts.iter().sum()));
    put!(
        out,
        "<figure class=\"wide\">\n<figcaption>Sums over the tests: until returned, then durable, then settled.</figcaption>\n<p class=\"key\">"
    );
    for (index, (metric, name)) in PARTS.into_iter().enumerate() {
        put!(out, "<span class=\"kind tail", index, "\" title=\"", metric.about, "\">", name, "</span> ");
    }
    put!(
        out,
        "</p>\n<table class=\"chart\">\n<thead><tr><th scope=\"col\">file system</th><th scope=\"col\" class=\"drawn\">"
    );
    put!(out, axis("0", &end(&Metric::ELAPSED, scale.max)), "</th>");
    for (_, name) in PARTS {
        put!(out, "<th scope=\"col\">", name, "</th>");
    }
    put!(out, "</tr></thead>\n<tbody>\n");
    for tail in tails {
        verdicts::page::head(out, view.name(tail.configuration));
        put!(out, "<td class=\"drawn\"><div class=\"stack\">");
        for (index, part) in tail.parts.iter().enumerate() {
            let share = (100.0 * part / scale.max).min(100.0);
            if share >= 0.05 {
                put!(out, "<span class=\"part tail", index, "\" style=\"width:", format!("{share:.2}"), "%\"></span>");
            }
        }
        put!(out, "</div></td>");
        for part in tail.parts {
            put!(out, "<td>", quantity(&Metric::ELAPSED, part), "</td>");
        }
        put!(out, "</tr>\n");
    }
    put!(out, "</tbody>\n</table>\n</figure>\n");
}

fn table(out: &mut Markup, view: &View, tasks: &[&TaskFindings]) {
    let count = view.findings().configurations.len();
    let matters = |task: &TaskFindings| {
        (0..count).any(|configuration| {
            let value = |metric| task.median(metric, configuration).unwrap_or(0.0);
            let left = value(&Metric::SYNC) + value(&Metric::SETTLE);
            left >= LEAST && left >= PART * value(&Metric::ELAPSED)
        })
    };
    let listed: Vec<&&TaskFindings> = tasks.iter().filter(|task| matters(task)).collect();
    if listed.is_empty() {
        put!(
            out,
            "<p>No file system left more than a twentieth of a test's time, and a hundredth of a second, behind.</p>\n"
        );
        return;
    }
    let caption = view.id("tails-caption");
    put!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"",
        caption,
        "\">\n<table class=\"plain tails\">\n<caption id=\"",
        caption
    );
    put!(
        out,
        "\">Seconds until durable + until settled, after each test that left a twentieth of its time or more</caption>\n"
    );
    put!(out, "<thead><tr><th scope=\"col\">test</th>");
    for name in &view.findings().headings {
        put!(out, "<th scope=\"col\">", name, "</th>");
    }
    put!(out, "</tr></thead>\n<tbody>\n");
    for task in listed {
        put!(out, "<tr><th scope=\"row\">", label(task), "</th>");
        for configuration in 0..count {
            match (task.median(&Metric::SYNC, configuration), task.median(&Metric::SETTLE, configuration)) {
                (Some(sync), Some(settle)) => {
                    put!(out, "<td>", short(sync), " + ", short(settle), "</td>");
                }
                _ => put!(out, "<td class=\"none\">", view.absent(configuration, &task.id), "</td>"),
            }
        }
        put!(out, "</tr>\n");
    }
    put!(out, "</tbody>\n</table>\n</div>\n");
}

/// Seconds to a hundredth: less does not count as work left.
fn short(seconds: f64) -> String {
    if seconds >= 10.0 { format!("{seconds:.1}") } else { format!("{seconds:.2}") }
}
