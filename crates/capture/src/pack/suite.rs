//! The suite's text, and what it says of the file system's size.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::entries::Entries;
use crate::Recording;
use crate::command::{Command, quoted};
use crate::refusal::{Refusal, Result};
use crate::tracer::Ended;

const LEAST_ROOM: u64 = 64 << 20;
const STEP: u64 = 16 << 20;
const BLOCK: u64 = 4096;

/// A name that a suite and its files may have: the program's, with what is neither a letter nor a digit as a hyphen.
pub fn suite_name(command: &Command) -> String {
    let base = Path::new(&command.words[0]).file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let plain: String = base.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let name: Vec<&str> = plain.split('-').filter(|part| !part.is_empty()).collect();
    let name = name.join("-");
    match name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => name,
        false => format!("command-{name}").trim_end_matches('-').to_owned(),
    }
}

/// What the file system under test must hold: the files placed there, what the command makes, and a quarter more for
/// their metadata and for what a file system frees late.
pub fn room(recording: &Recording, entries: &Entries) -> u64 {
    let folder = &recording.command.folder;
    let blocks = |size: u64| size.div_ceil(BLOCK) * BLOCK + BLOCK;
    let placed: u64 =
        entries.values().filter(|entry| entry.path.starts_with(folder)).map(|entry| blocks(entry.size())).sum();
    let nodes = recording.tree.nodes();
    let made: u64 = nodes
        .filter(|(path, node)| path.starts_with(folder) && node.uses.made)
        .map(|(_, node)| blocks(node.grown))
        .sum();
    ((placed + made) / 4 * 5).max(LEAST_ROOM).div_ceil(STEP) * STEP
}

pub fn text(name: &str, recording: &Recording, words: &[OsString], input: Option<&Path>, room: u64) -> Result<String> {
    let command = &recording.command;
    let plain = |text: &OsStr| {
        text.to_str().map(str::to_owned).ok_or_else(|| Refusal::NotText(text.to_string_lossy().into_owned()))
    };
    let words = words.iter().map(|word| plain(word)).collect::<Result<Vec<_>>>()?;
    let mut run = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let line = run.clone();
    if let Some(input) = input {
        run += &format!(" < {}", quoted(&plain(input.as_os_str())?));
    }
    // A task fails if its command does; this one is to end as it did.
    match recording.ended {
        Ended::Code(0) => {}
        Ended::Code(code) => run += &format!("\ntest $? -eq {code}"),
        Ended::Signal(signal) => run += &format!("\ntest $? -eq {}", 128 + signal),
    }
    let environment = command
        .environment
        .iter()
        .map(|(name, value)| Ok(format!("{} = {}", key(&plain(name)?), string(&plain(value)?))))
        .collect::<Result<Vec<_>>>()?;
    Ok(format!(
        "name = {}\nabout = {}\nroom = {}\nposix = true\n\n[root]\npath = {}\nover = true\nfolder = {}\nenvironment = {{ {} }}\n\n[[task]]\nid = {}\ntitle = {}\nrun = {}\n",
        string(name),
        string(&format!("recorded: {line}")),
        string(&format!("{} MiB", room >> 20)),
        string(&format!("{name}.tar.zst")),
        string(&plain(command.folder.as_os_str())?),
        environment.join(", "),
        string(name),
        string(&title(&line)),
        string(&run),
    ))
}

/// A title has braces for parameters, and a row of a table for it.
fn title(line: &str) -> String {
    let line: String = line.chars().map(|c| if matches!(c, '{' | '}') || c.is_control() { ' ' } else { c }).collect();
    match line.chars().count() {
        0..=60 => line,
        _ => line.chars().take(57).collect::<String>() + "...",
    }
}

fn string(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_bare { name.to_owned() } else { string(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files() {
        let named = |word: &str| {
            let words = vec![word.into()];
            let (program, folder) = Default::default();
            suite_name(&Command { words, program, folder, environment: Default::default(), input: None })
        };
        assert_eq!(named("/usr/bin/python3.11"), "python3-11");
        assert_eq!(named("./Build_All.sh"), "build-all-sh");
        assert_eq!(named("7z"), "command-7z");
        assert_eq!(named("[").as_str(), "command");
    }

    #[test]
    fn text_is_toml() {
        for text in ["a \"b\" \\ 'c'", "two\nlines", "\u{7f} \u{1b}[1m", "ä"] {
            let line = format!("x = {}", string(text));
            let table: toml::Table = line.parse().unwrap();
            assert_eq!(table["x"].as_str(), Some(text), "{line}");
        }
        assert_eq!(title(&"x".repeat(100)).len(), 60);
        assert!(!title("awk {print}").contains('{'));
    }
}
