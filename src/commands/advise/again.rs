//! An answer that was written before: the same question once more, and what it was then.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use clap::{Arg, Args, Command, CommandFactory, Parser};
use mountmark_findings::advice::{Before, ground};
use mountmark_record::RunRecord;
use serde_json::Value;

use super::Arguments;
use crate::common::WrongUse;
use crate::plan_file;
use crate::work_options::WorkOptions;

/// The longest answer that is read.
const MOST: u64 = 64 << 20;

/// What is wrong with another file.
const NO_ANSWER: &str = "it is no answer that `mountmark advise --also FILE.json` wrote";

/// Options with a value that say how an answer is written, and not what is asked.
const HOW: [&str; 5] = ["--also", "--format", "--out", "--again", "--jobs"];

/// As a line of its own: what stands behind overrides.
#[derive(Parser)]
#[command(args_override_self = true)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

/// Old words with new ones in their place: an option's values stand for all that it had, and a work for the whole old one.
fn put_over(old: &[String], new: &[String]) -> Vec<String> {
    let split = |words: &[String]| {
        let (options, command) = words.split_at(words.iter().position(|word| word == "--").unwrap_or(words.len()));
        (options.to_vec(), command.to_vec())
    };
    let ((old, old_command), (new, new_command)) = (split(old), split(new));
    let name = |word: &String| word.split('=').next().and_then(|word| word.strip_prefix("--")).map(str::to_owned);
    let named: Vec<String> = new.iter().filter_map(name).collect();
    let work = WorkOptions::augment_args(Command::new("work"));
    let is_work = |name: &str| work.get_arguments().any(|one| one.get_long() == Some(name));
    let is_other_work = !new_command.is_empty() || named.iter().any(|name| name == "suite");
    let line = Line::command();
    let takes = |name: &str| {
        let of = |one: &&Arg| one.get_long_and_visible_aliases().is_some_and(|names| names.contains(&name));
        line.get_arguments().find(of).is_some_and(|one| one.get_action().takes_values())
    };
    let mut words = Vec::new();
    let mut old = old.into_iter();
    while let Some(word) = old.next() {
        let name = name(&word).unwrap_or_default();
        let value = if takes(&name) && !word.contains('=') { old.next() } else { None };
        let is_replaced = named.contains(&name) || is_other_work && is_work(&name);
        if !is_replaced {
            words.extend(std::iter::once(word).chain(value));
        }
    }
    let command = if is_other_work { new_command } else { old_command };
    [words, new, command].concat()
}

/// The words of this command line behind `advise` that say what is asked.
pub fn words() -> Result<Vec<String>> {
    let mut given = plan_file::own_words()?.into_iter().skip_while(|word| word != "advise").skip(1);
    let mut words = Vec::new();
    while let Some(word) = given.next() {
        match word.as_str() {
            "--" => words.extend(std::iter::once(word).chain(given.by_ref())),
            option if HOW.contains(&option) => drop(given.next()),
            option if HOW.iter().any(|how| option.strip_prefix(how).is_some_and(|rest| rest.starts_with('='))) => {}
            _ => words.push(word),
        }
    }
    Ok(words)
}

/// The answer in a file that an option names.
///
/// # Errors
/// A file that `advise --also FILE.json` has not written.
pub fn read(option: &str, path: &Path) -> Result<Value> {
    let wrong = |reason: &str| WrongUse(format!("{option} {}: {reason}", path.display()));
    let text = mountmark_input::text(path, MOST).map_err(|error| wrong(&format!("{error:#}")))?;
    let found: Value =
        serde_json::from_str(&text).map_err(|error| wrong(&format!("{NO_ANSWER}, or not all of it: {error}")))?;
    let is_text = |field: &Value| field.is_string();
    let is_answer = [&found["sentence"], &found["kernel"], &found["work"], &found["answer"]["name"]];
    if !is_answer.into_iter().all(is_text) || !found["words"].is_array() {
        return Err(wrong(NO_ANSWER).into());
    }
    Ok(found)
}

/// Versions of what a run was measured with.
pub fn versions(run: &RunRecord) -> BTreeMap<String, String> {
    let Some(cell) = run.cells.first() else { return BTreeMap::new() };
    let environment = &cell.environment;
    let packages = run.cells.iter().flat_map(|cell| cell.environment.packages.clone());
    let own =
        [("kernel", &environment.kernel), ("emulator", &environment.emulator), ("guest program", &environment.guest)];
    own.into_iter().map(|(name, version)| (name.to_owned(), version.clone())).chain(packages).collect()
}

/// What the answer in a file was asked, with what this command line says otherwise, and what the answer was.
///
/// # Errors
/// A file that `advise --also FILE.json` has not written.
pub fn load(path: &Path, now: &Arguments) -> Result<(Arguments, Vec<String>, Before)> {
    let wrong = |reason: &str| WrongUse(format!("--again {}: {reason}", path.display()));
    let found = read("--again", path)?;
    let field = |field: &Value| field.as_str().unwrap_or_default().to_owned();
    let (sentence, kernel, name) =
        (field(&found["sentence"]), field(&found["kernel"]), field(&found["answer"]["name"]));
    let versions = found["versions"].as_object().into_iter().flatten();
    let versions = versions.map(|(name, version)| (name.clone(), field(version))).collect();
    let speed = |one: &Value| Some((one["configuration"].as_str()?.to_owned(), one["speed"].as_f64()?));
    let speeds = found["tried"].as_array().into_iter().flatten().filter_map(speed).collect();
    let before = Before { sentence, kernel, name, versions, speeds, ground: ground(&found) };
    let old: Vec<String> = found["words"].as_array().into_iter().flatten().map(field).collect();
    let all = put_over(&old, &self::words()?);
    let line = std::iter::once("advise").chain(all.iter().map(String::as_str));
    let Line { mut arguments } = Line::try_parse_from(line).map_err(|error| wrong(&error.to_string()))?;
    arguments.also.clone_from(&now.also);
    arguments.format.clone_from(&now.format);
    arguments.store = now.store.clone();
    arguments.jobs = now.jobs;
    Ok((arguments, all, before))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(old: &str, new: &str) -> String {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        put_over(&words(old), &words(new)).join(" ")
    }

    #[test]
    fn what_is_named_anew_stands_in_the_place_of_what_was() {
        assert_eq!(over("--suite oltp --fs ext4,xfs --need quota", ""), "--suite oltp --fs ext4,xfs --need quota");
        assert_eq!(
            over("--suite oltp --fs ext4,xfs --fs=jfs --seed 2", "--fs btrfs"),
            "--suite oltp --seed 2 --fs btrfs"
        );
        assert_eq!(
            over("--need=quota --allow unmaintained --suite oltp", "--need reflink --allow=weaker-promises"),
            "--suite oltp --need reflink --allow=weaker-promises"
        );
        assert_eq!(
            over("--with a --cold --fs ext4 -- sort a", "--kernel sid"),
            "--with a --cold --fs ext4 --kernel sid -- sort a"
        );
        assert_eq!(over("--with a --cold --fs ext4 -- sort a", "-- sort --all b"), "--fs ext4 -- sort --all b");
        assert_eq!(over("--with a --fs ext4 -- sort a", "--suite oltp"), "--fs ext4 --suite oltp");
        assert_eq!(over("--suite oltp --size 4GiB", "--with a -- sort a"), "--size 4GiB --with a -- sort a");
    }
}
