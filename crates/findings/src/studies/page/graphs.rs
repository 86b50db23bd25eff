//! Graphs of a study's tests, as articles draw them: tests across, one line for each file system; the published figures
//! and this run's on the same scale, one below the other.

use mountmark_document::draw::curve::{Curve, Frame, Names, Tick, draw, swatch};
use mountmark_document::draw::plot::AxisScale;
use mountmark_document::forms::{Block, Last, Table, named};
use mountmark_document::markup::Markup;
use mountmark_document::put;
use mountmark_document::writers::html::in_turn;
use mountmark_model::Metric;

use crate::figures::say::quantity::end;
use crate::group::each_once;
use crate::studies::find::{Curves, Line, StudyComparison};
use crate::studies::say;

/// Graphs of further metrics are folded away.
const OPEN: usize = 2;

/// From this ratio of the largest to the smallest figure on, the scale is logarithmic.
const WIDE: f64 = 50.0;

pub(crate) fn graphs(out: &mut Markup, study: &StudyComparison) {
    for (index, curves) in study.curves.iter().enumerate() {
        if index >= OPEN {
            put!(out, "<details><summary>", say::graph_title(curves), "</summary>\n");
        }
        put!(out, "<figure class=\"graphs\">\n<figcaption><strong>", say::graph_title(curves), "</strong>");
        let scale = Scale::of(curves);
        put!(out, "<span class=\"verdict\">", say::graph_caption(curves, scale.is_log()), "</span>");
        put!(out, "</figcaption>\n");
        let names = names(curves);
        for (lines, side) in [(&curves.published, say::published(study)), (&curves.measured, say::measured(study))] {
            put!(out, "<p class=\"side\">", side, "</p>\n");
            if lines.is_empty() {
                put!(out, "<p class=\"none\">", say::NOTHING_TO_DRAW, "</p>\n");
            } else {
                graph(out, curves, lines, &names, scale, &side);
            }
        }
        put!(out, in_turn(&[figures(curves)], &say::graph_title(curves), 2));
        put!(out, "</figure>\n");
        if index >= OPEN {
            put!(out, "</details>\n");
        }
    }
}

/// The file systems of both sides: each has the same look on both.
fn names(curves: &Curves) -> Vec<&str> {
    each_once(curves.published.iter().chain(&curves.measured).map(|line| line.fs.as_str()))
}

#[derive(Clone, Copy)]
enum Scale {
    Linear(AxisScale),
    /// Logarithms to base 10, from a power of ten to a round number.
    Log {
        low: f64,
        high: f64,
    },
}

impl Scale {
    fn of(curves: &Curves) -> Scale {
        let above: Vec<f64> = curves.values().filter(|value| value.is_finite() && *value > 0.0).collect();
        let least = above.iter().copied().fold(f64::INFINITY, f64::min);
        let most = above.iter().copied().fold(0.0, f64::max);
        if most / least < WIDE || above.is_empty() {
            return Scale::Linear(AxisScale::covering(above.into_iter()));
        }
        let low = least.log10().floor();
        Scale::Log { low, high: AxisScale::covering([most].into_iter()).max.log10() }
    }

    fn is_log(self) -> bool {
        matches!(self, Scale::Log { .. })
    }

    /// From 0 to 1; a figure of 0 is at the bottom.
    fn at(self, value: f64) -> f64 {
        match self {
            Scale::Linear(scale) => value / scale.max,
            Scale::Log { .. } if value <= 0.0 => 0.0,
            Scale::Log { low, high } => (value.log10() - low) / (high - low),
        }
    }

    fn ticks(self, metric: &Metric) -> Vec<Tick> {
        match self {
            Scale::Linear(scale) => {
                [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| Tick { at: part, text: end(metric, scale.max * part) }).into()
            }
            Scale::Log { low, high } => (low as i32..=high.floor() as i32)
                .map(|power| Tick { at: (f64::from(power) - low) / (high - low), text: end(metric, 10f64.powi(power)) })
                .collect(),
        }
    }
}

fn graph(out: &mut Markup, curves: &Curves, lines: &[Line], names: &[&str], scale: Scale, side: &str) {
    let count = curves.tests.len() as f64;
    let across = |test: usize| (test as f64 + 0.5) / count;
    let look = |line: &Line| names.iter().position(|name| *name == line.fs).unwrap_or(0);
    let drawn: Vec<Curve> = lines.iter().flat_map(|line| pieces(line, look(line), &across, scale)).collect();
    let tick = |(test, (id, _)): (usize, &(String, String))| Tick { at: across(test), text: id.clone() };
    let frame = Frame {
        x: curves.tests.iter().enumerate().map(tick).collect(),
        y: scale.ticks(curves.metric),
        names: Names::of(curves.tests.iter().map(|(id, _)| id.as_str())),
        bands: Vec::new(),
    };
    put!(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", side, "\">");
    draw(out, &frame, &drawn);
    put!(out, "</div>\n<p class=\"key\">");
    for line in lines {
        put!(out, "<span class=\"line\">", swatch(look(line)), line.fs, "</span> ");
    }
    put!(out, "</p>\n");
}

/// The parts of a line between missing figures.
fn pieces(line: &Line, look: usize, across: &impl Fn(usize) -> f64, scale: Scale) -> Vec<Curve> {
    let mut out: Vec<Curve> = Vec::new();
    let mut joins = false;
    for (test, value) in line.values.iter().enumerate() {
        if let Some(value) = value {
            if !joins {
                out.push(Curve { look, points: Vec::new(), has_dots: true });
            }
            out.last_mut().expect("a piece was begun").points.push((across(test), scale.at(*value)));
        }
        joins = value.is_some();
    }
    out
}

/// The figures of a graph, which reading programs pass over.
fn figures(curves: &Curves) -> Block {
    let published = curves.published.iter().map(|line| format!("{}, published", line.fs));
    let measured = curves.measured.iter().map(|line| format!("{}, this run", line.fs));
    let row = |(test, (id, title)): (usize, &(String, String))| {
        let cells = curves.published.iter().chain(&curves.measured);
        let cells = cells.map(|line| line.values[test].map_or("-".to_owned(), |value| curves.metric.format(value)));
        std::iter::once(named(id, title)).chain(cells).collect()
    };
    let head = std::iter::once("test".to_owned()).chain(published).chain(measured);
    let table = Table::new(head, curves.tests.iter().enumerate().map(row), 1, Last::Figure);
    Block::Fold(say::graph_figures(curves), vec![Block::Table(table)])
}
