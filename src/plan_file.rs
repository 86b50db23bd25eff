//! Plan files: `@FILE` on the command line is replaced by the words in the file.
//!
//! Words are as in a shell: separated by blanks and line ends, joined by quotes and \, and # begins a comment. Nothing
//! is expanded. This file does not know commands and options.

use std::ffi::OsString;
use std::path::Path;

use mountmark_model::is_hidden;

use crate::common::WrongUse;

/// What follows it is a command to be measured.
const COMMAND: &str = "--";

/// The arguments, with each `@FILE` replaced by its words.
pub fn expand(arguments: impl IntoIterator<Item = OsString>) -> Result<Vec<OsString>, WrongUse> {
    let mut expanded = Vec::new();
    // A file's command: options that follow the file are not its words.
    let mut command = Vec::new();
    for argument in arguments {
        match argument.to_str().and_then(|text| text.strip_prefix('@')).filter(|_| !expanded.contains(&COMMAND.into()))
        {
            Some(path) => {
                let mut words = words(path)?;
                let at = words.iter().position(|word| word == COMMAND).unwrap_or(words.len());
                command.extend(words.split_off(at).into_iter().map(OsString::from));
                expanded.extend(words.into_iter().map(OsString::from));
            }
            None => expanded.push(argument),
        }
    }
    expanded.extend(command);
    Ok(expanded)
}

/// The words of this command line, with each `@FILE` replaced by its words.
///
/// # Errors
/// Also a word that is not UTF-8.
pub fn own_words() -> Result<Vec<String>, WrongUse> {
    let text = |word: OsString| word.into_string().map_err(|word| WrongUse(format!("{} is not UTF-8", word.display())));
    expand(std::env::args_os())?.into_iter().map(text).collect()
}

/// The text of a file with these words.
///
/// # Errors
/// Words that such a file cannot have: it must run as it reads. `shown` is what the file is called.
pub fn text(shown: &str, words: &[String]) -> Result<String, WrongUse> {
    let wrong = |reason: &str| WrongUse(format!("{shown}: {reason}"));
    let text = shlex::try_join(words.iter().map(String::as_str)).map_err(|_| wrong("a word has a NUL"))? + "\n";
    match read(shown, &text)? == words {
        true => Ok(text),
        false => Err(wrong("a word has a line end of Windows, which a plan file has not; put it into a script")),
    }
}

fn words(path: &str) -> Result<Vec<String>, WrongUse> {
    let shown = format!("the plan file {path}");
    let text = mountmark_input::text(Path::new(path), mountmark_input::MOST_TEXT)
        .map_err(|error| WrongUse(format!("{shown}: {error}")))?;
    read(&shown, &text)
}

/// The words of a file's text.
fn read(shown: &str, text: &str) -> Result<Vec<String>, WrongUse> {
    // Line ends of Windows.
    let text = text.replace("\r\n", "\n");
    // It must run as it reads: hidden characters are rejected.
    let hidden = |c: char| is_hidden(c) && c != '\t';
    if let Some((line, found)) =
        (1..).zip(text.lines()).find_map(|(line, text)| Some((line, text.chars().find(|c| hidden(*c))?)))
    {
        let code = u32::from(found);
        return Err(WrongUse(format!("{shown}:{line}: it holds U+{code:04X}, which does not show; remove it")));
    }
    let words = shlex::split(&text)
        .ok_or_else(|| WrongUse(format!("{shown}: a quote is not closed, or \\ is its last character")))?;
    match words.first().map(String::as_str) {
        None => Err(WrongUse(format!("{shown} has no words; it holds a command line, `run --fs ext4,xfs`"))),
        Some("mountmark") => Ok(words[1..].to_vec()),
        Some(_) => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn expanded(text: &str, after: &[&str]) -> Result<Vec<String>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        let plan = format!("@{}", file.path().display());
        let before = ["mountmark", plan.as_str()];
        let words = expand(before.iter().chain(after).map(OsString::from)).map_err(|error| error.to_string())?;
        Ok(words.into_iter().map(|word| word.into_string().unwrap()).collect())
    }

    #[test]
    fn words_stand_where_the_file_stood() {
        assert_eq!(expanded("run\r\n--jobs 2\r\n", &[]).unwrap(), ["mountmark", "run", "--jobs", "2"]);
        let text = "# every night\nrun --suite mail.toml   # ours\n  --fs 'ext4:mkfs=-O ^metadata_csum\\,x,xfs'\n";
        let words = expanded(text, &["--jobs", "1"]).unwrap();
        let wanted =
            ["mountmark", "run", "--suite", "mail.toml", "--fs", "ext4:mkfs=-O ^metadata_csum\\,x,xfs", "--jobs", "1"];
        assert_eq!(words, wanted);
    }

    #[test]
    fn options_after_a_file_stand_before_its_command() {
        let words = expanded("run --fs ext4 -- sort -R words\n", &["--jobs", "1"]).unwrap();
        assert_eq!(words, ["mountmark", "run", "--fs", "ext4", "--jobs", "1", "--", "sort", "-R", "words"]);
        let given = ["mountmark", "run", "--", "cat", "@/nowhere/file"].map(OsString::from);
        assert_eq!(expand(given.clone()).unwrap(), given);
    }

    #[test]
    fn a_whole_command_may_be_pasted() {
        assert_eq!(expanded("mountmark runs", &[]).unwrap(), ["mountmark", "runs"]);
    }

    #[test]
    fn what_is_no_command_line_is_named() {
        assert!(expanded("run --fs 'ext4", &[]).unwrap_err().contains("a quote is not closed"));
        assert!(expanded("# nothing\n", &[]).unwrap_err().contains("has no words"));
        assert!(expanded("run\n--fs ext4 \u{202e}\n", &[]).unwrap_err().contains(":2: it holds U+202E"));
        assert!(expanded("run --fs \x1b[2J\n", &[]).unwrap_err().contains("U+001B"));
        let missing = expand([OsString::from("@/nowhere/plan")]).unwrap_err().to_string();
        assert!(missing.contains("/nowhere/plan: No such file"), "{missing}");
    }

    #[test]
    fn words_that_a_file_cannot_have_are_refused_before_it_is_written() {
        let text = |word: &str| {
            let words = ["run", "--", "printf", word].map(str::to_owned);
            super::text("the plan", &words).map_err(|error| error.to_string())
        };
        for word in ["", "it's", "two\nlines", "a\tb", "@file", "# no comment", "\\"] {
            assert_eq!(expanded(&text(word).unwrap(), &[]).unwrap()[1..], ["run", "--", "printf", word]);
        }
        assert!(text("a\u{7}b").unwrap_err().contains("the plan:1: it holds U+0007"));
        assert!(text("a\r\nb").unwrap_err().contains("a line end of Windows"));
        assert!(text("a\0b").unwrap_err().contains("a NUL"));
    }
}
