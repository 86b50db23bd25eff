//! `--compare`: builds or values as the levels of a factor, from what the user wrote.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use mountmark_model::{Bytes, Own, Suite};
use mountmark_plan::{CommandLine, CrossedFactor, CrossedLevel, SideChange, plain};

use crate::common::WrongUse;

/// `NAME=VALUE,VALUE` or `VALUE,VALUE`.
struct Asked<'a> {
    text: &'a str,
    name: Option<&'a str>,
    values: Vec<&'a str>,
}

/// The sides of a command: of a parameter that it has, or of a program, which it then brings.
pub(super) fn sides_of_command(text: &str, command: &mut CommandLine) -> Result<CrossedFactor> {
    let asked = Asked::of(text)?;
    if let Some(name) = asked.parameter_of(command.parameters.keys()) {
        return asked.parameter(name);
    }
    let paths = asked.paths()?;
    let name = match asked.name {
        Some(name) => name.to_owned(),
        None => called(&paths, command.program().filter(|program| !is_brought(program, &paths, command)).as_deref())
            .ok_or_else(|| asked.wrong("say what the command calls it, as in --compare tool=./old,./new -- ./tool"))?,
    };
    let sides = sides(&name, &paths);
    command.with.retain(|with| Own::parse(with).called().is_none_or(|called| *called != *name));
    if let Some(SideChange::Own(own)) = sides.levels.first().map(|level| &level.change) {
        command.with.push(own.text());
    }
    Ok(sides)
}

/// The sides of a suite: of a parameter that it has, or of a file that it brings.
pub(super) fn sides_of_suite(text: &str, suite: &Suite) -> Result<CrossedFactor> {
    let asked = Asked::of(text)?;
    if let Some(name) = asked.parameter_of(suite.parameters.keys()) {
        return asked.parameter(name);
    }
    let paths = asked.paths()?;
    let own: Vec<String> =
        suite.with.iter().filter_map(|with| Some(Own::parse(with).called()?.to_string_lossy().into_owned())).collect();
    let name = asked.name.map(str::to_owned).or_else(|| called(&paths, None));
    match name.filter(|name| own.contains(name)) {
        Some(name) => Ok(sides(&name, &paths)),
        None => {
            let all: Vec<&str> = suite.parameters.keys().chain(&own).map(String::as_str).collect();
            let all = if all.is_empty() { "nothing".to_owned() } else { all.join(", ") };
            bail!(asked.wrong(&format!("write NAME=VALUE,VALUE with what the suite has: {all}")))
        }
    }
}

/// The command at one level.
pub(super) fn with_level(command: &CommandLine, level: &CrossedLevel) -> CommandLine {
    let mut command = command.clone();
    if let SideChange::Own(own) = &level.change {
        for with in &mut command.with {
            if Own::parse(with).called() == own.called() {
                *with = own.text();
            }
        }
    }
    command
}

impl<'a> Asked<'a> {
    fn of(text: &'a str) -> Result<Asked<'a>> {
        let (name, values) = match text.split_once('=').filter(|(name, _)| !name.contains(['/', ','])) {
            Some((name, values)) => (Some(name), values),
            None => (None, text),
        };
        let asked = Asked { text, name, values: values.split(',').collect() };
        if asked.values.len() < 2 || asked.values.contains(&"") || name == Some("") {
            bail!(asked.wrong("give two or more with commas between them, such as ./old,./new or N=100,200"));
        }
        Ok(asked)
    }

    /// As its suite writes it: capitals make no difference, as for --vary.
    fn parameter_of<'b>(&self, mut known: impl Iterator<Item = &'b String>) -> Option<&'b str> {
        let name = self.name?;
        known.find(|known| known.eq_ignore_ascii_case(name)).map(String::as_str)
    }

    fn wrong(&self, reason: &str) -> WrongUse {
        WrongUse(format!("--compare {}: {reason}", self.text))
    }

    fn parameter(&self, name: &str) -> Result<CrossedFactor> {
        let level = |text: &&str| {
            let value: Bytes = text.parse().map_err(|error| self.wrong(&format!("{text}: {error}")))?;
            let change = SideChange::Parameter(name.to_owned(), value.0);
            Ok(CrossedLevel { text: (*text).to_owned(), label: format!("{name}-{}", plain(text)), change })
        };
        let levels = self.values.iter().map(level).collect::<Result<_>>()?;
        Ok(CrossedFactor { option: "compare", name: name.to_owned(), levels })
    }

    fn paths(&self) -> Result<Vec<PathBuf>> {
        let whole = |path: &&str| {
            let known = Path::new(path).canonicalize();
            let hint = self.name.filter(|_| path.parse::<Bytes>().is_ok());
            let hint = hint.map_or(String::new(), |name| format!(", and there is no parameter {name}"));
            known.map_err(|error| self.wrong(&format!("{path}: {error}{hint}")))
        };
        let paths: Vec<PathBuf> = self.values.iter().map(whole).collect::<Result<_, _>>()?;
        if let Some(at) = (1..paths.len()).find(|at| paths[..*at].contains(&paths[*at])) {
            bail!(self.wrong(&format!("{} is there twice", paths[at].display())));
        }
        Ok(paths)
    }
}

