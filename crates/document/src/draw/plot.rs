//! Draws bars, samples and intervals in table cells, on a scale from 0.
//!
//! A chart here is a table with a column of drawings: it can be read without seeing it, its text keeps the reader's
//! size, and it fits a narrow screen, since only the drawing is stretched. Strokes do not stretch with it; a dot is a
//! stroke of length 0 with a round end.
//!
//! No chart library: the smallest with error bars and categories adds 51 kB to every report (uPlot) and needs
//! JavaScript to show anything; bars, dots and lines are the 100 lines below, and work on paper too.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use mountmark_stats::interval::Interval;

use crate::markup::Markup;
use crate::put;

/// Width of a drawing in its own units.
const WIDTH: f64 = 1000.0;

/// From 0 to a round number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisScale {
    pub max: f64,
}

impl AxisScale {
    /// To the next round number from the largest value; to 1 where there is none above 0.
    pub fn covering(values: impl Iterator<Item = f64>) -> AxisScale {
        let largest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        if largest <= 0.0 {
            return AxisScale { max: 1.0 };
        }
        let power = 10f64.powf(largest.log10().floor());
        let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
        // The last step is for logarithms that were rounded down.
        let max = steps.iter().map(|step| step * power).find(|max| *max >= largest).unwrap_or(20.0 * power);
        AxisScale { max: if max.is_finite() { max } else { largest } }
    }

    /// Position of a value, in units of the drawing; clamped to the ends.
    fn at(self, value: f64) -> f64 {
        if value.is_nan() { 0.0 } else { (value / self.max * WIDTH).clamp(0.0, WIDTH).round() }
    }
}

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    pub value: f64,
    /// Samples of different rows are drawn on different lines, so that near ones can be told apart.
    pub row: u32,
    /// Drawn as a ring.
    pub doubtful: bool,
}

/// The contents of one cell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drawing<'a> {
    pub bar: Option<f64>,
    /// End of a lighter bar behind it.
    pub to: Option<f64>,
    /// Drawn as a line with ends.
    pub interval: Option<Interval>,
    /// Drawn as dots, doubtful ones as rings.
    pub dots: &'a [Dot],
}

/// The drawing as an SVG element that the reader's program may pass over: the figures stand beside it.
pub fn draw(scale: AxisScale, drawing: &Drawing) -> Markup {
    let mut out = Markup::new();
    put!(
        out,
        "<svg class=\"plot\" viewBox=\"0 0 1000 18\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
        "<path class=\"grid\" d=\"M250 0V18M500 0V18M750 0V18M1000 0V18\"/>"
    );
    if let (Some(bar), Some(to)) = (drawing.bar, drawing.to) {
        let (from, to) = (scale.at(bar), scale.at(to));
        if to > from {
            put!(out, "<rect class=\"to\" x=\"", from, "\" y=\"4\" width=\"", to - from, "\" height=\"10\"/>");
        }
    }
    if let Some(bar) = drawing.bar {
        put!(out, "<rect class=\"bar\" y=\"4\" width=\"", scale.at(bar), "\" height=\"10\"/>");
    }
    if let Some(interval) = drawing.interval {
        let (low, high) = (scale.at(interval.low), scale.at(interval.high));
        let path = format!("M{low} 9H{high}M{low} 4V14M{high} 4V14");
        put!(out, "<path class=\"interval\" d=\"", path, "\"/>");
    }
    for (class, doubtful) in [("dot", false), ("ring", true)] {
        let path = dots(scale, drawing.dots.iter().filter(|dot| dot.doubtful == doubtful));
        if !path.is_empty() {
            put!(out, "<path class=\"", class, "\" d=\"", path, "\"/>");
            if doubtful {
                put!(out, "<path class=\"hole\" d=\"", path, "\"/>");
            }
        }
    }
    put!(out, "</svg>");
    out
}

/// Dots that would cover each other exactly are drawn once, so a row takes at most some kilobytes however many samples
/// it has. Rows lie on three lines.
fn dots<'a>(scale: AxisScale, dots: impl Iterator<Item = &'a Dot>) -> String {
    let mut seen = BTreeSet::new();
    for dot in dots.filter(|dot| dot.value.is_finite()) {
        seen.insert(([9, 5, 13][dot.row as usize % 3], scale.at(dot.value) as i64));
    }
    let mut path = String::new();
    for (line, at) in seen {
        let _ = write!(path, "M{at} {line}h0");
    }
    path
}

/// The head of a column: its class in the style sheet, or none, and what is in it.
pub type Head = (&'static str, Markup);

/// A head of text.
pub fn head(text: &str) -> Head {
    let mut out = Markup::new();
    put!(out, text);
    ("", out)
}

/// The head of the column of names, for those who cannot see that it has names.
pub fn unseen(text: &str) -> Head {
    let mut out = Markup::new();
    put!(out, "<span class=\"unseen\">", text, "</span>");
    ("", out)
}

/// Begins a table whose rows have drawings; the caller writes its rows and `</tbody></table>`.
pub fn begin_chart(out: &mut Markup, look: &'static str, heads: impl IntoIterator<Item = Head>) {
    put!(out, "<table class=\"chart");
    if !look.is_empty() {
        put!(out, " ");
        out.raw(look);
    }
    put!(out, "\">\n<thead><tr>");
    for (class, head) in heads {
        put!(out, "<th scope=\"col\"");
        if !class.is_empty() {
            put!(out, " class=\"");
            out.raw(class);
            put!(out, "\"");
        }
        put!(out, ">", head, "</th>");
    }
    put!(out, "</tr></thead>\n<tbody>\n");
}

/// The head of a column of drawings, with the ends of its scale.
pub fn axis(low: &str, high: &str) -> Markup {
    let mut out = Markup::new();
    put!(out, "<span class=\"axis\"><span>", low, "</span><span>", high, "</span></span>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_at_round_numbers() {
        for (value, max) in [(0.0331, 0.04), (51.0, 60.0), (1000.0, 1000.0), (1.0, 1.0), (0.0, 1.0), (7.9, 8.0)] {
            let found = AxisScale::covering([value, f64::NAN, f64::INFINITY].into_iter()).max;
            assert!((found / max - 1.0).abs() < 1e-9, "{value}: {found}");
        }
        assert!(AxisScale::covering([f64::MAX].into_iter()).max.is_finite());
    }

    #[test]
    fn many_samples_make_a_small_drawing() {
        let points: Vec<Dot> = (0..100_000)
            .map(|index| Dot { value: f64::from(index % 977) / 977.0, row: index, doubtful: false })
            .collect();
        let drawing = Drawing { dots: &points, ..Drawing::default() };
        let length = draw(AxisScale { max: 1.0 }, &drawing).into_string().len();
        assert!((10_000..40_000).contains(&length), "{length}");
    }

    #[test]
    fn what_is_no_number_is_not_drawn() {
        let points = [f64::NAN, f64::INFINITY, -1.0].map(|value| Dot { value, row: 0, doubtful: true });
        let drawing = Drawing { bar: Some(f64::NAN), to: Some(2.0), interval: None, dots: &points };
        let text = draw(AxisScale { max: 1.0 }, &drawing).into_string();
        assert!(
            !text.contains("NaN") && !text.contains("inf") && !text.contains("\"-") && !text.contains("M-"),
            "{text}"
        );
    }
}
