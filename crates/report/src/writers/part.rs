//! What text is made of, for a terminal and for Markdown alike: headings, paragraphs, lists, tables.
//!
//! Nothing here knows what the parts are about, or how a writer shows them.

/// One part of a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// The heading of a whole report.
    Title(String),
    /// The heading of a section.
    Heading(String),
    /// A label and what it stands for; an empty label continues the one above.
    Labelled(String, String),
    Paragraph(String),
    /// An element of a list.
    Item(String),
    /// A mark such as `[a]`, and what it means.
    Note(String, String),
    /// A command to type, on lines of its own and never broken.
    Command(String),
    Table(Table),
}

/// Heads and rows; the lines of a cell are separated by `\n`. A cell that begins with [`crate::text::BEST`] is a best one.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// So many columns at the left say what a row is about. Where a table is too wide for one, each part has them.
    pub keys: usize,
    /// What the last column holds.
    pub last: Last,
}

/// What the last column of a table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// A figure, as those before it.
    Figure,
    /// What each part of a table that is too wide for one repeats.
    Repeated,
    /// Words, which take the room that is left.
    Words,
}

/// A list under its heading, where there is anything in it.
pub fn list(out: &mut Vec<Part>, heading: &str, items: &[String]) {
    if !items.is_empty() {
        out.push(Part::Heading(heading.into()));
        out.extend(items.iter().cloned().map(Part::Item));
    }
}
