//! Blocks of a document: headings, texts, lists, tables.
//!
//! This file does not know what they are about, or how a writer shows them.

use crate::markup::Markup;
use crate::text::{ASIDE, CHIPS, CODE, ID, STRONG};

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// The heading of a whole report.
    Title(String),
    /// The heading of a section.
    Heading(String),
    /// The heading of a part of a section.
    Subheading(String),
    /// A label and its text; an empty label continues the one above.
    Fact(String, String),
    Text(String),
    Item(String),
    /// A mark of figures, and its meaning.
    Legend(Mark, String),
    /// A command to type, on lines of its own and never broken.
    Command(String),
    Table(Table),
    /// A summary, and what a page shows when it is opened.
    Fold(String, Vec<Block>),
    /// What a program printed: lines are kept.
    Output(String),
    /// What a page draws, and the blocks that stand for it elsewhere.
    Drawn(Markup, Vec<Block>),
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

/// Heads and rows; the lines of a cell are separated by line feeds. A cell that begins with [`crate::text::BEST`] is a
/// best one; [`chip`], [`aside`] and [`code`] mark lines of words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What a page shows above it; empty for none.
    pub caption: String,
    /// Its class in the style sheet of pages; empty for none.
    pub look: &'static str,

    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// Number of columns at the left that identify a row. If a table is too wide, each part repeats them.
    pub keys: usize,
    pub last: Last,
}

impl Table {
    /// Heads and rows alone: `keys` and `last` as in the fields.
    pub fn new<H: Into<String>>(
        head: impl IntoIterator<Item = H>,
        rows: impl IntoIterator<Item = Vec<String>>,
        keys: usize,
        last: Last,
    ) -> Table {
        let head = head.into_iter().map(Into::into).collect();
        Table { head, rows: rows.into_iter().collect(), keys, last, ..Table::default() }
    }
}

/// The contents of the last column of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Last {
    /// A figure, like the columns before it.
    #[default]
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

/// How a word that is a verdict looks on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shade {
    Good,
    Partly,
    Equal,
    Reversed,
    Bad,
    Open,
}

/// A verdict in a word, on a shade and with a sign for readers who cannot see colours.
pub fn chip(shade: Shade, word: &str) -> String {
    format!("{}{word}", CHIPS[shade as usize])
}

/// A line of a cell that stands back.
pub fn aside(text: &str) -> String {
    format!("{ASIDE}{text}")
}

/// An aside that stands out.
pub fn strong(text: &str) -> String {
    format!("{STRONG}{text}")
}

/// An id and a title, unless they are the same.
pub fn named(id: &str, title: &str) -> String {
    if title.is_empty() || title == id { id.to_owned() } else { format!("{id}{ID} {title}") }
}

/// A line of a cell that is a command.
pub fn code(text: &str) -> String {
    format!("{CODE}{text}")
}

/// The blocks for a format that folds and draws nothing: captions and summaries are texts above what they
/// are about.
pub fn opened(blocks: &[Block]) -> Vec<Block> {
    let mut out = Vec::new();
    for block in blocks {
        match block {
            Block::Fold(summary, inner) => {
                out.push(Block::Text(format!("{}:", summary.trim_end_matches(':'))));
                out.extend(opened(inner));
            }
            Block::Drawn(_, inner) => out.extend(opened(inner)),
            Block::Table(table) if !table.caption.is_empty() => {
                out.push(Block::Text(table.caption.clone()));
                out.push(Block::Table(Table { caption: String::new(), ..table.clone() }));
            }
            block => out.push(block.clone()),
        }
    }
    out
}
