//! Prepares text for a terminal: escaped, and with characters that the terminal's locale has.
//!
//! Output contains foreign names, sentences and program output. All of it passes through [`line`] and [`page`]. This
//! file does not know what the text is about.

use std::env;
use std::io::{IsTerminal, stderr};

use mountmark_document::writers::text::{BRIGHT, USUAL};
use mountmark_model::visible;

/// Characters of this program's texts that the locale C lacks, and their replacements.
const PLAIN: [(char, &str); 8] =
    [('─', "-"), ('–', "-"), ('→', "->"), ('µ', "u"), ('…', "..."), ('×', "x"), ('±', "+-"), ('≤', "<=")];

/// A message for standard error, which people read on a terminal or in a log.
pub fn line(text: &str) -> String {
    let text = visible(text);
    if stderr().is_terminal() && !shows_unicode() { ascii(&text) } else { text.into_owned() }
}

/// A page for standard output on a terminal. Keeps the two sequences that colour best figures in tables.
pub fn page(text: &str) -> String {
    let between = |text: &str| text.split(USUAL).map(visible).collect::<Vec<_>>().join(USUAL);
    let text = text.split(BRIGHT).map(between).collect::<Vec<_>>().join(BRIGHT);
    if shows_unicode() { text } else { ascii(&text) }
}

/// Whether the locale has more than ASCII (POSIX, "Environment Variables": the first that is set and not empty).
pub fn shows_unicode() -> bool {
    is_unicode(|name| env::var(name).ok())
}

fn is_unicode(value: impl Fn(&str) -> Option<String>) -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(value).find(|value| !value.is_empty());
    set.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match PLAIN.iter().find(|(known, _)| *known == letter) {
            _ if letter.is_ascii() => out.push(letter),
            Some((_, plain)) => out.push_str(plain),
            None => out.push('?'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_says_which_letters_there_are() {
        let of = |set: &[(&str, &str)]| {
            is_unicode(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        };
        assert!(of(&[("LANG", "de_DE.UTF-8")]) && of(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8"), ("LANG", "C")]));
        assert!(!of(&[]) && !of(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]) && !of(&[("LANG", "de_DE.ISO-8859-1")]));
        assert_eq!(ascii("── 5 µs → é\n"), "-- 5 us -> ?\n");
    }

    #[test]
    fn only_our_own_colours_pass() {
        let text = page(&format!("{BRIGHT}*1.0{USUAL} \x1b[2J \u{202e}x\n"));
        assert!(text.starts_with(&format!("{BRIGHT}*1.0{USUAL} \\u{{1b}}[2J \\u{{202e}}x")), "{text:?}");
    }
}
