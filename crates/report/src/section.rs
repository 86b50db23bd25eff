//! Text in parts that a terminal and Markdown show alike: headings, paragraphs, lists, tables.
//!
//! Nothing here knows what the parts are about.

use crate::format::Options;
use crate::markdown::escape;
use crate::table::draw;
use crate::text::{break_name, clean, hang, width, wrap};

/// Between columns.
const GAP: usize = 2;

/// Columns for a label at the left.
const LABEL: usize = 8;

/// Longest line of a head that is not broken.
const NAME: usize = 12;

/// One part.
pub(crate) enum Section {
    /// What follows is about this.
    Heading(String),
    /// A label and what it stands for.
    Labelled(String, String),
    /// A sentence or several.
    Paragraph(String),
    /// One of several, below its mark.
    Item(String),
    /// A command to type, on lines of its own and never broken.
    Command(String),
    /// Heads and rows; lines of a cell are parted by `\n`. So many columns at the left say what a row is about.
    Table(Vec<String>, Vec<Vec<String>>, usize),
}

/// The parts for a terminal or a pipe.
pub(crate) fn text(sections: &[Section], options: &Options) -> String {
    let mut out = String::new();
    for (index, section) in sections.iter().enumerate() {
        match section {
            Section::Heading(text) => {
                if index > 0 {
                    out.push('\n');
                }
                out += &hang("", 0, &clean(text), options.width);
            }
            Section::Labelled(label, text) => {
                let column = LABEL.max(width(label) + 2).min(24);
                out += &hang(label, column, &clean(text), options.width);
            }
            Section::Paragraph(text) => out += &hang("", 0, &clean(text), options.width),
            Section::Item(text) => out += &hang("  -", 4, &clean(text), options.width),
            Section::Command(text) => out += &format!("    {}\n", clean(text)),
            Section::Table(head, rows, keys) => out += &tables(head, rows, *keys, options),
        }
    }
    out
}

/// The parts in Markdown.
pub(crate) fn markdown(sections: &[Section]) -> String {
    let mut out = String::new();
    let mut is_list = false;
    for section in sections {
        let begins_list = matches!(section, Section::Labelled(..) | Section::Item(_));
        if !(out.is_empty() || is_list && begins_list) {
            out.push('\n');
        }
        is_list = begins_list;
        match section {
            Section::Heading(text) => out += &format!("## {}\n", escape(&clean(text))),
            Section::Labelled(label, text) if label.is_empty() => out += &format!("- {}\n", escape(&clean(text))),
            Section::Labelled(label, text) => {
                out += &format!("- **{}** {}\n", escape(&clean(label)), escape(&clean(text)));
            }
            Section::Paragraph(text) => out += &format!("{}\n", escape(&clean(text))),
            Section::Item(text) => out += &format!("- {}\n", escape(&clean(text))),
            Section::Command(text) => out += &format!("    {}\n", clean(text)),
            Section::Table(head, rows, _) => {
                let line = |cells: &[String]| {
                    let cells: Vec<String> = cells
                        .iter()
                        .map(|cell| cell.lines().map(|line| escape(&clean(line))).collect::<Vec<_>>().join("<br>"))
                        .collect();
                    format!("| {} |\n", cells.join(" | "))
                };
                out += &line(head);
                let rules: Vec<&str> = (0..head.len()).map(|column| if column == 0 { "---" } else { "---:" }).collect();
                out += &format!("| {} |\n", rules.join(" | "));
                rows.iter().for_each(|row| out += &line(row));
            }
        }
    }
    out
}

/// Rows under heads; columns that do not fit beside each other make further tables, each with the keys and the last.
fn tables(head: &[String], rows: &[Vec<String>], keys: usize, options: &Options) -> String {
    let column = |index: usize| -> Vec<String> {
        let cell = |row: &Vec<String>| row.get(index).cloned().unwrap_or_default();
        std::iter::once(break_name(&head[index], NAME).join("\n")).chain(rows.iter().map(cell)).collect()
    };
    let column_width = |cells: &[String]| cells.iter().flat_map(|cell| cell.lines()).map(width).max().unwrap_or(0);
    let limit = (options.width * 30 / 100 / keys.max(1)).max(16);
    let narrow = |cells: Vec<String>| -> Vec<String> {
        let narrow =
            |cell: &String| cell.lines().flat_map(|line| wrap(&clean(line), limit)).collect::<Vec<_>>().join("\n");
        cells.iter().map(narrow).collect()
    };
    let labels: Vec<Vec<String>> = (0..keys).map(|index| narrow(column(index))).collect();
    let last = column(head.len() - 1);
    let keys_take: usize = labels.iter().map(|cells| column_width(cells) + GAP).sum();
    let room = options.width.saturating_sub(keys_take + column_width(&last));
    let columns: Vec<Vec<String>> = (keys..head.len() - 1).map(column).collect();
    let mut parts: Vec<Vec<&Vec<String>>> = vec![Vec::new()];
    let mut used = 0;
    for cells in &columns {
        let takes = GAP + column_width(cells);
        if used + takes > room && used > 0 {
            parts.push(Vec::new());
            used = 0;
        }
        used += takes;
        parts.last_mut().expect("there is one from the start").push(cells);
    }
    let mut out = String::new();
    for part in parts {
        let part: Vec<&Vec<String>> = labels.iter().chain(part).chain([&last]).collect();
        out += &draw(&part, usize::MAX, options);
        out.push('\n');
    }
    out
}
