//! Records in; tables, Markdown, JSON and CSV out.
//!
//! Everything here is a function from a run to text. This crate does not know where runs lie, whether anybody
//! reads on a terminal (the caller says so), or how a figure was measured; it starts nothing and writes nothing.
//!
//! A format is one file and its line in [`ALL`]; the table and Markdown share the matrix, so that a figure is the
//! same in both.

mod changes;
mod claims;
mod classic;
mod command;
mod csv;
mod document;
mod format;
mod header;
mod html;
mod io;
mod json;
mod markdown;
mod matrix;
mod runs;
mod section;
mod study;
mod svg;
mod table;
mod text;
mod verdict;

pub use changes::changes;
pub use claims::{ClaimsHead, claims};
pub use classic::{ClassicError, classic};
pub use command::{again, shell_word};
pub use csv::{csv, study_csv};
pub use document::{DOCUMENTS, Document, Report, find_document};
pub use format::{ALL, Format, Options, UnknownName, find_format, find_metric};
pub use html::html;
pub use io::{IO_FORMATS, check_io_format, io};
pub use json::json;
pub use markdown::markdown;
pub use runs::runs_table;
pub use study::{COMPARISON_FORMATS, check_comparison_format, study_comparison};
pub use table::{BRIGHT, USUAL, table};
pub use text::hang;
pub use verdict::{VERDICT_FORMATS, check_verdict_format, verdict};

#[cfg(test)]
mod tests;
