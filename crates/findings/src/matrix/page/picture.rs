//! Draws the matrix of tests and file systems: a figure and a shade per cell.

use mountmark_document::draw::picture::{LETTER, MARGIN, WIDTH, cut};
use mountmark_document::markup::Markup;
use mountmark_document::put;
use mountmark_document::writers::html::STAR;
use mountmark_model::Metric;

use crate::matrix::say as words;
use crate::matrix::show::{Choice, Figure, Matrix, Row};
use crate::view::{HEAT, View, label};

/// Row height.
const ROW: f64 = 22.0;
/// Width of a test's name, in letters.
const LABEL: usize = 34;
/// The narrowest column that fits a figure.
const COLUMN: f64 = 64.0;
/// The widest column.
const WIDE: f64 = 120.0;
/// Average width of a letter in heads, in pixels.
const BOLD: f64 = 8.6;
/// Maximum number of rows: more do not fit on a page.
const ROWS: usize = 60;

/// The drawing from `top` on, and its height; empty for too many file systems or tests, if nothing was compared, or
/// without figures.
pub(crate) fn matrix(view: &View, top: f64) -> (Markup, f64) {
    let mut out = Markup::new();
    let findings = view.findings();
    let matrix = Matrix::new(view, Choice::usual(findings));
    let rows = &matrix.rows;
    let columns = findings.configurations.len();
    let named = |row: &Row| match row.found.map(|found| found.metric) {
        Some(metric) if metric.id == Metric::SYNC_LATENCY_MEAN.id => {
            format!("{}: {}", row.task.id, words::head(metric))
        }
        _ => label(row.task),
    };
    let labels: Vec<String> = rows.iter().map(|row| cut(&named(row), LABEL)).collect();
    let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let left = MARGIN + longest as f64 * LETTER * 0.94 + 12.0;
    let width = ((WIDTH - MARGIN - left) / columns.max(1) as f64).min(WIDE);
    if columns < 2 || rows.is_empty() || rows.len() > ROWS || width < COLUMN {
        return (out, 0.0);
    }
    let unit = matrix.head();
    put!(out, "<text class=\"small\" x=\"", MARGIN, "\" y=\"", top + 12.0, "\">", unit, "</text>\n");
    for (column, name) in findings.headings.iter().enumerate() {
        let x = left + (column as f64 + 1.0) * width - 8.0;
        let name = cut(name, ((width - 8.0) / BOLD) as usize);
        put!(out, "<text class=\"number head\" x=\"", place(x), "\" y=\"", top + 12.0, "\">", name, "</text>\n");
    }
    for (at, (row, label)) in rows.iter().zip(&labels).enumerate() {
        let y = top + 20.0 + at as f64 * ROW;
        put!(out, "<text class=\"small\" x=\"", MARGIN, "\" y=\"", y + 15.0, "\">", label, "</text>\n");
        for (column, figure) in row.cells.iter().enumerate() {
            let x = left + column as f64 * width;
            cell(&mut out, figure.as_ref(), view.absent(column, &row.task.id), [x, y, width]);
        }
    }
    let y = top + 20.0 + rows.len() as f64 * ROW;
    let height = legend(&mut out, view.findings().measured, y + 8.0);
    (out, y + 8.0 + height - top)
}

fn cell(out: &mut Markup, figure: Option<&Figure>, absent: &str, [x, y, width]: [f64; 3]) {
    let (text, look) = match figure {
        Some(figure) if figure.is_best => (format!("{STAR} {}", figure.text), "best".to_owned()),
        Some(figure) => (figure.text.clone(), format!("heat{}", figure.heat)),
        None => (absent.to_owned(), "heat0".to_owned()),
    };
    put!(
        out,
        "<rect class=\"",
        look,
        "\" x=\"",
        place(x + 1.0),
        "\" y=\"",
        place(y),
        "\" width=\"",
        place(width - 2.0)
    );
    put!(out, "\" height=\"", ROW - 2.0, "\"/><text class=\"number\" x=\"", place(x + width - 8.0), "\" y=\"");
    put!(out, place(y + 14.5), "\">", text, "</text>\n");
}

/// Explains the shades; returns their height.
fn legend(out: &mut Markup, repeats: usize, y: f64) -> f64 {
    let mut x = MARGIN;
    let shades =
        HEAT.iter().enumerate().map(|(at, from)| (format!("heat{}", at + 1), format!("from {from} times the best")));
    let best = if repeats > 1 { "best, and what cannot be told from it" } else { "best, as printed" };
    let best = ("best".to_owned(), format!("{STAR} {best}"));
    for (look, text) in std::iter::once(best).chain(shades) {
        put!(out, "<rect class=\"", look, "\" x=\"", place(x), "\" y=\"", place(y), "\" width=\"16\" height=\"14\"/>");
        put!(out, "<text class=\"small\" x=\"", place(x + 22.0), "\" y=\"", place(y + 11.5), "\">", text, "</text>\n");
        x += 36.0 + text.chars().count() as f64 * LETTER;
    }
    30.0
}

/// Rounds a coordinate to a tenth of a pixel.
fn place(value: f64) -> String {
    format!("{value:.1}")
}
