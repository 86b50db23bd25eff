//! What is measured: a suite, or a command line with what it needs. Every command that measures takes it from here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use mountmark_corpus::bring::{self, Brought};
use mountmark_model::{Bytes, Cell, Direction, Root, Suite, SuiteFigure, TaskRoot};
use mountmark_plan::{Catalogue, CommandLine, put_command};

use crate::common::{self, WrongUse};

/// A suite, or a command with what goes with it.
#[derive(Args, Clone, Debug, Default)]
pub struct WorkOptions {
    /// The suite: a name, the path of a TOML file of your own, or a job file of fio (FILE.fio, .job or .ini) [default:
    /// piszcz-2006]
    #[arg(long, value_name = "SUITE")]
    pub suite: Option<String>,
    /// Measure this command instead of a suite, in the root of the file system under test. A single word may be a line
    /// for a shell
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// Run this before each command, not timed
    #[arg(long, value_name = "LINE", help_heading = FOR_COMMANDS)]
    prepare: Option<String>,
    /// Begin each command with nothing in the page cache
    #[arg(long, help_heading = FOR_COMMANDS)]
    cold: bool,
    /// Measure another command after it, in the same file system
    #[arg(long, value_name = "LINE", help_heading = FOR_COMMANDS)]
    then: Vec<String>,
    /// Bring a file or folder of this machine: it lies where the command runs, with the libraries of its programs. One of
    /// more than 64 MiB stays on a second disk, in /with
    #[arg(long, value_name = "PATH", help_heading = FOR_COMMANDS)]
    with: Vec<PathBuf>,
    /// Run the command in a tree of its own: an archive that podman export or docker save wrote, an OCI layout, or a
    /// folder such as debootstrap makes
    #[arg(long, value_name = "PATH", help_heading = FOR_COMMANDS)]
    root: Option<PathBuf>,
    /// Add a Debian package, with all that it depends on
    #[arg(long, value_name = "NAME", help_heading = FOR_COMMANDS)]
    package: Vec<String>,
    /// Set a variable for the commands: NAME=VALUE, a number or a size; --vary NAME=FROM..TO:POINTS draws a curve
    #[arg(long, value_name = "NAME=VALUE", help_heading = FOR_COMMANDS)]
    parameter: Vec<String>,
    /// Judge a number that the first command prints: NAME=PATTERN, a regular expression that matches once, with a group
    /// around the number. NAME[UNIT] and NAME[UNIT,lower] say its unit, and that less is better
    #[arg(long, value_name = "NAME=PATTERN", help_heading = FOR_COMMANDS)]
    figure: Vec<String>,
    /// Write the command as a suite, to go on with
    #[arg(long, value_name = "FILE.toml", help_heading = FOR_COMMANDS)]
    save: Option<PathBuf>,
}

const FOR_COMMANDS: &str = "Commands of your own";

impl WorkOptions {
    /// Of a suite alone.
    pub fn suite(name: &str) -> WorkOptions {
        WorkOptions { suite: Some(name.to_owned()), ..WorkOptions::default() }
    }

    pub fn is_command(&self) -> bool {
        !self.command.is_empty()
    }

    /// Puts a command into the catalogue as a suite. Returns the name for `--suite`; `None` if none was given.
    pub fn fit(&self, catalogue: &mut Catalogue) -> Result<Option<String>> {
        if !self.is_command() {
            self.refuse_without_command()?;
            return Ok(self.suite.clone());
        }
        if let Some(suite) = &self.suite {
            bail!(WrongUse(format!("--suite {suite}: there is a command too; keep one of them")));
        }
        let command = self.command_line()?;
        for (path, size, place) in look(&command)?.large {
            say!("mountmark: {} ({}) stays on the second disk, as {place}", path.display(), Bytes(size));
        }
        if let Some(path) = &self.save {
            save(path, &command)?;
        }
        put_command(catalogue, &command).map(Some).map_err(Into::into)
    }

