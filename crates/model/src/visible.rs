//! Escapes foreign text for display: characters that control a terminal or change how text looks.

use std::borrow::Cow;

/// Whether a character is not shown as itself: control characters, which a terminal obeys; those that change the
/// direction of the following text (Unicode's UAX #9, "Trojan Source"); line ends other than `
/// `; and characters without width that make two names look alike. Excludes the joiners U+200C and U+200D, which
/// scripts need.
pub fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// The text with each hidden character replaced by its code, `\u{1b}`; line ends and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    let shown = |letter: char| !is_hidden(letter) || letter == '\n' || letter == '\t';
    if text.chars().all(shown) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if shown(letter) {
            out.push(letter);
        } else {
            out.extend(letter.escape_unicode());
        }
    }
    Cow::Owned(out)
}

/// The first `most` characters of a text, and a sign if there were more.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_written_out() {
        assert!(matches!(visible("plain\n\t\u{e4} \u{200d} µ"), Cow::Borrowed(_)));
        let text = "\x1b]0;title\x07\r\u{9b}2J \u{202e}txt.exe\u{2066}\u{feff}\u{7f}\0";
        let safe = visible(text);
        assert!(!safe.chars().any(is_hidden), "{safe:?}");
        assert!(safe.starts_with("\\u{1b}]0;title\\u{7}\\u{d}\\u{9b}2J \\u{202e}txt.exe"), "{safe}");
    }

    #[test]
    fn a_text_is_cut_between_characters_and_says_so() {
        assert_eq!(super::shortened("äöü", 3), "äöü");
        assert_eq!(super::shortened("äöüx", 3), "äöü…");
    }
}
