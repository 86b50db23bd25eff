//! What each factor changes: speed over its levels, a card for each task with a line for each configuration; and tables.

pub(crate) mod picture;

use mountmark_document::draw::curve::{Curve, Frame, Names, Tick, draw, figures};
use mountmark_document::forms::Block;
use mountmark_document::markup::Markup;
use mountmark_document::put;

use crate::effects::find::Effects;
use crate::effects::find::curves::{LevelCurve, LevelLine};
use crate::effects::say;
use crate::effects::show::{beside_first, levels, speed};
use crate::found::Findings;
use crate::view::View;

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

/// The section; empty if nothing was crossed.
pub(crate) fn section(view: &View) -> Vec<Block> {
    let Some(effects) = &view.findings().effects else { return Vec::new() };
    let mut out = Vec::new();
    let mut factors: Vec<usize> = effects.curves.iter().map(|curve| curve.factor).collect();
    factors.dedup();
    for factor in factors {
        out.extend(say::steps(effects, factor).into_iter().map(Block::Item));
        out.extend(say::explains(view.run(), effects).map(Block::Command));
        out.push(Block::Text(say::over(effects, factor)));
        let shown: Vec<&LevelCurve> = effects.curves.iter().filter(|curve| curve.factor == factor).collect();
        let tables = shown.iter().map(|curve| Block::Table(levels(effects, curve))).collect();
        out.push(Block::Drawn(cards(view.findings(), effects, &shown), tables));
    }
    out.extend(beside_first(effects));
    out
}

/// A card for each curve.
fn cards(findings: &Findings, effects: &Effects, curves: &[&LevelCurve]) -> Markup {
    let mut out = Markup::new();
    put!(out, "<div class=\"cards\">\n");
    for curve in curves {
        put!(out, card(findings, effects, curve));
    }
    put!(out, "</div>\n");
    out
}

/// Speed of all configurations over the levels of a factor, and the figures below.
pub(crate) fn card(findings: &Findings, effects: &Effects, curve: &LevelCurve) -> Markup {
    let mut out = Markup::new();
    let found = &effects.factors[curve.factor];
    put!(out, "<figure class=\"card\">\n<figcaption><strong>", say::titled(findings, curve));
    put!(out, "</strong><span class=\"verdict\">speed by ", found.name, "</span></figcaption>\n");
    let axis = Axis::of(curve);
    let count = found.levels.len();
    let line = |(look, line): (usize, &LevelLine)| {
        let points =
            line.speeds.iter().enumerate().filter_map(|(at, speed)| Some((place(at, count), axis.at((*speed)?))));
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
            .map(|(at, text)| Tick { at: place(at, count), text: text.clone() })
            .collect(),
        y: axis.ticks(curve),
        bands: bands.into_iter().map(|(from, to)| (place(from, count), place(to, count))).collect(),
        names: Names::of(found.levels.iter().map(String::as_str)),
    };
    draw(&mut out, &frame, &lines);
    let names = curve.lines.iter().map(|line| line.configuration.as_str());
    let rows = found.levels.iter().enumerate();
    let rows = rows.map(|(at, text)| (text.as_str(), curve.lines.iter().map(|line| speed(line, at)).collect()));
    figures(&mut out, [say::whose(curve), &found.name], names, rows);
    put!(out, "</figure>\n");
    out
}
