//! Draws a run as one picture for a README or an article: the matrix of tests and file systems, and below it all tests
//! together as stacked bars; of a run over a factor with many levels, speed over these.
//!
//! It follows the reader's colour scheme if the viewer provides it. In charts of pages text flows; here every position is computed.

use mountmark_document::draw::picture::{LETTER, MARGIN, WIDTH, cut};
use mountmark_document::markup::Markup;
use mountmark_document::number::counted;
use mountmark_document::writers::svg::MARK;
use mountmark_document::{put, text};
use mountmark_model::{Metric, legend};

use crate::figures::say::quantity::quantity;
use crate::rankings::page::composite::{Bar, bars, look, timed};
use crate::view::{View, category, title};
use crate::{effects, matrix};

/// Width of the column of sums, in pixels.
const SUMS: f64 = 76.0;
/// Distance between bars, and the bar's own height.
const ROW: f64 = 34.0;
const BAR: f64 = 24.0;
/// Letters that a line below the picture has room for, and the height of one.
const LINE: usize = 124;
const FOOT: f64 = 18.0;
/// Where drawings begin, below the heading.
const TOP: f64 = 76.0;
/// Letters of the heading for which there is room.
const HEADING: usize = 84;
/// Maximum length of a name before it is cut.
const NAME: usize = 30;

/// The picture of one run.
pub(crate) fn picture(view: &View) -> Markup {
    // The factor that has curves, by its first.
    let over = view.findings().effects.as_ref().and_then(|effects| Some((effects, effects.curves.first()?)));
    let (drawn, height, labels) = match over {
        Some((effects, first)) => {
            let (drawn, height) = effects::page::picture::picture(view.findings(), effects, first, TOP);
            (drawn, height, None)
        }
        None => {
            let (drawn, height) = compared(view);
            (drawn, height, legend(view.findings().configurations.iter().map(String::as_str)))
        }
    };
    let labels: Vec<&str> = labels.iter().flat_map(|text| text.split("; ")).collect();
    let height = (TOP + height + 34.0 + labels.len() as f64 * FOOT).round();

    let mut out = Markup::new();
    out.raw(MARK);
    put!(out, "\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", WIDTH, "\" height=\"", height);
    put!(out, "\" viewBox=\"0 0 ", WIDTH, " ", height, "\" role=\"img\" aria-labelledby=\"t d\">\n");
    let plan = &view.run().plan;
    let (of, described) = match over {
        Some((effects, first)) => {
            (effects::say::by_factor(effects, first.factor), effects::say::steps(effects, first.factor).join(" "))
        }
        None => (title(view), described(view)),
    };
    let heading = format!("{}: {of}", plan.suite);
    put!(out, "<title id=\"t\">", heading, "</title>\n<desc id=\"d\">", described, "</desc>\n<style>\n");
    out.raw(include_str!("picture.css"));
    put!(out, "</style>\n<defs>\n");
    for (index, path) in HATCHES.into_iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        put!(out, "<pattern id=\"h", index, "\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\">");
        put!(out, "<path class=\"hatch\" d=\"", path, "\"/></pattern>\n");
    }
    put!(out, "</defs>\n<rect class=\"page\" width=\"", WIDTH, "\" height=\"", height, "\"/>\n");
    put!(out, "<text class=\"heading\" x=\"", MARGIN, "\" y=\"34\">", cut(&heading, HEADING), "</text>\n");
    let under = format!(
        "{}; scale {}, {} lab, machine {}",
        view.repeats().map_or_else(|| "one repeat".to_owned(), |repeats| format!("medians of {repeats}")),
        plan.scale,
        plan.lab.name(),
        plan.machine.name
    );
    put!(out, "<text class=\"quiet\" x=\"", MARGIN, "\" y=\"56\">", under, "</text>\n", drawn);
    for (at, text) in labels.iter().enumerate() {
        let y = height - 18.0 - (labels.len() - at) as f64 * FOOT;
        put!(out, "<text class=\"quiet\" x=\"", MARGIN, "\" y=\"", y, "\">", cut(text, LINE), "</text>\n");
    }
    let foot = format!("Made by mountmark {} from run {}. {}", view.run().program, view.run().id, clock(view));
    put!(out, "<text class=\"quiet\" x=\"", MARGIN, "\" y=\"", height - 18.0, "\">", foot, "</text>\n</svg>\n");
    out
}

/// The matrix of tests, and all tests together; and their height.
fn compared(view: &View) -> (Markup, f64) {
    let (mut out, height) = matrix::page::picture::matrix(view, TOP);
    let from = TOP + if height > 0.0 { height + 26.0 } else { 0.0 };
    let (bars, below) = composite(view, from, height > 0.0);
    out.show(&bars);
    (out, from + below - TOP)
}

