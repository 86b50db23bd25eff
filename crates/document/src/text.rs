//! Wraps and measures lines of text.

use mountmark_model::is_hidden;

/// Marks a best figure until colours are decided; a private character that is removed from all input.
pub const BEST: char = '\u{e000}';

/// Before a line of a cell that stands back, before one that stands out of these, and before one that is a command.
pub const ASIDE: char = '\u{e001}';
pub const STRONG: char = '\u{e009}';
pub const CODE: char = '\u{e002}';

/// After an id that a title follows.
pub const ID: char = '\u{e00a}';

/// Before a verdict in a word: a mark for each [`crate::forms::Shade`].
pub const CHIPS: [char; 6] = ['\u{e003}', '\u{e004}', '\u{e005}', '\u{e006}', '\u{e007}', '\u{e008}'];

fn is_mark(letter: char) -> bool {
    ('\u{e000}'..='\u{e00f}').contains(&letter)
}

/// One line without hidden characters: names, sentences and kernel messages come from outside, and could control a
/// terminal.
pub fn clean(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if is_hidden(c) || is_mark(c) { ' ' } else { c }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A line of a table cell, which may begin with [`BEST`] and end with non-breaking spaces.
pub fn clean_keeping_marks(line: &str) -> String {
    let (mark, text) = line.strip_prefix(BEST).map_or(("", line), |text| ("\u{e000}", text));
    let end = text.trim_end_matches('\u{a0}');
    format!("{mark}{}{}", clean(end), " ".repeat(text[end.len()..].chars().count()))
}

/// Three digits from 0.1 on, two decimals below, all digits before the point: `0.02`, `1.02`, `12.3`, `345`, `6789`.
pub fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        value if value >= 99.95 => 0,
        value if value >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// Three digits, or slightly more.
pub fn figure(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        value if value >= 0.01 => three_digits(value),
        value if value >= 0.0001 => format!("{value:.4}"),
        _ => "<0.0001".into(),
    }
}

/// Display width in columns.
pub fn width(text: &str) -> usize {
    text.chars().count()
}

/// Wraps words to lines of at most `limit` columns; longer words are cut.
pub fn wrap(text: &str, limit: usize) -> Vec<String> {
    let limit = limit.max(1);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is one from the start");
        let room = limit.saturating_sub(width(last) + usize::from(!last.is_empty()));
        if width(word) <= room {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
            continue;
        }
        if last.is_empty() {
            lines.pop();
        }
        let letters: Vec<char> = word.chars().collect();
        lines.extend(letters.chunks(limit).map(|part| part.iter().collect::<String>()));
    }
    lines
}

/// A task's id and title as one text.
pub fn titled(id: &str, title: &str) -> String {
    if title.is_empty() || title == id { id.to_owned() } else { format!("{id} {title}") }
}

/// The name of a configuration in lines, broken after `:`, `,` and `=` if longer than `limit`.
pub fn break_name(name: &str, limit: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in name.split_inclusive([':', ',', '=', '+', ' ']) {
        let last = lines.last_mut().expect("there is one from the start");
        if !last.is_empty() && width(last) + width(part) > limit {
            lines.push(part.to_owned());
        } else {
            last.push_str(part);
        }
    }
    lines.into_iter().flat_map(|line| wrap(line.trim_end(), limit.max(16))).collect()
}

/// A label, and from `column` on a text with a hanging indent; broken at `limit` columns.
pub fn hang(label: &str, column: usize, text: &str, limit: usize) -> String {
    let mut out = String::new();
    for (index, line) in wrap(text, limit.saturating_sub(column).max(20)).iter().enumerate() {
        let label = if index == 0 { label } else { "" };
        out.push_str(format!("{label:column$}{line}").trim_end());
        out.push('\n');
    }
    out
}
