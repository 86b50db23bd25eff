//! Draws curves in a frame. The drawing is stretched to its space; the numbers at its sides are text beside it and keep
//! their size. Curves differ by colour and by dashes.

use std::fmt::Write as _;

use crate::draw::plot;
use crate::markup::Markup;
use crate::put;

/// Size of the drawing in its own units.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 400.0;
/// Number of colours and dash patterns in the style sheet.
const COLOURS: usize = 8;
const DASHES: usize = 5;

/// A label at the side of a frame.
pub struct Tick {
    /// From 0 (left or bottom) to 1.
    pub at: f64,
    pub text: String,
}

/// The labels at the sides, and what is marked.
pub struct Frame {
    pub x: Vec<Tick>,
    pub y: Vec<Tick>,
    pub names: Names,
    /// Parts of the width, from 0 to 1, over the whole height.
    pub bands: Vec<(f64, f64)>,
}

/// How the labels below a frame stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    Level,
    /// Level where the page is wide, else upright.
    Short(Room),
    /// Upright.
    Long(Room),
}

/// What upright labels need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    labels: usize,
    /// Of the longest label.
    letters: usize,
}

/// Letters of level labels for which a wide page has room.
const LEVEL: usize = 110;
/// Letters of an upright label; the others are cut off.
const LETTERS: usize = 20;

impl Names {
    pub fn of<'a>(labels: impl Iterator<Item = &'a str> + Clone) -> Names {
        let letters = labels.clone().map(|label| label.chars().count()).max().unwrap_or(0);
        let room = Room { labels: labels.count(), letters: letters.min(LETTERS) };
        if room.labels * (letters + 1) <= LEVEL { Names::Short(room) } else { Names::Long(room) }
    }

    /// Attributes of the frame, and of the labels below it.
    fn looks(self) -> (String, String) {
        let (class, Room { labels, letters }) = match self {
            Names::Level => return (String::new(), "xs".into()),
            Names::Short(room) => ("xs names", room),
            Names::Long(room) => ("xs names upright", room),
        };
        (format!("--labels:{labels};--letters:{letters}"), class.into())
    }
}

pub struct Curve {
    /// Index of its look.
    pub look: usize,
    /// From 0 to 1 in both directions.
    pub points: Vec<(f64, f64)>,
    /// Whether each point has a dot.
    pub has_dots: bool,
}

fn colour(index: usize) -> String {
    format!("stroke{}", index % COLOURS)
}

fn look(index: usize) -> String {
    format!("{} dash{}", colour(index), (index + index / COLOURS) % DASHES)
}

/// A stroke of length 0 at each point, which a round end makes a dot.
fn dots(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("M{} {}h0", place(*x, WIDTH), place(1.0 - y, HEIGHT))).collect()
}

/// Draws curves in a frame. Their figures must be beside it, because screen readers skip the drawing.
pub fn draw(out: &mut Markup, frame: &Frame, curves: &[Curve]) {
    let (style, names) = frame.names.looks();
    put!(out, "<div class=\"frame\" style=\"", style, "\" aria-hidden=\"true\"><div class=\"ys\">");
    for tick in &frame.y {
        put!(out, "<span style=\"bottom:", percent(tick.at), "%\">", tick.text, "</span>");
    }
    put!(
        out,
        "</div><svg class=\"plot curves\" viewBox=\"0 0 1000 400\" preserveAspectRatio=\"none\" focusable=\"false\">"
    );
    for (from, to) in &frame.bands {
        let (from, to) = (place(*from, WIDTH), place(*to, WIDTH));
        put!(out, "<rect class=\"band\" x=\"", from, "\" width=\"", to - from, "\" height=\"400\"/>");
    }
    let mut grid = String::new();
    for tick in &frame.x {
        let _ = write!(grid, "M{} 0V{HEIGHT}", place(tick.at, WIDTH));
    }
    for tick in &frame.y {
        let _ = write!(grid, "M0 {}H{WIDTH}", place(1.0 - tick.at, HEIGHT));
    }
    put!(out, "<path class=\"grid\" d=\"", grid, "\"/>");
    for curve in curves {
        put!(out, "<path class=\"", look(curve.look), "\" d=\"", path(&curve.points), "\"/>");
        if curve.has_dots {
            put!(out, "<path class=\"at ", colour(curve.look), "\" d=\"", dots(&curve.points), "\"/>");
        }
    }
    put!(out, "</svg><div class=\"", names, "\">");
    for tick in &frame.x {
        put!(out, "<span style=\"left:", percent(tick.at), "%\">", tick.text, "</span>");
    }
    put!(out, "</div></div>\n");
}

/// The look of a curve, as a small sample before its name.
pub fn swatch(index: usize) -> Markup {
    let mut out = Markup::new();
    put!(out, "<svg class=\"plot stroke\" viewBox=\"0 0 26 10\" aria-hidden=\"true\" focusable=\"false\">");
    put!(out, "<path class=\"", look(index), "\" d=\"M0 5H26\"/></svg>");
    out
}

/// The figures of curves, to stand below their frame: a row for each place, and a column for each line with its look. `of` and
/// `by` say what of, by what.
pub fn figures<'a>(
    out: &mut Markup,
    [of, by]: [&str; 2],
    lines: impl Iterator<Item = &'a str>,
    rows: impl Iterator<Item = (&'a str, Vec<String>)>,
) {
    put!(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", of, " by ", by, "\">");
    let named = |(at, name): (usize, &str)| {
        let mut head = Markup::new();
        put!(head, swatch(at), name);
        ("", head)
    };
    plot::begin_chart(out, "lines", std::iter::once(plot::head(by)).chain(lines.enumerate().map(named)));
    for (place, figures) in rows {
        put!(out, "<tr><th scope=\"row\">", place, "</th>");
        for figure in figures {
            put!(out, "<td>", figure, "</td>");
        }
        put!(out, "</tr>\n");
    }
    put!(out, "</tbody>\n</table></div>\n");
}

fn percent(at: f64) -> String {
    format!("{:.2}", 100.0 * at.clamp(0.0, 1.0))
}

fn place(at: f64, length: f64) -> i64 {
    if at.is_finite() { (at.clamp(0.0, 1.0) * length).round() as i64 } else { 0 }
}

/// Omits points on a horizontal line with their neighbours.
fn path(points: &[(f64, f64)]) -> String {
    let placed: Vec<(i64, i64)> = points.iter().map(|(x, y)| (place(*x, WIDTH), place(1.0 - y, HEIGHT))).collect();
    let mut path = String::new();
    for (index, (x, y)) in placed.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| placed.get(before));
        let level = |other: Option<&(i64, i64)>| other.is_some_and(|(_, other)| other == y);
        if level(before) && level(placed.get(index + 1)) {
            continue;
        }
        let _ = match before {
            None => write!(path, "M{x} {y}"),
            Some(_) if level(before) => write!(path, "H{x}"),
            Some(_) => write!(path, "L{x} {y}"),
        };
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_points_are_left_out() {
        let points = [(0.0, 0.0), (0.1, 0.0), (0.2, 0.0), (0.5, 1.0), (1.0, f64::NAN)];
        assert_eq!(path(&points), "M0 400H200L500 0H1000");
        assert_eq!((path(&[]), path(&[(2.0, -1.0)])), (String::new(), "M1000 400".to_owned()));
    }

    #[test]
    fn looks_of_neighbours_differ_in_colour_and_dashes() {
        let looks: Vec<String> = (0..30).map(look).collect();
        assert!((0..30).all(|at| looks.iter().filter(|other| **other == looks[at]).count() == 1), "{looks:?}");
    }
}
