//! Turns runs and findings into tables, Markdown, CSV, JSON, pages and pictures.
//!
//! A subject (`subjects`) provides data, a writer (`writers`) turns it into a format, and `registry` lists both: a new
//! subject or writer is one file and one line. `view` and `matrix` look up data for several forms; `html` and `svg`
//! draw pages and pictures. Everything here is a function to text. This crate computes no statistic, does not know
//! where runs are kept or whether the reader is a terminal (the caller says so), starts nothing and writes nothing.

mod command;
mod curves;
mod explained;
mod flame;
mod html;
mod markup;
mod matrix;
mod name;
mod page;
mod registry;
mod subjects;
mod svg;
mod text;
mod view;
pub mod words;
mod writers;

pub use command::{again, shell_word};
pub use explained::Answer;
pub use name::{UnknownName, find_metric};
pub use registry::{Format, FormatError, SUBJECTS};
pub use subjects::*;
pub use text::hang;
pub use view::Report;
pub use words::header::reduced;
pub use words::remarks::cramped;
pub use words::sampling;
pub use writers::text::{BRIGHT, USUAL};
pub use writers::{Form, Options, Subject};

#[cfg(test)]
mod tests;
