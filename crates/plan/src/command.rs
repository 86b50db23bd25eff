//! A command line as a suite, so that it is run, judged and explained as any other.

use std::collections::BTreeMap;
use std::path::Path;

use mountmark_model::{Bytes, Parameter, Root, Suite, SuiteFigure, Task, protocol_task, shortened};

use crate::bounds::is_word;
use crate::error::fault;
use crate::{Catalogue, Origin, PlanError, Result, brought, check, figures};

/// The room for a command's own files where nothing else is known; disks of guests are larger.
const ROOM: Bytes = Bytes(256 << 20);
/// Characters of a command that are shown.
const SHOWN: usize = 60;

/// A command, and what goes with it.
#[derive(Clone, Debug, Default)]
pub struct CommandLine {
    /// The program and its arguments; one word is a line for a shell.
    pub words: Vec<String>,
    /// Further tasks, each a line for a shell.
    pub then: Vec<String>,
    /// Runs before each of the tasks, and is not timed.
    pub prepare: Option<String>,
    /// Whether tasks begin with nothing in the page cache.
    pub cold: bool,
    /// As [`Suite::with`].
    pub with: Vec<String>,
    pub root: Option<Root>,
    /// As [`Suite::whole_packages`].
    pub packages: Vec<String>,
    /// Numbers that the first command prints.
    pub figures: Vec<SuiteFigure>,
    /// Values by name.
    pub parameters: BTreeMap<String, Bytes>,
}

impl CommandLine {
    /// The first task's text for a shell.
    fn run(&self) -> Result<String> {
        match &self.words[..] {
            [line] => Ok(line.clone()),
            words => shlex::try_join(words.iter().map(String::as_str))
                .map_err(|_| PlanError::Options("the command holds a null character, and no command can".into())),
        }
    }

    /// The program that it starts, if its words tell.
    pub fn program(&self) -> Option<String> {
        match &self.words[..] {
            [line] => shlex::split(line)?.into_iter().next(),
            words => words.first().cloned(),
        }
    }

    /// The suite, called after the program.
    ///
    /// # Errors
    /// The faults that a suite's file may have.
    pub fn suite(&self) -> Result<Suite> {
        let first = self.run()?;
        let name = name(&first);
        let lines: Vec<String> = std::iter::once(first).chain(self.then.iter().cloned()).collect();
        let mut tasks: Vec<Task> = Vec::new();
        for line in &lines {
            let id = free(&self::name(line), |id| tasks.iter().all(|task| task.id != id));
            // A title's placeholders are the suite's own.
            // A task's name stands before its title.
            let shown = line.split_whitespace().collect::<Vec<_>>().join(" ");
            let shown = shown.strip_prefix(&format!("{id} ")).unwrap_or(&shown);
            let title = shortened(shown, SHOWN).replace('{', "(").replace('}', ")");
            tasks.push(Task {
                id,
                title,
                prepare: self.prepare.clone(),
                run: line.clone(),
                cold: self.cold,
                ..Task::default()
            });
        }
        let parameter = |value: &Bytes| Parameter { value: *value, min: Bytes(0), fixed: true };
        Ok(Suite {
            about: format!("the command {}", shortened(&lines[0], SHOWN)),
            name,
            room: ROOM,
            parameters: self.parameters.iter().map(|(name, value)| (name.clone(), parameter(value))).collect(),
            whole_packages: self.packages.clone(),
            with: self.with.clone(),
            root: self.root.clone(),
            figures: self
                .figures
                .iter()
                .map(|figure| SuiteFigure { task: Some(tasks[0].id.clone()), ..figure.clone() })
                .collect(),
            tasks,
            ..Suite::default()
        })
    }
}

