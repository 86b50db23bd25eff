//! The ways to write a subject down: one file a writer. A writer does not know what it writes: it asks a subject for the
//! one form that it needs.

pub(crate) mod csv;
mod forms;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod markdown;
mod part;
pub(crate) mod svg;
pub(crate) mod text;

use anyhow::Result;

pub use forms::{Form, Forms, Subject};
pub use part::{Last, Part, Table, list};

/// How a reader reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Columns of text that a line may take.
    pub width: usize,
    /// Whether lines may be drawn.
    pub terminal: bool,
    /// Whether colours may be used.
    pub color: bool,
}

impl Default for Options {
    /// A pipe.
    fn default() -> Options {
        Options { width: 100, terminal: false, color: false }
    }
}

/// A way of writing a subject down.
pub(crate) struct Writer {
    /// In `--format`.
    pub name: &'static str,
    /// How names of such files end, the usual one first.
    pub endings: &'static [&'static str],
    /// One line for lists.
    pub about: &'static str,
    /// What it needs.
    pub form: Form,
    /// What the first lines of a report in this format hold, by which the program knows which files it may overwrite.
    pub mark: &'static str,
    /// The subject as text that ends with a line end; `None` where it has no such form.
    pub write: fn(&dyn Forms, &Options) -> Option<Result<String>>,
}
