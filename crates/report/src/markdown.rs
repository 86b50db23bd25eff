//! The table as Markdown, for web pages and articles.

use anyhow::Result;
use mountmark_record::RunRecord;

use crate::format::{Format, Options};
use crate::header::header;
use crate::matrix::{head, legend, marks, matrix};

pub(crate) struct Markdown;

impl Format for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn about(&self) -> &'static str {
        "the table as Markdown, the best of each row in bold"
    }

    fn render(&self, run: &RunRecord, options: &Options) -> Result<String> {
        Ok(markdown(run, options))
    }
}

/// The table in Markdown; as wide as it is, whatever the width asked for.
pub fn markdown(run: &RunRecord, options: &Options) -> String {
    let mut out = String::new();
    for (label, text) in header(run) {
        let label = if label.is_empty() { "corpus" } else { label };
        out += &format!("- {label}: {}\n", escape(&text));
    }
    out.push('\n');
    let matrix = matrix(run, options.metric);
    if matrix.rows.is_empty() || matrix.columns.is_empty() {
        out += &format!("There is no figure of {} in this run.\n", head(matrix.metric));
        for (index, note) in matrix.notes.iter().enumerate() {
            out += &format!("\n{} {}\n", escape(&crate::matrix::mark(index)), escape(note));
        }
        return out;
    }
    let mut line = |cells: Vec<String>| {
        out += &format!("| {} |\n", cells.join(" | "));
    };
    let names = matrix.columns.iter().map(|column| escape(&format!("{}{}", column.name, marks(&column.notes))));
    let spread = |text: String| matrix.has_spread.then_some(text);
    line([escape(&head(matrix.metric))].into_iter().chain(names).chain(spread("spread %".into())).collect());
    let rules = matrix.columns.iter().map(|_| "---:".to_owned());
    line(["---".to_owned()].into_iter().chain(rules).chain(spread("---:".into())).collect());
    for row in &matrix.rows {
        let entries = row.entries.iter().map(|entry| {
            let text = if entry.best { format!("**{}**", entry.text) } else { entry.text.clone() };
            text + &escape(&marks(&entry.notes))
        });
        let last = spread(row.spread.map_or(String::new(), |spread| format!("{spread:.2}")));
        line([escape(&row.label)].into_iter().chain(entries).chain(last).collect());
    }
    for text in legend(&matrix, "Bold:") {
        out += &format!("\n{}\n", if text.starts_with("- ") { format!("\\{text}") } else { escape(&text) });
    }
    out
}

/// Text that Markdown leaves as it is.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        if matches!(letter, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}
