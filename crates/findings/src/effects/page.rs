//! Draws speed over the levels of a factor: a card for each task, with a line for each configuration.

use mountmark_document::draw::curve::{Curve, Frame, Names, Tick, draw, swatch};
use mountmark_document::draw::plot;
use mountmark_document::markup::Markup;
use mountmark_document::put;

use crate::effects::find::Effects;
use crate::effects::find::curves::{LevelCurve, LevelLine};
use crate::effects::say;
use crate::effects::show::speed;

/// The least range of an axis on each side of the first level, as a logarithm: smaller changes than 5 % look small.
const LEAST: f64 = 0.05;

/// The vertical axis of a curve: logarithms of speeds around that at the first level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    pub fn of(curve: &LevelCurve) -> Axis {
        let speeds = curve.lines.iter().flat_map(|line| &line.speeds).flatten().map(|speed| libm::log(*speed));
        let (low, high) = speeds.fold((-LEAST, LEAST), |(low, high), speed| (low.min(speed), high.max(speed)));
        let margin = 0.08 * (high - low);
        Axis { low: low - margin, high: high + margin }
    }

    /// From 0 at the bottom to 1.
    pub fn at(self, speed: f64) -> f64 {
        (libm::log(speed) - self.low) / (self.high - self.low)
    }

    /// The first level, and the largest change on each side that has room beside it.
    pub fn ticks(self, curve: &LevelCurve) -> Vec<Tick> {
        let speeds = || curve.lines.iter().flat_map(|line| &line.speeds).flatten().copied();
        let ends = [speeds().fold(1.0, f64::min), speeds().fold(1.0, f64::max)];
        let first = Tick { at: self.at(1.0), text: "0 %".into() };
        let far = |speed: &f64| (self.at(*speed) - self.at(1.0)).abs() > 0.12;
        let end = |speed: f64| Tick { at: self.at(speed), text: say::signed(speed) };
        std::iter::once(first).chain(ends.into_iter().filter(far).map(end)).collect()
    }
}

/// Positions of the levels, from 0 to 1.
pub(crate) fn place(level: usize, levels: usize) -> f64 {
    level as f64 / levels.saturating_sub(1).max(1) as f64
}

/// A card for each curve.
pub(crate) fn cards(effects: &Effects, curves: &[&LevelCurve]) -> Markup {
    let mut out = Markup::new();
    put!(out, "<div class=\"cards\">\n");
    for curve in curves {
        put!(out, card(effects, curve));
    }
    put!(out, "</div>\n");
    out
}

fn card(effects: &Effects, curve: &LevelCurve) -> Markup {
    let mut out = Markup::new();
    let found = &effects.factors[curve.factor];
    put!(out, "<figure class=\"card\">\n<figcaption><strong><span class=\"id\">", say::whose(curve), "</span>");
    put!(out, "</strong><span class=\"verdict\">speed by ", found.name, "</span></figcaption>\n");
    let axis = Axis::of(curve);
    let levels = found.levels.len();
    let line = |(look, line): (usize, &LevelLine)| {
        let points =
            line.speeds.iter().enumerate().filter_map(|(at, speed)| Some((place(at, levels), axis.at((*speed)?))));
        Curve { look, points: points.collect(), has_dots: true }
    };
    let lines: Vec<Curve> = curve.lines.iter().enumerate().map(line).collect();
    let steps = curve.lines.iter().flat_map(|line| &line.steps);
    let mut bands: Vec<(usize, usize)> = steps.map(|step| (step.from, step.to)).collect();
    bands.sort_unstable();
    bands.dedup();
    let frame = Frame {
        x: found
            .levels
            .iter()
            .enumerate()
            .map(|(at, text)| Tick { at: place(at, levels), text: text.clone() })
            .collect(),
        y: axis.ticks(curve),
        bands: bands.into_iter().map(|(from, to)| (place(from, levels), place(to, levels))).collect(),
        names: Names::of(found.levels.iter().map(String::as_str)),
    };
    draw(&mut out, &frame, &lines);
    put!(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", say::whose(curve), " by ");
    put!(out, found.name, "\">");
    let named = |(at, line): (usize, &LevelLine)| {
        let mut head = Markup::new();
        put!(head, swatch(at), line.configuration);
        ("", head)
    };
    let heads = std::iter::once(plot::head(&found.name)).chain(curve.lines.iter().enumerate().map(named));
    plot::begin_chart(&mut out, "lines", heads);
    for (at, text) in found.levels.iter().enumerate() {
        put!(out, "<tr><th scope=\"row\">", text, "</th>");
        for line in &curve.lines {
            put!(out, "<td>", speed(line, at), "</td>");
        }
        put!(out, "</tr>\n");
    }
    put!(out, "</tbody>\n</table></div>\n</figure>\n");
    out
}