/// Puts the suite of a command into the catalogue, and returns its name for `--suite`.
///
/// # Errors
/// What a suite's file may not say either, as the options that said it.
pub fn put_command(catalogue: &mut Catalogue, command: &CommandLine) -> Result<String> {
    let suite = command.suite()?;
    let faults = check::suite(&suite);
    if !faults.is_empty() {
        return Err(fault(&"the command", faults.join("; ")));
    }
    let name = suite.name.clone();
    catalogue.put(figures::with_figures(brought::settled(suite)), Origin::File(Path::new("-").to_owned()));
    Ok(name)
}

/// A suite made of commands as the text of its file: what a suite has without being told is left out.
///
/// # Errors
/// A value that TOML cannot have.
pub fn written_suite(suite: &Suite) -> Result<String> {
    let wrong = |error: &dyn std::fmt::Display| fault(&suite.name, error);
    let whole = toml::Table::try_from(suite).map_err(|error| wrong(&error))?;
    let plain =
        toml::Table::try_from(Suite { tasks: Vec::new(), ..Suite::default() }).map_err(|error| wrong(&error))?;
    let task = toml::Table::try_from(Task::default()).map_err(|error| wrong(&error))?;
    let without = |mut table: toml::Table, usual: &toml::Table| {
        table.retain(|name, value| usual.get(name) != Some(value));
        table
    };
    let mut whole = without(whole, &plain);
    if let Some(toml::Value::Array(tasks)) = whole.get_mut("task") {
        for own in tasks.iter_mut() {
            let table = own.as_table().cloned().unwrap_or_default();
            *own = toml::Value::Table(without(table, &task));
        }
    }
    toml::to_string_pretty(&whole).map_err(|error| wrong(&error))
}

/// A name from a command line: that of its program.
fn name(line: &str) -> String {
    let words = shlex::split(line).unwrap_or_default();
    let is_setting = |word: &&String| word.contains('=') || *word == "env" || *word == "exec";
    let program = words.iter().find(|word| !is_setting(word)).map_or("", String::as_str);
    let base = program.rsplit('/').find(|part| !part.is_empty()).unwrap_or("");
    let plain: String = base.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).take(SHOWN).collect();
    let plain = plain.replace('.', "-");
    let is_step = protocol_task::is_step(&plain);
    if is_word(&plain) && !is_step {
        plain
    } else {
        format!("command{}", if is_step { format!("-{plain}") } else { String::new() })
    }
}

/// `name`, or that with the first number that is free.
fn free(name: &str, is_free: impl Fn(&str) -> bool) -> String {
    let names = std::iter::once(name.to_owned()).chain((2..).map(|number| format!("{name}-{number}")));
    names.into_iter().find(|name| is_free(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str], then: &[&str]) -> Suite {
        let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        CommandLine { words: own(words), then: own(then), ..CommandLine::default() }.suite().unwrap()
    }

    #[test]
    fn a_command_becomes_a_suite_that_has_no_faults() {
        for (words, name, run) in [
            (&["sort", "-R", "my file"][..], "sort", "sort -R 'my file'"),
            (&["for i in 1 2; do echo $i; done"], "for", "for i in 1 2; do echo $i; done"),
            (&["./target/release/my-tool", "--help"], "my-tool", "./target/release/my-tool --help"),
            (&["--help"], "--help", "--help"),
            (&["env", "A=1", "tool"], "tool", "env 'A=1' tool"),
            (&["mount", "x"], "command-mount", "mount x"),
            (&["\u{e4}"], "command", "\u{e4}"),
            (&["awk", "{print $1}"], "awk", "awk '{print $1}'"),
        ] {
            let suite = of(words, &[]);
            assert_eq!((suite.name.as_str(), suite.tasks[0].run.as_str()), (name, run));
            assert_eq!(check::suite(&suite), Vec::<String>::new(), "{words:?}");
        }
    }

    #[test]
    fn each_line_is_a_task_of_its_own() {
        let suite = of(&["cp", "a", "b"], &["cp b c", "sync", "cp c d"]);
        let ids: Vec<&str> = suite.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["cp", "cp-2", "sync", "cp-3"]);
    }
}
