//! Parts for a terminal or a pipe.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, TableStyle};

use crate::forms::{Block, Form, Last, Mark, Table, opened};
use crate::text::{BEST, break_name, clean, clean_keeping_marks, hang, width, wrap};
use crate::writers::{Options, Writer};

/// Columns between table columns.
const GAP: usize = 2;

/// Width of a label at the left.
const LABEL: usize = 8;

/// Least width of a last column of words.
const WORDS: usize = 20;

/// Maximum width of a column head before it is broken.
const NAME: usize = 12;

const DRAWN: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

const PLAIN: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));

/// Terminal sequence that starts the colour of best figures.
pub const BRIGHT: &str = "\x1b[1;32m";
/// Ends it.
pub const USUAL: &str = "\x1b[0m";

pub const TEXT: Writer = Writer {
    name: "table",
    endings: &["txt"],
    form: Form::Blocks,
    mark: "mountmark report: ",
    write: |subject, options| Some(Ok(text(&subject.blocks()?, options))),
};

fn text(parts: &[Block], options: &Options) -> String {
    let mut out = String::new();
    let parts = opened(parts);
    let mut before: Option<&Block> = None;
    for part in &parts {
        // A table ends with a blank line of its own.
        let begins = match (before, part) {
            (None, _) => false,
            (_, Block::Title(_) | Block::Heading(_) | Block::Subheading(_)) => true,
            (Some(Block::Heading(_) | Block::Subheading(_) | Block::Title(_)), _) => false,
            (Some(Block::Command(_)), Block::Text(_)) => true,
            (_, part) => matches!(part, Block::Table(_)),
        };
        if begins && !out.ends_with("\n\n") {
            out.push('\n');
        }
        match part {
            Block::Title(text) => out += &hang("", 0, &format!("{}{}", TEXT.mark, clean(text)), options.width),
            Block::Heading(text) | Block::Subheading(text) | Block::Text(text) => {
                out += &hang("", 0, &clean(text), options.width)
            }
            Block::Fact(label, text) => {
                let column = LABEL.max(width(label) + 2).min(24);
                out += &hang(label, column, &clean(text), options.width);
            }
            Block::Item(text) => out += &hang("  -", 4, &clean(text), options.width),
            Block::Legend(mark, text) => {
                let mark = match mark {
                    Mark::Best => "*",
                    Mark::NoFigure => "-",
                    Mark::Note(mark) => mark,
                };
                out += &hang(mark, width(mark) + 1, &clean(text), options.width);
            }
            Block::Command(text) => out += &format!("    {}\n", clean(text)),
            Block::Output(text) => text.lines().for_each(|line| out += &format!("    {}\n", clean(line))),
            Block::Table(table) => out += &tables(table, options),
            Block::Fold(..) | Block::Drawn(..) => unreachable!("opened above"),
        }
        before = Some(part);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Rows under heads; columns that do not fit make further tables, each with the keys.
fn tables(table: &Table, options: &Options) -> String {
    let figures_end = table.head.len() - usize::from(table.last != Last::Figure);
    // A last column that is repeated or takes the rest is no key.
    let keys_end = table.keys.min(figures_end);
    let limit = (options.width * 35 / 100 / keys_end.max(1)).max(16);
    let keys: Vec<Vec<String>> = (0..keys_end).map(|index| column(table, index, |cell| wrapped(cell, limit))).collect();
    let keys_take: usize = keys.iter().map(|cells| column_width(cells) + GAP).sum();
    let lines = |cell: &str| cell.lines().map(clean_keeping_marks).collect();
    let columns: Vec<Vec<String>> = (keys_end..figures_end).map(|index| column(table, index, lines)).collect();
    let last = match table.last {
        Last::Figure => None,
        Last::Repeated => Some(column(table, figures_end, lines)),
        // Made when the room beside the other columns is known.
        Last::Words => None,
    };
    let last_takes =
        last.as_ref().filter(|_| table.last == Last::Repeated).map_or(0, |cells| column_width(cells) + GAP);
    let room = options.width.saturating_sub(keys_take.saturating_sub(GAP) + last_takes);
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
    let words = (table.last == Last::Words).then(|| {
        if used > 0 && keys_take + used + WORDS > options.width {
            parts.push(Vec::new());
            used = 0;
        }
        let room = options.width.saturating_sub(keys_take + used).max(WORDS);
        column(table, figures_end, |cell| wrapped(cell, room))
    });
    let mut out = String::new();
    let count = parts.len();
    for (number, part) in parts.into_iter().enumerate() {
        let words = words.as_ref().filter(|_| number + 1 == count);
        let part: Vec<&Vec<String>> = keys.iter().chain(part).chain(&last).chain(words).collect();
        let left_from = part.len() - usize::from(words.is_some());
        out += &draw(&part, keys_end.max(1), left_from, options);
        out.push('\n');
    }
    out
}

/// A cell of words, each of its lines broken where it is too long.
fn wrapped(cell: &str, limit: usize) -> Vec<String> {
    cell.lines().flat_map(|line| wrap(&clean(line), limit)).collect()
}

/// A column with its head, each cell in the lines that `lines` returns.
fn column(table: &Table, index: usize, lines: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    let head = match table.head.get(index) {
        Some(head) if index < table.keys => lines(head).join("\n"),
        Some(head) => {
            head.lines().flat_map(|line| break_name(&clean_keeping_marks(line), NAME)).collect::<Vec<_>>().join("\n")
        }
        None => String::new(),
    };
    let cell = |row: &Vec<String>| row.get(index).map_or(String::new(), |cell| lines(cell).join("\n"));
    std::iter::once(head).chain(table.rows.iter().map(cell)).collect()
}

fn column_width(cells: &[String]) -> usize {
    cells.iter().flat_map(|cell| cell.lines()).map(width).max().unwrap_or(0)
}

/// Draws columns, each with its head first; the first `keys` and those from `left_from` on are left-aligned, others
/// right-aligned. The caller has made them fit.
fn draw(columns: &[&Vec<String>], keys: usize, left_from: usize, options: &Options) -> String {
    let mut table = comfy_table::Table::new();
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.load_style(if options.terminal { DRAWN } else { PLAIN });
    let line = |row: usize| columns.iter().map(move |column| Cell::new(column.get(row).map_or("", String::as_str)));
    table.set_header(line(0));
    for row in 1..columns.first().map_or(0, |column| column.len()) {
        table.add_row(line(row));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        // The lines between columns, which are not drawn, take one column of the gap.
        column.set_padding(if index == 0 { (0, 0) } else { (GAP as u16 - 1, 0) });
        if (keys..left_from).contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut out = String::new();
    for line in table.lines() {
        out += &marked(line.trim_end(), options.color);
        out.push('\n');
    }
    out
}

/// The line with the best figures marked, in colour from the mark to the end of the figure: figures contain no two
/// spaces, columns are two apart.
fn marked(line: &str, color: bool) -> String {
    if !color {
        return line.replace(BEST, "*");
    }
    let mut parts = line.split(BEST);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find("  ").unwrap_or(part.len());
        out += &format!("{BRIGHT}*{}{USUAL}{}", &part[..end], &part[end..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_of_a_stranger_moves_no_cursor() {
        let head = ["name", "\u{1b}[31mred\u{202e}"];
        let table = Table::new(head, [vec!["ext4".to_owned(), "1".to_owned()]], 1, Last::Figure);
        let text = tables(&table, &Options::default());
        assert!(text.contains("red") && !text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    }
}
