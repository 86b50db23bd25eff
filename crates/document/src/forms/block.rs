//! Parts of text, for a terminal and for Markdown: headings, paragraphs, lists, tables.
//!
//! This file does not know what the parts are about, or how a writer shows them.

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// The heading of a whole report.
    Title(String),
    /// The heading of a section.
    Heading(String),
    /// A label and its text; an empty label continues the one above.
    Fact(String, String),
    Text(String),
    Item(String),
    /// A mark of figures, and its meaning.
    Legend(Mark, String),
    /// A command to type, on lines of its own and never broken.
    Command(String),
    Table(Table),
}

/// A mark in tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Of a best figure: writers have their own, in place of [`crate::text::BEST`].
    Best,
    /// In place of a figure.
    NoFigure,
    /// Such as `[a]`.
    Note(String),
}

/// Heads and rows; the lines of a cell are separated by line feeds. A cell that begins with [`crate::text::BEST`] is a best one.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// Number of columns at the left that identify a row. If a table is too wide, each part repeats them.
    pub keys: usize,
    pub last: Last,
}

/// The contents of the last column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// A figure, like the columns before it.
    Figure,
    /// Repeated in each part of a table that is split.
    Repeated,
    /// Text, which takes the remaining width.
    Words,
}

/// Appends a list under its heading, unless empty.
pub fn list(out: &mut Vec<Block>, heading: &str, items: &[String]) {
    if !items.is_empty() {
        out.push(Block::Heading(heading.into()));
        out.extend(items.iter().cloned().map(Block::Item));
    }
}
