//! All tests together: stacked bars of their times, one row per file system.

use mountmark_document::draw::plot::{self, AxisScale, axis};
use mountmark_document::forms::{Block, Last, Table};
use mountmark_document::markup::Markup;
use mountmark_document::number::ratio;
use mountmark_document::{put, writers};
use mountmark_model::Metric;

use crate::figures::find::{TaskFindings, best_as_printed};
use crate::figures::say::quantity::{end, quantity};
use crate::view::{LOOKS, View, category};
use crate::{figures, verdicts};

/// A part at least this wide, in percent of the scale, has room for a task's id.
const ROOM: f64 = 3.2;

/// Parts thinner than this, in percent of the scale, are not drawn.
const THIN: f64 = 0.05;

pub(crate) struct Bar<'a> {
    pub configuration: usize,
    /// Returned times in seconds, by category and then in task order.
    pub parts: Vec<(&'a TaskFindings, f64)>,
    pub lacking: usize,
    /// The composite of the findings; `None` if a task lacks a figure.
    pub sum: Option<f64>,
}

impl Bar<'_> {
    /// In seconds.
    pub(crate) fn length(&self) -> f64 {
        self.parts.iter().map(|(_, value)| value).sum()
    }
}

/// The bars, shortest first; incomplete ones last.
pub(crate) fn bars<'a>(view: &View<'a>) -> Vec<Bar<'a>> {
    let mut tasks = timed(view);
    let categories = view.categories();
    tasks.sort_by_key(|task| categories.iter().position(|name| *name == category(task)));
    let mut bars: Vec<Bar> = (0..view.findings().configurations.len())
        .map(|configuration| {
            let values = tasks.iter().map(|task| (*task, task.median(&Metric::ELAPSED, configuration)));
            let parts: Vec<_> = values.filter_map(|(task, value)| Some((task, value?))).collect();
            let sum = view.findings().overall.composite.get(configuration).copied().flatten();
            Bar { configuration, lacking: tasks.len() - parts.len(), parts, sum }
        })
        .filter(|bar| !bar.parts.is_empty())
        .collect();
    bars.sort_by(|a, b| (a.lacking > 0).cmp(&(b.lacking > 0)).then(a.length().total_cmp(&b.length())));
    bars
}

/// The tests with a returned time: a program has one, its parts do not.
pub(crate) fn timed<'a>(view: &View<'a>) -> Vec<&'a TaskFindings> {
    view.tasks().filter(|task| task.figures(&Metric::ELAPSED).is_some()).collect()
}

/// The look of a category.
pub(crate) fn look(categories: &[&str], name: &str) -> usize {
    categories.iter().position(|known| *known == name).unwrap_or(0) % LOOKS
}

/// The section, if there are at least two tests.
pub(crate) fn section(view: &View) -> Vec<Block> {
    let bars = bars(view);
    let categories = view.categories();
    if bars.is_empty() || timed(view).len() < 2 {
        return Vec::new();
    }
    let mut out = vec![Block::Drawn(composite(view, &bars, &categories), vec![figures(view, &bars)])];
    out.extend(by_kind(view, &bars, &categories));
    out
}

fn composite(view: &View, bars: &[Bar], categories: &[&str]) -> Markup {
    let mut out = Markup::new();
    let tests = timed(view).len();
    let scale = AxisScale::covering(bars.iter().map(Bar::length));
    put!(out, "<figure class=\"wide\">\n<figcaption>Sum of the returned times of ", tests);
    put!(out, " tests, each a part of the bar, coloured by kind of work.</figcaption>\n<p class=\"key\">");
    for name in categories {
        put!(out, "<span class=\"kind look", look(categories, name), "\">", name, "</span> ");
    }
    put!(out, "</p>\n");
    let baseline = view.name(view.findings().baseline);
    let drawn = ("drawn", axis("0", &end(&Metric::ELAPSED, scale.max)));
    let mean = ("roomy", plot::head(&format!("mean ratio to {baseline}")).1);
    plot::begin_chart(&mut out, "", [plot::head("file system"), drawn, plot::head("sum"), mean]);
    let best = best_as_printed(&Metric::ELAPSED, &view.findings().overall.composite);
    for bar in bars {
        row(&mut out, view, bar, scale, categories, &best);
    }
    put!(out, "</tbody>\n</table>\n");
    put!(
        out,
        "<p class=\"legend\">A sum is led by the longest tests. The mean ratio is the geometric mean over ",
        over(view),
        " of the "
    );
    let basis = view.findings().overall.basis;
    let inverse = if basis.has_rates() { " (of a rate its inverse, so that less is better)" } else { "" };
    put!(out, figures::say::basis(basis), inverse, ", in which each test counts the same.</p>\n</figure>\n");
    out
}

