//! Writers: one file per format. A writer does not know the subject: it asks for the one form that it needs.

pub mod bencher;
pub mod benchmark_action;
pub mod csv;
pub mod folded;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod svg;
pub mod text;

use anyhow::Result;

use crate::forms::{Form, Forms};

/// Properties of the output device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Width of a line in columns.
    pub width: usize,
    /// Whether lines may be drawn.
    pub terminal: bool,
    /// Whether colours may be used.
    pub color: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { width: 100, terminal: false, color: false }
    }
}

pub struct Writer {
    pub name: &'static str,
    /// File name extensions, the default first.
    pub endings: &'static [&'static str],
    /// The form that it needs.
    pub form: Form,
    /// How a report in this format begins, by which the program recognises files that it may overwrite.
    pub mark: &'static str,
    /// The subject as text with a final newline; `None` if it has no such form.
    pub write: fn(&dyn Forms, &Options) -> Option<Result<String>>,
}

/// All formats, in the order of help texts; a subject's default is its first.
pub const ALL: &[&Writer] = &[
    &text::TEXT,
    &markdown::MARKDOWN,
    &csv::CSV,
    &json::JSON,
    &html::HTML,
    &svg::SVG,
    &folded::FOLDED,
    &junit::JUNIT,
    &bencher::BENCHER,
    &benchmark_action::BENCHMARK_ACTION,
];