/// What tasks call a program of which these are the builds: as the command does, or as all of them are called.
fn called(paths: &[PathBuf], program: Option<&str>) -> Option<String> {
    if let Some(name) = program.and_then(|program| program.strip_prefix("./")).filter(|name| !name.contains('/')) {
        return Some(name.to_owned());
    }
    let first = paths.first()?.file_name()?;
    let is_one = paths.iter().all(|path| path.file_name() == Some(first));
    is_one.then(|| first.to_string_lossy().into_owned())
}

/// Whether `--with` brings that program from elsewhere, so that the builds are not of it.
fn is_brought(program: &str, paths: &[PathBuf], command: &CommandLine) -> bool {
    let name = Path::new(program).file_name();
    let is_build = |path: &Path| path.canonicalize().is_ok_and(|path| paths.contains(&path));
    let mut with = command.with.iter().map(|with| Own::parse(with));
    paths.iter().all(|path| path.file_name() != name)
        && with.any(|own| own.called().as_deref() == name && !is_build(&own.path))
}

/// Each build under `name`, labelled with the part of its path that tells it from the others.
fn sides(name: &str, paths: &[PathBuf]) -> CrossedFactor {
    let part = |path: &Path, depth: usize| {
        let parts: Vec<_> = path.components().collect();
        let at = parts.len().checked_sub(1 + depth)?;
        Some(plain(&parts[at].as_os_str().to_string_lossy()))
    };
    let deepest = paths.iter().map(|path| path.components().count()).max().unwrap_or(0);
    let labels_at = |depth: usize| paths.iter().map(|path| part(path, depth)).collect::<Option<Vec<String>>>();
    let differ = |labels: &Vec<String>| {
        labels.iter().enumerate().all(|(at, label)| !label.is_empty() && !labels[..at].contains(label))
    };
    // Names that differ in signs alone.
    let counted = || (1..=paths.len()).map(|number| number.to_string()).collect();
    let labels = (0..deepest).filter_map(labels_at).find(differ).unwrap_or_else(counted);
    let own = |path: &PathBuf| SideChange::Own(Own { name: Some(name.to_owned()), path: path.clone() });
    let level = |(label, path): (String, &PathBuf)| CrossedLevel { text: label.clone(), label, change: own(path) };
    let levels = labels.into_iter().zip(paths).map(level).collect();
    CrossedFactor { option: "compare", name: name.to_owned(), levels }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(paths: &[&str]) -> Vec<String> {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        sides("tool", &paths).levels.into_iter().map(|level| level.label).collect()
    }

    #[test]
    fn sides_are_called_after_what_differs() {
        assert_eq!(labels(&["/a/old", "/a/new.v2"]), ["old", "new.v2"]);
        assert_eq!(labels(&["/a/base/release/tool", "/a/head/release/tool"]), ["base", "head"]);
        assert_eq!(labels(&["/a.b/tool", "/a-b/tool"]), ["a.b", "a-b"]);
        assert_eq!(labels(&["/a+b/tool", "/a-b/tool"]), ["1", "2"]);
    }

    #[test]
    fn a_build_has_the_name_that_the_command_calls() {
        let paths = ["/a/old", "/a/new"].map(PathBuf::from);
        assert_eq!(called(&paths, Some("./tool")).as_deref(), Some("tool"));
        assert_eq!(called(&paths, Some("sh")), None);
        let paths = ["/a/tool", "/b/tool"].map(PathBuf::from);
        assert_eq!(called(&paths, Some("sh")).as_deref(), Some("tool"));
        let mut command = CommandLine { words: vec!["./tool x".into()], ..CommandLine::default() };
        let sides = sides_of_command("/bin/cat,/bin/ls", &mut command).unwrap();
        let first = Path::new("/bin/cat").canonicalize().unwrap();
        assert_eq!(command.with, [format!("tool={}", first.display())]);
        assert_eq!(sides.levels.len(), 2);
    }

    #[test]
    fn a_script_that_is_brought_is_no_build() {
        let script = || CommandLine {
            words: vec!["./bench.sh".into()],
            with: vec!["bench.sh=/bin/sh".into()],
            ..CommandLine::default()
        };
        let mut command = script();
        let error = sides_of_command("/bin/cat,/bin/ls", &mut command).unwrap_err().to_string();
        assert!(error.contains("say what the command calls it"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let paths = ["old", "new"].map(|side| folder.path().join(side).join("tool"));
        for path in &paths {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let mut command = script();
        let sides = sides_of_command(&format!("{},{}", paths[0].display(), paths[1].display()), &mut command).unwrap();
        assert_eq!(sides.name, "tool");
        assert_eq!(command.with[0], "bench.sh=/bin/sh");
    }

    #[test]
    fn what_names_no_sides_is_refused() {
        let mut command = CommandLine { words: vec!["sh".into()], ..CommandLine::default() };
        command.parameters.insert("N".into(), Bytes(1));
        for (text, says) in [
            ("", "give two or more"),
            ("./a", "give two or more"),
            ("N=1", "give two or more"),
            ("N=1,", "give two or more"),
            ("N=1,x", "x"),
            ("/no/such,/nor/this", "/no/such"),
            ("/bin/sh,/bin/cat", "say what the command calls it"),
            ("/bin/cat,/bin/cat", "cat is there twice"),
        ] {
            let error = sides_of_command(text, &mut command).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        let sides = sides_of_command("n=1,2KiB", &mut command).unwrap();
        let change = SideChange::Parameter("N".into(), 2048);
        assert_eq!(sides.levels[1], CrossedLevel { text: "2KiB".into(), label: "N-2KiB".into(), change });
    }
}
