//! All tests together: stacked bars of their times, one row per file system.

use mountmark_document::draw::plot::{AxisScale, axis};
use mountmark_document::markup::Markup;
use mountmark_document::number::ratio;
use mountmark_document::{put, writers};
use mountmark_model::Metric;

use crate::figures::find::TaskFindings;
use crate::figures::say::quantity::{end, quantity};
use crate::sections::Section;
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
pub(crate) fn composite(view: &View) -> Markup {
    let mut out = Markup::new();
    let bars = bars(view);
    let categories = view.categories();
    let tests = timed(view).len();
    if bars.is_empty() || tests < 2 {
        return out;
    }
    view.heading(&mut out, &Section::TOGETHER);
    let scale = AxisScale::covering(bars.iter().map(Bar::length));
    put!(out, "<figure class=\"wide\">\n<figcaption>Sum of the returned times of ", tests);
    put!(out, " tests, each a part of the bar, coloured by kind of work.</figcaption>\n<p class=\"key\">");
    for name in &categories {
        put!(out, "<span class=\"kind look", look(&categories, name), "\">", name, "</span> ");
    }
    put!(
        out,
        "</p>\n<table class=\"chart\">\n<thead><tr><th scope=\"col\">file system</th><th scope=\"col\" class=\"drawn\">"
    );
    put!(out, axis("0", &end(&Metric::ELAPSED, scale.max)), "</th><th scope=\"col\">sum</th>");
    let baseline = view.name(view.findings().baseline);
    put!(out, "<th scope=\"col\" class=\"roomy\">mean ratio to ", baseline, "</th></tr></thead>\n<tbody>\n");
    let least = bars.iter().find_map(|bar| bar.sum).map(|sum| Metric::ELAPSED.format(sum));
    for bar in &bars {
        row(&mut out, view, bar, scale, &categories, least.as_deref());
    }
    put!(out, "</tbody>\n</table>\n");
    put!(
        out,
        "<p class=\"legend\">A sum is led by the longest tests. The mean ratio is the geometric mean over all tests of the "
    );
    let basis = view.findings().overall.basis;
    let inverse = if basis.has_rates() { " (of a rate its inverse, so that less is better)" } else { "" };
    put!(out, figures::say::basis(basis), inverse, ", in which each test counts the same.</p>\n</figure>\n");
    by_kind(&mut out, view, &bars, &categories);
    out
}

fn row(out: &mut Markup, view: &View, bar: &Bar, scale: AxisScale, categories: &[&str], least: Option<&str>) {
    let sum = Metric::ELAPSED.format(bar.sum.unwrap_or_else(|| bar.length()));
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
        put!(out, "<td class=\"none\">", sum, " s without ", bar.lacking, " of the tests</td>");
    } else if view.findings().configurations.len() > 1 && least == Some(sum.as_str()) {
        writers::html::put_best(out, &format!("{sum} s"));
    } else {
        put!(out, "<td>", sum, " s</td>");
    }
    let mean = view.findings().overall.geometric_mean.get(bar.configuration).copied().flatten();
    put!(out, "<td class=\"roomy\">", mean.map_or("–".into(), ratio), "</td></tr>\n");
}

/// The same sums by category, as figures.
fn by_kind(out: &mut Markup, view: &View, bars: &[Bar], categories: &[&str]) {
    if categories.len() < 2 {
        return;
    }
    let caption = view.id("kinds-caption");
    put!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"",
        caption,
        "\">\n<table class=\"plain\">\n"
    );
    put!(out, "<caption id=\"", caption, "\">The same sums by kind of work, in seconds</caption>\n");
    put!(out, "<thead><tr><th scope=\"col\">file system</th>");
    for name in categories {
        put!(out, "<th scope=\"col\">", name, "</th>");
    }
    put!(out, "</tr></thead>\n<tbody>\n");
    let of_kind = |name: &&str| view.findings().total(&Metric::ELAPSED, |task| category(task) == *name).sums;
    let sums: Vec<Vec<Option<f64>>> = categories.iter().map(of_kind).collect();
    for bar in bars {
        put!(out, "<tr><th scope=\"row\">", view.name(bar.configuration), "</th>");
        for sums in &sums {
            match sums[bar.configuration] {
                Some(sum) => put!(out, "<td>", Metric::ELAPSED.format(sum), "</td>"),
                None => put!(out, "<td class=\"none\">–</td>"),
            }
        }
        put!(out, "</tr>\n");
    }
    put!(out, "</tbody>\n</table>\n</div>\n");
}
