//! Draws speed over the levels of a factor for a README or an article: all tasks together, and the tasks with the largest
//! steps in small below.

use mountmark_document::draw::picture::{LETTER, MARGIN, WIDTH, cut};
use mountmark_document::markup::Markup;
use mountmark_document::put;

use crate::effects::find::Effects;
use crate::effects::find::curves::{LevelCurve, LevelLine};
use crate::effects::page::{Axis, place};
use crate::effects::say;
use crate::found::Findings;

/// Colours of lines in the picture's style sheet.
const COLOURS: usize = 6;
/// Heights of the large and of a small drawing, and of what stands above and below each.
const LARGE: f64 = 260.0;
const SMALL: f64 = 110.0;
const HEAD: f64 = 22.0;
const FOOT: f64 = 26.0;
/// Small drawings side by side, how many at most, and the space between them.
const ACROSS: usize = 3;
const MOST: usize = 6;
const GAP: f64 = 24.0;
/// Room for labels of the vertical axis.
const AXIS: f64 = 58.0;

/// The space of a drawing, in pixels.
#[derive(Clone, Copy)]
struct Space {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// From `top` on, and its height; `first` is the large curve.
pub(crate) fn picture(findings: &Findings, effects: &Effects, first: &LevelCurve, top: f64) -> (Markup, f64) {
    let mut out = Markup::new();
    put!(out, key(first, top));
    let whole = Space { x: MARGIN + AXIS, y: top + 46.0, width: WIDTH - 2.0 * MARGIN - AXIS - 70.0, height: LARGE };
    put!(out, title(findings, first, whole), panel(effects, first, whole, true));
    let mut y = whole.y + LARGE + FOOT + HEAD;
    let width = (WIDTH - 2.0 * MARGIN - (ACROSS - 1) as f64 * GAP) / ACROSS as f64;
    for row in steepest(effects, first.factor).chunks(ACROSS) {
        for (at, curve) in row.iter().enumerate() {
            let x = MARGIN + at as f64 * (width + GAP) + AXIS;
            let space = Space { x, y, width: width - AXIS, height: SMALL };
            put!(out, title(findings, curve, space), panel(effects, curve, space, false));
        }
        y += SMALL + HEAD + FOOT;
    }
    (out, y - HEAD - top)
}

/// The tasks with the largest steps over a factor.
fn steepest(effects: &Effects, factor: usize) -> Vec<&LevelCurve> {
    let size = |curve: &LevelCurve| {
        let steps = curve.lines.iter().flat_map(|line| &line.steps);
        steps.map(|step| libm::log(step.gain.ratio).abs()).fold(0.0, f64::max)
    };
    let of_tasks = effects.curves.iter().filter(|curve| curve.factor == factor && curve.task.is_some());
    let mut out: Vec<&LevelCurve> = of_tasks.filter(|curve| size(curve) > 0.0).collect();
    out.sort_by(|one, other| size(other).total_cmp(&size(one)));
    out.truncate(MOST);
    out
}

/// The names of the lines, in their colours.
fn key(curve: &LevelCurve, top: f64) -> Markup {
    let mut out = Markup::new();
    let mut x = MARGIN;
    for (at, line) in curve.lines.iter().enumerate() {
        let name = cut(&line.configuration, 24);
        put!(out, "<path class=\"line line", at % COLOURS, "\" d=\"M", x, " ", top + 4.0, "h24\"/>");
        put!(out, "<text class=\"small\" x=\"", x + 30.0, "\" y=\"", top + 8.0, "\">", name, "</text>\n");
        x += 30.0 + LETTER * name.chars().count() as f64 + 22.0;
    }
    out
}

/// What stands above a drawing.
fn title(findings: &Findings, curve: &LevelCurve, space: Space) -> Markup {
    let letters = ((space.width + AXIS) / LETTER) as usize;
    let mut out = Markup::new();
    put!(out, "<text class=\"head\" x=\"", space.x - AXIS, "\" y=\"", space.y - 10.0, "\">");
    put!(out, cut(&say::titled(findings, curve), letters), "</text>\n");
    out
}

fn panel(effects: &Effects, curve: &LevelCurve, space: Space, is_large: bool) -> Markup {
    let Space { x, y, width, height } = space;
    let axis = Axis::of(curve);
    let levels = &effects.factors[curve.factor].levels;
    let across = |level: usize| round(x + width * place(level, levels.len()));
    let up = |part: f64| round(y + height * (1.0 - part));
    let mut out = Markup::new();
    for tick in axis.ticks(curve) {
        let at = up(tick.at);
        put!(out, "<path class=\"grid\" d=\"M", round(x), " ", at, "H", round(x + width), "\"/>");
        put!(out, "<text class=\"axis number\" x=\"", x - 6.0, "\" y=\"", at, "\" dy=\"4\">", tick.text, "</text>\n");
    }
    for (at, line) in curve.lines.iter().enumerate() {
        put!(out, "<path class=\"line line", at % COLOURS, "\" d=\"", path(line, &axis, &across, &up), "\"/>\n");
    }
    for (level, text) in levels.iter().enumerate().filter(|(level, _)| has_label(*level, levels, is_large)) {
        let anchor = if level + 1 == levels.len() && !is_large { "number" } else { "middle" };
        let text = cut(text.trim_end_matches("-amd64"), 18);
        put!(out, "<text class=\"axis ", anchor, "\" x=\"", across(level), "\" y=\"", round(y + height + 16.0));
        put!(out, "\">", text, "</text>\n");
    }
    out
}

/// Labels of the horizontal axis: as many as have room.
fn has_label(level: usize, levels: &[String], is_large: bool) -> bool {
    let last = levels.len() - 1;
    let each = if is_large { levels.len().div_ceil(7) } else { last };
    level == last || level.is_multiple_of(each.max(1)) && level + each / 2 < last
}

fn path(line: &LevelLine, axis: &Axis, across: &impl Fn(usize) -> f64, up: &impl Fn(f64) -> f64) -> String {
    let known = line.speeds.iter().enumerate().filter_map(|(level, speed)| Some((level, (*speed)?)));
    let points: Vec<String> = known.map(|(level, speed)| format!("{} {}", across(level), up(axis.at(speed)))).collect();
    let dots: String = points.iter().map(|point| format!("M{point}h.01")).collect();
    format!("M{}{dots}", points.join("L"))
}

fn round(position: f64) -> f64 {
    (10.0 * position).round() / 10.0
}