    /// Refuses options that nothing would come of.
    fn refuse_without_command(&self) -> Result<()> {
        let given = [
            ("--prepare", self.prepare.is_some()),
            ("--cold", self.cold),
            ("--then", !self.then.is_empty()),
            ("--with", !self.with.is_empty()),
            ("--root", self.root.is_some()),
            ("--package", !self.package.is_empty()),
            ("--parameter", !self.parameter.is_empty()),
            ("--figure", !self.figure.is_empty()),
            ("--save", self.save.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((option, _)) => bail!(WrongUse(format!(
                "{option} is for a command, and there is none: give it last, as in {option} ... -- sort -R words"
            ))),
            None => Ok(()),
        }
    }

    fn command_line(&self) -> Result<CommandLine> {
        let whole =
            |path: &PathBuf| path.canonicalize().map_err(|error| WrongUse(format!("{}: {error}", path.display())));
        let with = self.with.iter().map(whole).collect::<Result<Vec<PathBuf>, _>>()?;
        let root = self.root.as_ref().map(whole).transpose()?;
        self.refuse_path_of_here(&with, root.is_some())?;
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        let root = root.map(|path| Root {
            path: text(&path),
            over: false,
            folder: TaskRoot::FOLDER.into(),
            environment: BTreeMap::new(),
        });
        let mut command = CommandLine {
            words: self.command.clone(),
            then: self.then.clone(),
            prepare: self.prepare.clone(),
            cold: self.cold,
            with: with.iter().map(text).collect(),
            root,
            packages: self.package.clone(),
            figures: self.figure.iter().map(|text| figure(text)).collect::<Result<_>>()?,
            parameters: self.parameters()?,
        };
        let found = look(&command)?;
        if let Some(root) = &mut command.root {
            root.environment = found.environment;
        }
        Ok(command)
    }

    /// Refuses a program by a path of this machine, which a guest does not have.
    fn refuse_path_of_here(&self, with: &[PathBuf], has_root: bool) -> Result<()> {
        let [program, rest @ ..] = &self.command[..] else { return Ok(()) };
        let words = if rest.is_empty() { shlex::split(program).unwrap_or_default() } else { vec![program.clone()] };
        let Some(program) = words.first().filter(|word| word.contains('/') && !has_root) else { return Ok(()) };
        let path = Path::new(program);
        let name = path.file_name().unwrap_or_default();
        let brought = with.iter().any(|path| path.file_name() == Some(name));
        let is_here = path.is_file() && !["/bin", "/usr", "/sbin"].iter().any(|folder| path.starts_with(folder));
        if is_here && !(brought && path.parent() == Some(Path::new("."))) {
            bail!(WrongUse(format!(
                "{program} is a file of this machine; bring it, and call it where the command runs: --with {program} -- ./{}",
                name.display()
            )));
        }
        Ok(())
    }

    fn parameters(&self) -> Result<BTreeMap<String, Bytes>> {
        let mut all = BTreeMap::new();
        for text in &self.parameter {
            let wrong = |reason: &str| WrongUse(format!("--parameter {text}: {reason}"));
            let (name, value) = text.split_once('=').ok_or_else(|| wrong("give a name and a value, such as N=1000"))?;
            let value: Bytes = value.parse().map_err(|error| wrong(&format!("{error}")))?;
            if all.insert(name.to_owned(), value).is_some() {
                bail!(wrong("it is given twice"));
            }
        }
        Ok(all)
    }

    /// Refuses a program that the guests of `cell` do not have, which `programs` are; `has_package` tells of a Debian package.
    pub fn check_program(
        &self,
        cell: &Cell,
        programs: &[String],
        has_package: &dyn Fn(&str) -> Result<bool>,
    ) -> Result<()> {
        if !self.is_command() || cell.root.as_ref().is_some_and(|root| !root.over) {
            return Ok(());
        }
        for word in self.programs()? {
            if word.contains('/') || BUILT_IN.contains(&word.as_str()) || programs.contains(&word) {
                continue;
            }
            let package = match has_package(&word) {
                Ok(true) => format!("there is a Debian package of that name: --package {word}"),
                _ => "name the Debian package that has it, --package NAME".to_owned(),
            };
            bail!(WrongUse(format!(
                "there is no program {word} in the guest; {package}, or bring a file: --with PATH -- ./{word}"
            )));
        }
        Ok(())
    }

    /// The programs that a command and the scripts that are brought start, as far as words tell.
    fn programs(&self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        // A line for a shell may begin with anything.
        if let [program, _, ..] = &self.command[..] {
            all.push(program.clone());
        } else if let [line] = &self.command[..]
            && line.chars().all(|c| c.is_ascii_alphanumeric() || "-_+./".contains(c))
        {
            all.push(line.clone());
        }
        all.extend(look(&self.command_line()?)?.scripts.into_iter().map(|(_, program)| program));
        Ok(all)
    }
}

/// What a command brings, if it brings anything.
fn look(command: &CommandLine) -> Result<Brought> {
    let Some(bring) = mountmark_plan::brought(&command.suite()?) else { return Ok(Brought::default()) };
    Ok(bring::examine(&bring).map_err(|error| WrongUse(format!("{error:#}")))?)
}

/// The figure of `NAME=PATTERN`, `NAME[UNIT]=PATTERN` or `NAME[UNIT,lower]=PATTERN`.
fn figure(text: &str) -> Result<SuiteFigure> {
    let wrong = |reason: &str| WrongUse(format!("--figure {text}: {reason}"));
    let usual = "give a name and a pattern, such as 'tps=tps = ([0-9.]+)' or 'latency[ms,lower]=average = ([0-9.]+)'";
    let end = text.find(['=', '[']).ok_or_else(|| wrong(usual))?;
    let (name, rest) = text.split_at(end);
    let (unit, pattern) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once("]=").ok_or_else(|| wrong(usual))?,
        None => ("", &rest[1..]),
    };
    let (unit, better) = match unit.rsplit_once(',').map_or((unit, ""), |(unit, better)| (unit, better.trim())) {
        (unit, "") | (unit, "higher") => (unit, Direction::Higher),
        (unit, "lower") => (unit, Direction::Lower),
        (_, other) => bail!(wrong(&format!("{other:?} is neither lower nor higher"))),
    };
    Ok(SuiteFigure { name: name.into(), task: None, pattern: pattern.into(), unit: unit.trim().into(), better })
}

