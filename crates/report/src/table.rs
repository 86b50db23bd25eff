//! Tables for terminals and for pipes.

use anyhow::Result;
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, TableStyle};
use mountmark_record::RunRecord;

use crate::format::{Format, Options};
use crate::header::header;
use crate::matrix::{Matrix, head, legend, marks, matrix};
use crate::text::{BEST, break_name, hang, width, wrap};

/// Between columns.
const GAP: usize = 2;

/// Columns for a label at the left of header lines.
const LABEL: usize = 8;

/// Longest line of a configuration's name that is not broken.
const NAME: usize = 12;

const DRAWN: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

const PLAIN: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));

/// What sets a terminal to the colour of the best figures, and back.
pub const BRIGHT: &str = "\x1b[1;32m";
/// See [`BRIGHT`].
pub const USUAL: &str = "\x1b[0m";

pub(crate) struct Table;

impl Format for Table {
    fn name(&self) -> &'static str {
        "table"
    }

    fn about(&self) -> &'static str {
        "tasks x file systems for one metric, for people"
    }

    fn render(&self, run: &RunRecord, options: &Options) -> Result<String> {
        Ok(table(run, options))
    }
}

/// Tasks x file systems for one metric. File systems that do not fit beside each other make further tables.
pub fn table(run: &RunRecord, options: &Options) -> String {
    let mut out = String::new();
    for (label, text) in header(run) {
        out += &hang(label, LABEL, &text, options.width);
    }
    out.push('\n');
    let matrix = matrix(run, options.metric);
    if matrix.rows.is_empty() || matrix.columns.is_empty() {
        out += &hang("", 0, &format!("There is no figure of {} in this run.", head(matrix.metric)), options.width);
        out.push('\n');
        for (index, note) in matrix.notes.iter().enumerate() {
            out += &hang(&crate::matrix::mark(index), 4, note, options.width);
        }
        return out;
    }
    out += &tables(&matrix, options);
    for line in legend(&matrix, "*") {
        // Marks stand before their sentences, which then keep together.
        match line.split_once(' ') {
            Some((mark, text)) if mark.starts_with('[') || mark.len() == 1 => {
                out += &hang(mark, mark.len() + 1, text, options.width);
            }
            _ => out += &hang("", 0, &line, options.width),
        }
    }
    out
}

fn tables(matrix: &Matrix, options: &Options) -> String {
    let longest = matrix.rows.iter().map(|row| width(&row.label)).max().unwrap_or(0);
    let title = head(matrix.metric);
    let first = longest.max(width(&title)).min((options.width * 35 / 100).max(16));
    let spread = matrix.has_spread.then(|| {
        let mut cells = vec!["spread\n%".to_owned()];
        cells.extend(matrix.rows.iter().map(|row| row.spread.map_or(String::new(), |spread| format!("{spread:.2}"))));
        cells
    });
    let columns: Vec<Vec<String>> = matrix
        .columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let name = break_name(&format!("{}{}", column.name, marks(&column.notes)), NAME).join("\n");
            // Figures stay under each other where some have marks behind them.
            let entries = || matrix.rows.iter().map(|row| &row.entries[index]);
            let figures = entries().filter(|entry| entry.value.is_some());
            let behind = figures.map(|entry| width(&marks(&entry.notes))).max().unwrap_or(0);
            let entries = entries().map(|entry| {
                let best = if entry.best { String::from(BEST) } else { String::new() };
                let behind = if entry.value.is_some() { behind } else { 0 };
                format!("{best}{}{:behind$}", entry.text, marks(&entry.notes))
            });
            std::iter::once(name).chain(entries).collect()
        })
        .collect();

    let room = options.width.saturating_sub(first + spread.as_ref().map_or(0, |cells| GAP + column_width(cells)));
    let mut parts: Vec<Vec<&Vec<String>>> = vec![Vec::new()];
    let mut used = 0;
    for column in &columns {
        let takes = GAP + column_width(column);
        if used + takes > room && used > 0 {
            parts.push(Vec::new());
            used = 0;
        }
        used += takes;
        parts.last_mut().expect("there is one from the start").push(column);
    }

    let mut labels = vec![wrap(&title, first).join("\n")];
    labels.extend(matrix.rows.iter().map(|row| wrap(&row.label, first).join("\n")));
    let mut out = String::new();
    for mut part in parts {
        part.insert(0, &labels);
        part.extend(spread.as_ref());
        out += &draw(&part, usize::MAX, options);
        out.push('\n');
    }
    out
}

fn column_width(cells: &[String]) -> usize {
    cells.iter().flat_map(|cell| cell.lines()).map(width).max().unwrap_or(0)
}

/// Columns, each with its head first; the first column and those from `left_from` on to the left, others to the
/// right. All are as wide as they are: whoever calls has made them fit.
pub(crate) fn draw(columns: &[&Vec<String>], left_from: usize, options: &Options) -> String {
    let mut table = comfy_table::Table::new();
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.load_style(if options.terminal { DRAWN } else { PLAIN });
    let line = |row: usize| columns.iter().map(move |column| Cell::new(column.get(row).map_or("", String::as_str)));
    table.set_header(line(0));
    for row in 1..columns.first().map_or(0, |column| column.len()) {
        table.add_row(line(row));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        // The place of the lines between columns, which are not drawn, is one column of the gap.
        column.set_padding(if index == 0 { (0, 0) } else { (GAP as u16 - 1, 0) });
        if index > 0 && index < left_from {
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

/// The line with the best figures marked, in colour from the mark to the end of the figure: figures hold no two
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