fn row(out: &mut Markup, view: &View, bar: &Bar, scale: AxisScale, categories: &[&str], best: &[usize]) {
    let name = view.name(bar.configuration);
    verdicts::page::head(out, name);
    put!(out, "<td class=\"drawn\"><div class=\"stack\">");
    for (task, value) in &bar.parts {
        let share = (100.0 * value / scale.max).min(100.0);
        if share.is_nan() || share < THIN {
            continue;
        }
        let title = format!("{} {}: {}", task.id, task.title, quantity(&Metric::ELAPSED, *value));
        put!(
            out,
            "<span class=\"part look",
            look(categories, category(task)),
            "\" style=\"width:",
            format!("{share:.2}")
        );
        put!(out, "%\" title=\"", title, "\" aria-hidden=\"true\">");
        if share >= ROOM && task.id.chars().count() <= 4 {
            put!(out, task.id);
        }
        put!(out, "</span>");
    }
    put!(out, "</div></td>");
    if bar.lacking > 0 {
        put!(out, "<td class=\"none\">", sum(bar), "</td>");
    } else if best.contains(&bar.configuration) {
        writers::html::put_best(out, &sum(bar));
    } else {
        put!(out, "<td>", sum(bar), "</td>");
    }
    put!(out, "<td class=\"roomy\">", mean(view, bar), "</td></tr>\n");
}

/// The sum of a bar, and of how many tests it lacks the figures.
fn sum(bar: &Bar) -> String {
    let sum = Metric::ELAPSED.format(bar.sum.unwrap_or_else(|| bar.length()));
    match bar.lacking {
        0 => format!("{sum} s"),
        lacking => format!("{sum} s without {lacking} of the tests"),
    }
}

/// The tests of mean ratios: those that are ranked.
fn over(view: &View) -> String {
    let findings = view.findings();
    let judged = findings.suite().filter(|task| task.judged_by.is_some()).count();
    match findings.overall.unranked.len() {
        0 => "all tests".to_owned(),
        unranked => format!("{} of {judged} tests", judged - unranked),
    }
}

/// The geometric mean of the ratios to the baseline.
fn mean(view: &View, bar: &Bar) -> String {
    let mean = view.findings().overall.geometric_mean.get(bar.configuration).copied().flatten();
    mean.map_or("-".into(), ratio)
}

/// The sums and mean ratios, where bars are not drawn.
fn figures(view: &View, bars: &[Bar]) -> Block {
    let baseline = view.name(view.findings().baseline);
    let row = |bar: &Bar| vec![view.name(bar.configuration).to_owned(), sum(bar), mean(view, bar)];
    let caption = format!("Sum of the returned times of {} tests; mean ratio over {}", timed(view).len(), over(view));
    let head = ["file system", "sum", &format!("mean ratio to {baseline}")];
    Block::Table(Table { caption, ..Table::new(head, bars.iter().map(row), 1, Last::Figure) })
}

/// The same sums by category, as figures.
fn by_kind(view: &View, bars: &[Bar], categories: &[&str]) -> Option<Block> {
    if categories.len() < 2 {
        return None;
    }
    let of_kind = |name: &&str| view.findings().total(&Metric::ELAPSED, |task| category(task) == *name).sums;
    let sums: Vec<Vec<Option<f64>>> = categories.iter().map(of_kind).collect();
    let row = |bar: &Bar| {
        let cells =
            sums.iter().map(|sums| sums[bar.configuration].map_or("-".into(), |sum| Metric::ELAPSED.format(sum)));
        std::iter::once(view.name(bar.configuration).to_owned()).chain(cells).collect()
    };
    let caption = "The same sums by kind of work, in seconds".into();
    let head = std::iter::once("file system").chain(categories.iter().copied());
    Some(Block::Table(Table { caption, ..Table::new(head, bars.iter().map(row), 1, Last::Figure) }))
}
