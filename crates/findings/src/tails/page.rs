//! Work after commands return: the time until their data is durable, and until the machine is idle.

use mountmark_document::draw::plot::{self, AxisScale, axis};
use mountmark_document::forms::{Block, Last, Table, named};
use mountmark_document::markup::Markup;
use mountmark_document::put;
use mountmark_model::Metric;

use crate::figures::find::TaskFindings;
use crate::figures::say::quantity::{end, quantity};
use crate::verdicts;
use crate::view::View;

/// A test is listed if any file system left at least this part of its returned time, and [`LEAST`] seconds.
const PART: f64 = 0.05;
const LEAST: f64 = 0.01;

/// Sums over the tests of one file system, in seconds.
struct Tail {
    configuration: usize,
    /// `None` if a test has no figure.
    parts: [Option<f64>; 3],
}

/// The parts of a bar.
const PARTS: [(&Metric, &str); 3] =
    [(&Metric::ELAPSED, "returned"), (&Metric::SYNC, "then durable"), (&Metric::SETTLE, "then settled")];

/// The section, if the run has such figures.
pub(crate) fn section(view: &View) -> Vec<Block> {
    let synced = |task: &TaskFindings| task.figures(&Metric::SYNC).is_some();
    let tasks: Vec<&TaskFindings> = view.tasks().filter(|task| synced(task)).collect();
    let totals = PARTS.map(|(metric, _)| view.findings().total(metric, synced).sums);
    let tail = |configuration: usize| Tail { configuration, parts: [0, 1, 2].map(|part| totals[part][configuration]) };
    let tails: Vec<Tail> = (0..view.findings().configurations.len()).map(tail).collect();
    if tasks.is_empty() || tails.iter().all(|tail| tail.parts.contains(&None)) {
        return Vec::new();
    }
    let mut drawing = Markup::new();
    chart(&mut drawing, view, &tails);
    vec![Block::Text(ABOUT.into()), Block::Drawn(drawing, vec![sums(view, &tails)]), table(view, &tasks)]
}

const ABOUT: &str = "A command may return before its data is on the medium. What is missing then is flushed and timed apart \
                     (durable), and before the next test begins the machine comes to rest (settled). A file system that \
                     is quick because it leaves work for later shows it here.";

const SUMS: &str = "Sums over the tests: until returned, then durable, then settled";

fn sum(part: Option<f64>) -> String {
    part.map_or("-".into(), |part| quantity(&Metric::ELAPSED, part))
}

/// Explains the sums that are not there.
fn without(tails: &[Tail]) -> &'static str {
    let lacks = tails.iter().any(|tail| tail.parts.contains(&None));
    if lacks { "; no sum where a test has no figure" } else { "" }
}

/// The sums, where they are not drawn.
fn sums(view: &View, tails: &[Tail]) -> Block {
    let head = std::iter::once("file system").chain(PARTS.map(|(_, name)| name));
    let row = |tail: &Tail| {
        let cells = tail.parts.map(sum);
        std::iter::once(view.name(tail.configuration).to_owned()).chain(cells).collect()
    };
    let caption = format!("{SUMS}{}", without(tails));
    Block::Table(Table { caption, ..Table::new(head, tails.iter().map(row), 1, Last::Figure) })
}

fn chart(out: &mut Markup, view: &View, tails: &[Tail]) {
    let scale = AxisScale::covering(tails.iter().filter_map(|tail| tail.parts.into_iter().sum()));
    put!(out, "<figure class=\"wide\">\n<figcaption>", SUMS, without(tails), ".</figcaption>\n<p class=\"key\">");
    for (index, (metric, name)) in PARTS.into_iter().enumerate() {
        put!(out, "<span class=\"kind tail", index, "\" title=\"", metric.about, "\">", name, "</span> ");
    }
    put!(out, "</p>\n");
    let drawn = ("drawn", axis("0", &end(&Metric::ELAPSED, scale.max)));
    let heads = [plot::head("file system"), drawn].into_iter().chain(PARTS.map(|(_, name)| plot::head(name)));
    plot::begin_chart(out, "", heads);
    for tail in tails {
        verdicts::page::head(out, view.name(tail.configuration));
        put!(out, "<td class=\"drawn\"><div class=\"stack\">");
        let parts = if tail.parts.contains(&None) { [None; 3] } else { tail.parts };
        for (index, part) in parts.into_iter().flatten().enumerate() {
            let share = (100.0 * part / scale.max).min(100.0);
            if share >= 0.05 {
                put!(out, "<span class=\"part tail", index, "\" style=\"width:", format!("{share:.2}"), "%\"></span>");
            }
        }
        put!(out, "</div></td>");
        for part in tail.parts {
            put!(out, "<td>", sum(part), "</td>");
        }
        put!(out, "</tr>\n");
    }
    put!(out, "</tbody>\n</table>\n</figure>\n");
}

/// What each test left behind.
fn table(view: &View, tasks: &[&TaskFindings]) -> Block {
    let count = view.findings().configurations.len();
    let matters = |task: &TaskFindings| {
        (0..count).any(|configuration| {
            let value = |metric| task.median(metric, configuration).unwrap_or(0.0);
            let left = value(&Metric::SYNC) + value(&Metric::SETTLE);
            left >= LEAST && left >= PART * value(&Metric::ELAPSED)
        })
    };
    let cell =
        |task: &TaskFindings, one: usize| match (task.median(&Metric::SYNC, one), task.median(&Metric::SETTLE, one)) {
            (Some(sync), Some(settle)) => format!("{} + {}", short(sync), short(settle)),
            _ => view.absent(one, &task.id).to_owned(),
        };
    let listed = tasks.iter().filter(|task| matters(task));
    let rows: Vec<Vec<String>> = listed
        .map(|task| {
            std::iter::once(named(&task.id, &task.title)).chain((0..count).map(|one| cell(task, one))).collect()
        })
        .collect();
    if rows.is_empty() {
        return Block::Text(NOTHING.into());
    }
    let caption = "Seconds until durable + until settled, after each test that left a twentieth of its time or more";
    let head = std::iter::once("test").chain(view.findings().headings.iter().map(String::as_str));
    Block::Table(Table { caption: caption.into(), look: "tails", ..Table::new(head, rows, 1, Last::Figure) })
}

const NOTHING: &str =
    "No file system left more than a twentieth of a test's time, and a hundredth of a second, behind.";

/// Seconds to a hundredth: less does not count as work left.
fn short(seconds: f64) -> String {
    if seconds >= 10.0 { format!("{seconds:.1}") } else { format!("{seconds:.2}") }
}
