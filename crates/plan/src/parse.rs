//! Parses the text of a definition, or returns a sentence with the position of the error.

use mountmark_model::{FileSystem, Task};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Table;
use toml::de::{DeArray, DeTable, DeValue, Deserializer, Error};

use crate::error::fault;
use crate::without::{self, Without};
use crate::written::Written;
use crate::{Kind, PlanError, Result, matrix, tasks};

/// What is written in a file, which must be named as its definition and have no faults.
pub(crate) fn parse<T: DeserializeOwned>(
    written: &Written,
    name: impl Fn(&T) -> &str,
    faults: impl Fn(&T) -> Vec<String>,
) -> Result<T> {
    let Written { text, shown, .. } = written;
    let document = match written.kind {
        Kind::Suite => {
            let document: Table = read(written)?;
            for task in document.get("task").and_then(|tasks| tasks.as_array()).into_iter().flatten() {
                if tasks::never_synced(task) {
                    let id = task.get("id").and_then(|id| id.as_str()).unwrap_or("?");
                    let cure = "sync.every is 0, which never syncs: leave it out, or say 1 or more";
                    return Err(fault(shown, format!("task {id}: {cure}")));
                }
            }
            matrix::expanded(&document).map_err(|sentence| fault(shown, sentence))?
        }
        _ => None,
    };
    let entry: T = match (written.kind, document) {
        (Kind::FileSystem, _) => {
            let rest = without::rest(text).map_err(|error| placed(&error, text, shown))?;
            T::deserialize(Deserializer::from(rest)).map_err(|error| placed(&error, text, shown))?
        }
        (_, Some(document)) => expanded(document, text, shown)?,
        (_, None) => read(written)?,
    };
    sound(written, name(&entry), faults(&entry))?;
    Ok(entry)
}

/// What options take away, as the file of `filesystem` has it.
pub(crate) fn without(written: &Written, filesystem: &FileSystem) -> Result<Without> {
    let Written { text, shown, .. } = written;
    let found = without::of(text).map_err(|error| placed(&error, text, shown))?;
    sound(written, &filesystem.name, without::faults(&found, filesystem).collect())?;
    Ok(found)
}

impl Written {
    /// What it says, for a crate that knows the kind; `faults` says why it is unusable although well-formed, as sentences.
    pub fn read<T: DeserializeOwned>(&self, faults: impl Fn(&T) -> Vec<String>) -> Result<T> {
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }
        let entry: T = read(self)?;
        sound(self, &read::<Named>(self)?.name, faults(&entry))?;
        Ok(entry)
    }
}

fn read<T: DeserializeOwned>(Written { text, shown, .. }: &Written) -> Result<T> {
    toml::from_str(text).map_err(|error| placed(&error, text, shown))
}

/// Refuses a definition that is not named as its file is, or has faults.
fn sound(written: &Written, name: &str, faults: Vec<String>) -> Result<()> {
    let Written { kind, text, shown, .. } = written;
    let stem = written.stem();
    if name != stem {
        let kind = kind.word();
        let line = text.lines().position(|line| line.trim_start().starts_with("name")).map_or(1, |line| line + 1);
        return Err(fault(
            &format_args!("{shown}:{line}"),
            format!("the {kind} is named {:?} but its file {stem:?}: make them equal", name),
        ));
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(PlanError::File { faults: faults.into_iter().map(|sentence| format!("{shown}: {sentence}")).collect() })
    }
}

/// The suite whose matrices became the tasks of `document`. Such tasks are not in `text`: an error in one is reported
/// by its id, any other by line and column.
fn expanded<T: DeserializeOwned>(document: Table, text: &str, shown: &str) -> Result<T> {
    let mut written = DeTable::parse(text).map_err(|error| placed(&error, text, shown))?;
    for (key, value) in written.get_mut().iter_mut() {
        if let ("task", DeValue::Array(tasks)) = (key.get_ref().as_ref(), value.get_mut()) {
            let all = std::mem::replace(tasks, DeArray::new()).into_iter();
            *tasks = all.filter(|task| !is_matrix(task.get_ref())).collect();
        }
    }
    T::deserialize(Deserializer::from(written)).map_err(|error| placed(&error, text, shown))?;
    for (number, task) in (1..).zip(document.get("task").and_then(|tasks| tasks.as_array()).into_iter().flatten()) {
        if let Err(error) = task.clone().try_into::<Task>() {
            let id = task.get("id").and_then(|id| id.as_str()).map_or_else(|| number.to_string(), str::to_owned);
            return Err(fault(&shown, format!("task {id}: {}", error.message())));
        }
    }
    document.try_into().map_err(|error| placed(&error, text, shown))
}

fn is_matrix(task: &DeValue<'_>) -> bool {
    task.as_table().is_some_and(|task| task.keys().any(|key| key.get_ref() == "matrix"))
}

fn placed(error: &Error, text: &str, shown: &str) -> PlanError {
    match error.span() {
        Some(span) => {
            let (line, column) = position(text, span.start);
            fault(&format_args!("{shown}:{line}:{column}"), error.message())
        }
        None => fault(&shown, error.message()),
    }
}

/// Line and column, in characters from 1.
fn position(text: &str, byte: usize) -> (usize, usize) {
    let mut end = byte.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}