/// What a shell has itself.
const BUILT_IN: [&str; 14] =
    ["cd", "echo", "printf", "test", "[", "true", "false", "exit", "export", "set", "umask", "ulimit", "wait", "read"];

/// Writes a command as a suite's file.
fn save(path: &Path, command: &CommandLine) -> Result<()> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if path.extension().is_none_or(|ending| ending != "toml") {
        bail!(WrongUse(format!("--save {}: a suite is a file that ends in .toml", path.display())));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let missing = |error: std::io::Error| WrongUse(format!("--save {}: {error}", path.display()));
    let folder = folder.canonicalize().map_err(missing)?;
    let inside = |own: &str| match Path::new(own).strip_prefix(&folder) {
        Ok(inside) => Ok(inside.to_string_lossy().into_owned()),
        Err(_) => Err(WrongUse(format!(
            "--save {}: {own} does not lie in its folder or below it, where a suite finds its files; save it in a folder above",
            path.display()
        ))),
    };
    let mut suite: Suite = command.suite()?;
    suite.name = stem;
    for own in &mut suite.with {
        *own = inside(own)?;
    }
    if let Some(root) = &mut suite.root {
        root.path = inside(&root.path)?;
    }
    common::write_whole(path, &mountmark_plan::written_suite(&suite)?)?;
    say!("mountmark: {} has the command as a suite: --suite {}", path.display(), path.display());
    Ok(())
}
