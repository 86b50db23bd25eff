//! An answer that was written before: the same question once more, and what it was then.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use clap::Parser;
use mountmark_findings::advice::{Before, ground};
use mountmark_record::RunRecord;
use serde_json::Value;

use super::Arguments;
use crate::common::WrongUse;
use crate::plan_file;

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
    let (options, command) = old.split_at(old.iter().position(|word| word == "--").unwrap_or(old.len()));
    let all = [options, &self::words()?, command].concat();
    let line = std::iter::once("advise").chain(all.iter().map(String::as_str));
    let Line { mut arguments } = Line::try_parse_from(line).map_err(|error| wrong(&error.to_string()))?;
    arguments.also.clone_from(&now.also);
    arguments.format.clone_from(&now.format);
    arguments.store = now.store.clone();
    arguments.jobs = now.jobs;
    Ok((arguments, all, before))
}
