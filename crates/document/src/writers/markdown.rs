//! Parts as Markdown, for web pages, wikis and articles.

use crate::forms::{Block, Form, Last, Mark, Table, opened};
use crate::text::{BEST, clean, clean_keeping_marks};
use crate::writers::Writer;

/// The first line of every report.
const MARK: &str = "<!-- mountmark report -->";

pub const MARKDOWN: Writer = Writer {
    name: "markdown",
    endings: &["md", "markdown"],
    form: Form::Blocks,
    mark: MARK,
    write: |subject, _| Some(Ok(markdown(&subject.blocks()?))),
};

fn markdown(parts: &[Block]) -> String {
    let mut out = String::new();
    let mut is_list = false;
    let parts = opened(parts);
    for part in &parts {
        let begins_list = matches!(part, Block::Fact(..) | Block::Item(_));
        if !(out.is_empty() || is_list && begins_list) {
            out.push('\n');
        }
        is_list = begins_list;
        let line = |text: &str| escape(&clean(text));
        match part {
            Block::Title(text) => {
                if out.is_empty() {
                    out += &format!("{MARK}\n\n");
                }
                out += &format!("# {}\n", line(text));
            }
            Block::Heading(text) => out += &format!("## {}\n", line(text)),
            Block::Subheading(text) => out += &format!("### {}\n", line(text)),
            Block::Fact(label, text) if label.is_empty() => out += &format!("- {}\n", line(text)),
            Block::Fact(label, text) => out += &format!("- **{}** {}\n", line(label), line(text)),
            // A dash at the start of a line would begin a list.
            Block::Legend(Mark::NoFigure, text) => out += &format!("\\- {}\n", line(text)),
            Block::Legend(Mark::Best, text) => out += &format!("Bold: {}\n", line(text)),
            Block::Legend(Mark::Note(mark), text) => out += &format!("{} {}\n", line(mark), line(text)),
            Block::Text(text) => out += &format!("{}\n", line(text)),
            Block::Item(text) => out += &format!("- {}\n", line(text)),
            Block::Command(text) => out += &fenced("sh", &clean(text)),
            Block::Output(text) => out += &fenced("", &text.lines().map(clean).collect::<Vec<_>>().join("\n")),
            Block::Table(table) => out += &rows(table),
            Block::Fold(..) | Block::Drawn(..) => unreachable!("opened above"),
        }
    }
    out
}

fn rows(table: &Table) -> String {
    let row = |cells: &[String]| {
        let cells: Vec<String> =
            cells.iter().map(|cell| cell.lines().map(marked).collect::<Vec<_>>().join("<br>")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let is_words = |column| table.last == Last::Words && column + 1 == table.head.len();
    let is_left = |column| column < table.keys.max(1) || is_words(column);
    let rules = (0..table.head.len()).map(|column| if is_left(column) { "---" } else { "---:" });
    let mut out = row(&table.head) + &format!("| {} |\n", rules.collect::<Vec<_>>().join(" | "));
    table.rows.iter().for_each(|cells| out += &row(cells));
    out
}

/// A line of a cell, in bold from the mark of a best figure to the figure's end.
fn marked(line: &str) -> String {
    let line = clean_keeping_marks(line);
    let line = line.trim_end();
    let Some(figure) = line.strip_prefix(BEST) else { return escape(line) };
    let (figure, notes) = figure.find('[').map_or((figure, ""), |at| figure.split_at(at));
    format!("**{}**{}", escape(figure.trim_end()), escape(notes))
}

/// A code block, in a fence that the text cannot end.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}\n")
}

/// Text with Markdown's signs escaped.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        if matches!(letter, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '&' | '~') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_at_the_left_and_signs_stay_what_they_are() {
        let cells = vec![vec!["a".to_owned(), "1".to_owned(), "&lt; ~~b~~".to_owned()]];
        let text = rows(&Table::new(["claim", "this run", "why"], cells, 1, Last::Words));
        assert_eq!(text.lines().nth(1), Some("| --- | ---: | --- |"));
        assert_eq!(text.lines().nth(2), Some(r"| a | 1 | \&lt; \~\~b\~\~ |"));
    }
}
