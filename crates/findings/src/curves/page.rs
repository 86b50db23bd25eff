//! Curves over the parameter that a plan varies: a chart for each test with a line for each file system, its cliffs as
//! bands, and the figures below.

use mountmark_document::draw::curve::{Frame, Names, Tick, draw, figures};
use mountmark_document::draw::plot::AxisScale;
use mountmark_document::forms::Block;
use mountmark_document::markup::Markup;
use mountmark_document::put;
use mountmark_model::VaryPoint;

use crate::curves::find::{Curve, Curves};
use crate::curves::say;
use crate::curves::show::{shown, tables};
use crate::figures::say::quantity::{end, quantity};
use crate::view::View;

/// The least distance of two labels at the lower side, as a share of it.
const APART: f64 = 0.24;

/// The section, if the plan varies a parameter.
pub(crate) fn section(view: &View) -> Vec<Block> {
    let Some(curves) = &view.findings().curves else { return Vec::new() };
    let mut cards = Markup::new();
    put!(cards, "<div class=\"cards\">\n");
    for curve in shown(curves) {
        put!(cards, card(view, curves, curve));
    }
    put!(cards, "</div>\n");
    let mut out = vec![Block::Text(say::over(curves))];
    out.extend(say::cliffs(view.findings(), curves).into_iter().map(Block::Item));
    out.push(Block::Drawn(cards, tables(view.findings(), curves)));
    out
}

fn card(view: &View, curves: &Curves, curve: &Curve) -> Markup {
    let mut out = Markup::new();
    let metric = curve.metric;
    put!(out, "<figure class=\"card\">\n<figcaption><strong><span class=\"id\">", curve.task, "</span>");
    if curve.title != curve.task {
        put!(out, " ", curve.title);
    }
    put!(out, "</strong><span class=\"verdict\">", metric.title, " by ", curves.parameter, "</span></figcaption>\n");
    let places = places(&curves.points);
    let up = AxisScale::covering(curve.medians.iter().flatten().filter_map(|median| *median));
    let line = |(look, medians): (usize, &Vec<Option<f64>>)| {
        let points = places.iter().zip(medians).filter_map(|(x, median)| Some((*x, (*median)? / up.max)));
        mountmark_document::draw::curve::Curve { look, points: points.collect(), has_dots: true }
    };
    let lines: Vec<_> = curve.medians.iter().enumerate().map(line).collect();
    let y = |part: f64| Tick { at: part, text: end(metric, up.max * part) };
    let frame = Frame {
        x: ticks(&curves.points, &places),
        y: vec![Tick { at: 0.0, text: "0".into() }, y(0.5), y(1.0)],
        bands: curve.cliffs.iter().map(|cliff| (places[cliff.from], places[cliff.to])).collect(),
        names: Names::Level,
    };
    draw(&mut out, &frame, &lines);
    let names = (0..curve.medians.len()).map(|at| view.name(at));
    let figure = |median: Option<f64>| median.map_or("-".to_owned(), |median| quantity(metric, median));
    let rows = curves.points.iter().enumerate();
    let rows = rows
        .map(|(at, point)| (point.text.as_str(), curve.medians.iter().map(|medians| figure(medians[at])).collect()));
    figures(&mut out, [&curve.task, &curves.parameter], names, rows);
    put!(out, "</figure>\n");
    out
}

/// By point, from 0 to 1: by logarithm, or evenly where a point is 0.
fn places(points: &[VaryPoint]) -> Vec<f64> {
    let is_positive = points.iter().all(|point| point.value > 0.0);
    let value = |point: &VaryPoint| if is_positive { point.value.ln() } else { point.value };
    let (low, high) = (points.first().map_or(0.0, value), points.last().map_or(1.0, value));
    points.iter().map(|point| (value(point) - low) / (high - low)).collect()
}

/// Labels of the first and the last point, and of those between that have room.
fn ticks(points: &[VaryPoint], places: &[f64]) -> Vec<Tick> {
    let mut out: Vec<Tick> = Vec::new();
    for (point, at) in points.iter().zip(places) {
        let is_last = *at >= 1.0;
        let has_room = out.last().is_none_or(|before| at - before.at >= APART) && 1.0 - at >= APART;
        if has_room || is_last {
            out.push(Tick { at: *at, text: point.text.clone() });
        }
    }
    out
}
