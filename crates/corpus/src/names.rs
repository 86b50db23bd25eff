//! File and directory names: pronounceable, lower case, of realistic lengths, and unique in a directory.

use std::collections::HashSet;

use mountmark_model::Extension;

use mountmark_random::Stream;

const ONSETS: &[&str] = &[
    "b", "c", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "br", "ch", "cl", "dr", "fl", "gr",
    "pl", "sc", "sh", "sp", "st", "th", "tr",
];
const VOWELS: &[&str] = &["a", "e", "i", "o", "u", "a", "e", "i", "o", "ai", "ea", "ou"];
const CODAS: &[&str] = &["", "", "", "", "b", "d", "g", "k", "l", "m", "n", "p", "r", "s", "t", "x", "ck", "nd", "ng"];

/// Names without an extension found in most directories of a source tree, the most likely first.
const WELL_KNOWN: &[&str] = &["Makefile", "Kconfig", "README"];

/// The names of one directory.
#[derive(Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
}

impl Names {
    pub(crate) fn directory(&mut self, stream: &mut Stream) -> String {
        let stem = stem(stream);
        self.claim(stem, "")
    }

    /// A name for a file; `text` corpora use [`WELL_KNOWN`] names for some files without an extension.
    pub(crate) fn file(&mut self, extensions: &[Extension], text: bool, stream: &mut Stream) -> String {
        let percent = stream.unit() * 100.0;
        let stem = stem(stream);
        let mut below = 0.0;
        let extension = extensions.iter().find(|extension| {
            below += extension.percent;
            percent < below
        });
        let suffix = match extension {
            Some(extension) if !extension.name.is_empty() => format!(".{}", extension.name),
            _ => String::new(),
        };
        if suffix.is_empty()
            && text
            && let Some(known) = WELL_KNOWN.iter().find(|known| !self.taken.contains(**known))
        {
            return self.claim((*known).to_owned(), "");
        }
        self.claim(stem, &suffix)
    }

    /// `stem` and `suffix`, with a number between if already taken.
    fn claim(&mut self, stem: String, suffix: &str) -> String {
        let mut name = format!("{stem}{suffix}");
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{stem}{number}{suffix}");
        }
        name
    }
}

/// One or two words of one to three syllables, or one with a number: 2 to 30 letters, 9 or 10 on average, similar to a
/// kernel's tree (general knowledge, not counted there).
fn stem(stream: &mut Stream) -> String {
    let mut out = String::new();
    word(stream, &mut out);
    match stream.below(10) {
        0..=3 => {
            out.push(if stream.below(3) == 0 { '-' } else { '_' });
            word(stream, &mut out);
        }
        4..=5 => out.push_str(&stream.below(100).to_string()),
        _ => {}
    }
    out
}

fn word(stream: &mut Stream, out: &mut String) {
    let syllables = [1, 2, 2, 2, 3][stream.below(5) as usize];
    let mut pick = |from: &[&'static str]| from[stream.below(from.len() as u64) as usize];
    for last in (0..syllables).rev() {
        out.push_str(pick(ONSETS));
        out.push_str(pick(VOWELS));
        if last == 0 {
            out.push_str(pick(CODAS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_of_usual_length() {
        let mut stream = Stream::new(2, "names");
        let mut names = Names::default();
        let made: Vec<String> = (0..5000).map(|_| names.directory(&mut stream)).collect();
        assert_eq!(made.iter().collect::<HashSet<_>>().len(), made.len());
        let mean = made.iter().map(String::len).sum::<usize>() as f64 / made.len() as f64;
        assert!((6.0..11.0).contains(&mean), "{mean}");
        assert!(made.iter().all(|name| (2..=30).contains(&name.len()) && !name.contains('/')));
    }

    #[test]
    fn extensions_have_their_shares() {
        let extensions =
            [("c", 50.0), ("", 10.0), ("h", 30.0)].map(|(name, percent)| Extension { name: name.into(), percent });
        let mut stream = Stream::new(2, "shares");
        let mut names = Names::default();
        let made: Vec<String> = (0..20_000).map(|_| names.file(&extensions, true, &mut stream)).collect();
        let share = |end: &str| made.iter().filter(|name| name.ends_with(end)).count() as f64 / 200.0;
        assert!((share(".c") - 50.0).abs() < 2.0 && (share(".h") - 30.0).abs() < 2.0);
        assert!(made.iter().any(|name| name == "Makefile"));
        assert!((made.iter().filter(|name| !name.contains('.')).count() as f64 / 200.0 - 20.0).abs() < 2.0);
    }
}