/// The bars from `top` on, and their height. Empty if the matrix already shows everything, and there are no sums.
fn composite(view: &View, top: f64, has_matrix: bool) -> (Markup, f64) {
    let mut out = Markup::new();
    let bars = bars(view);
    if bars.is_empty() {
        if !has_matrix {
            put!(out, "<text x=\"", MARGIN, "\" y=\"", top + 20.0, "\">There is no figure to draw.</text>\n");
        }
        return (out, if has_matrix { 0.0 } else { 34.0 });
    }
    let categories = view.categories();
    let longest = bars.iter().map(|bar| name(view, bar).chars().count()).max().unwrap_or(0);
    let left = MARGIN + longest as f64 * LETTER + 12.0;
    let right = WIDTH - MARGIN - SUMS;
    let largest = bars.iter().map(Bar::length).fold(0.0, f64::max);
    let tests = counted(timed(view).len(), "test", "tests");
    put!(out, "<text class=\"small\" x=\"", MARGIN, "\" y=\"", top + 4.0, "\">sum of the times of ", tests);
    let lacks = bars.iter().any(|bar| bar.lacking > 0);
    put!(
        out,
        " until the command returned",
        if lacks { "; * without those that have no figure" } else { "" },
        "</text>\n"
    );
    let (key, key_height) = key(&categories, top + 16.0);
    out.show(&key);
    let first = top + 30.0 + key_height;
    for (index, bar) in bars.iter().enumerate() {
        let y = first + index as f64 * ROW;
        row(&mut out, view, bar, &categories, y, left, (right - left) / largest.max(f64::MIN_POSITIVE));
    }
    (out, first + bars.len() as f64 * ROW - top)
}

/// Hatches over the colour of every second category.
const HATCHES: [&str; 6] = ["", "M0 7L7 0", "M0 3.5H7", "M0 0L7 7", "M3.5 0V7", "M3 3.5h1"];

fn name(view: &View, bar: &Bar) -> String {
    cut(view.name(bar.configuration), NAME)
}

fn clock(view: &View) -> &'static str {
    match view.run().plan.lab.capabilities().exact_clock {
        true => "Virtual seconds: those of the machine that the profile describes.",
        false => "Seconds of wall time.",
    }
}

fn described(view: &View) -> String {
    let bars = bars(view);
    let sums = bars.iter().map(|bar| {
        let lacking = if bar.lacking > 0 { format!(" without {} of the tests", bar.lacking) } else { String::new() };
        format!(
            "{} {}{lacking}",
            view.name(bar.configuration),
            quantity(&Metric::ELAPSED, bar.sum.unwrap_or_else(|| bar.length()))
        )
    });
    sums.collect::<Vec<_>>().join(", ")
}

/// The key of the colours from `top` on, in as many lines as needed, and its height.
fn key(categories: &[&str], top: f64) -> (Markup, f64) {
    let mut out = Markup::new();
    let (mut x, mut y) = (MARGIN, top);
    for name in categories {
        let shown = text::clean(name);
        let width = 26.0 + shown.chars().count() as f64 * LETTER + 14.0;
        if x + width > WIDTH - MARGIN && x > MARGIN {
            (x, y) = (MARGIN, y + 22.0);
        }
        let look = look(categories, name);
        put!(
            out,
            part(x, y, 16.0, 14.0, look),
            "<text class=\"small\" x=\"",
            x + 22.0,
            "\" y=\"",
            y + 11.5,
            "\">",
            shown,
            "</text>\n"
        );
        x += width;
    }
    (out, y - top + 14.0)
}

/// A rectangle in the look of a category.
fn part(x: f64, y: f64, width: f64, height: f64, look: usize) -> Markup {
    let mut out = Markup::new();
    let place = |out: &mut Markup| {
        put!(
            out,
            " x=\"",
            format!("{x:.1}"),
            "\" y=\"",
            format!("{y:.1}"),
            "\" width=\"",
            format!("{width:.1}"),
            "\" height=\"",
            height,
            "\""
        );
    };
    put!(out, "<rect class=\"look", look, "\"");
    place(&mut out);
    put!(out, "/>");
    if !HATCHES[look].is_empty() {
        put!(out, "<rect fill=\"url(#h", look, ")\"");
        place(&mut out);
        put!(out, "/>");
    }
    out
}

fn row(out: &mut Markup, view: &View, bar: &Bar, categories: &[&str], y: f64, left: f64, unit: f64) {
    let middle = y + BAR / 2.0 + 4.5;
    put!(out, "<text class=\"name\" x=\"", left - 12.0, "\" y=\"", middle, "\">", name(view, bar), "</text>\n");
    let mut x = left;
    for (task, value) in &bar.parts {
        let width = value * unit;
        // Invisible parts would only make the file longer.
        if width >= 0.3 {
            put!(out, "<g><title>", task.id, " ", task.title, ": ", quantity(&Metric::ELAPSED, *value), "</title>");
            put!(out, part(x, y, width, BAR, look(categories, category(task))));
            if width >= 12.0 + 6.0 * task.id.chars().count() as f64 {
                put!(
                    out,
                    "<text class=\"id\" x=\"",
                    format!("{:.1}", x + width / 2.0),
                    "\" y=\"",
                    middle - 0.5,
                    "\">",
                    task.id,
                    "</text>"
                );
            }
            put!(out, "</g>\n");
        }
        x += width;
    }
    let sum = Metric::ELAPSED.format(bar.sum.unwrap_or_else(|| bar.length()));
    let text = if bar.lacking > 0 { format!("{sum} s *") } else { format!("{sum} s") };
    put!(out, "<text x=\"", format!("{:.1}", x + 8.0), "\" y=\"", middle, "\">", text);
    if bar.lacking > 0 {
        put!(out, "<title>without ", bar.lacking, " of the tests</title>");
    }
    put!(out, "</text>\n");
}
