//! What is measured: a suite, or a command line with what it needs. Every command that measures takes it from here.

mod brought;
mod compare;
mod crash;
mod parameters;
mod saved;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use mountmark_corpus::bring::{self, Brought};
use mountmark_lab::OpenLab;
use mountmark_lab::image::packages::Packages;
use mountmark_model::{Bytes, Cell, Direction, Own, Root, Scale, SuiteFigure, TaskRoot, names};
use mountmark_plan::{Catalogue, CommandLine, CrossedFactor, put_command};

use crate::common::WrongUse;
use crate::written;
pub use crash::{Checked, MEASURED, brought_by};

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
    /// Bring a file or folder of this machine: it lies where the command runs, with the libraries of its programs, as
    /// NAME=PATH under another name. One of more than 64 MiB stays on a second disk, in /with
    #[arg(long, value_name = "PATH", help_heading = FOR_COMMANDS)]
    with: Vec<String>,
    /// Measure with each of these, such as two builds of the program that the command starts: PATH,PATH or NAME=PATH,PATH;
    /// or NAME=VALUE,VALUE of a parameter. Each file system has a row for each, such as ext4#old and ext4#new
    #[arg(long, value_name = "LIST", help_heading = FOR_COMMANDS)]
    compare: Option<String>,
    /// Run the command in a tree of its own: an archive that podman export or docker save wrote, an OCI layout, or a
    /// folder such as debootstrap makes
    #[arg(long, value_name = "PATH", help_heading = FOR_COMMANDS)]
    root: Option<PathBuf>,
    /// Add a Debian package, with all that it depends on
    #[arg(long, value_name = "NAME", help_heading = FOR_COMMANDS)]
    package: Vec<String>,
    /// Set a variable for the commands: NAME=VALUE, a number or a size
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

/// The scale of suites unless another is asked for.
const DEFAULT_SCALE: &str = "0.02";
const FOR_COMMANDS: &str = "Commands of your own";

impl WorkOptions {
    /// Of a suite alone.
    pub fn suite(name: &str) -> WorkOptions {
        WorkOptions { suite: Some(name.to_owned()), ..WorkOptions::default() }
    }

    /// The same, not to be written as a suite.
    pub fn unsaved(self) -> WorkOptions {
        WorkOptions { save: None, ..self }
    }

    pub fn is_command(&self) -> bool {
        !self.command.is_empty()
    }

    /// Whether several things are measured beside each other.
    pub fn is_compared(&self) -> bool {
        self.compare.is_some()
    }

    /// Whether a command or a suite was named.
    pub fn is_given(&self) -> bool {
        self.is_command() || self.suite.is_some()
    }

    /// The scale: as asked for, or the usual one; a command has the size that it has.
    pub fn scale(&self, asked: Option<&str>) -> Result<Scale> {
        let usual = if self.is_command() { "1" } else { DEFAULT_SCALE };
        Ok(asked.unwrap_or(usual).parse().map_err(|error| WrongUse(format!("--scale: {error}")))?)
    }

    /// The command as one line; `None` of a suite.
    pub fn line(&self) -> Option<String> {
        let words = self.command.iter().map(|word| mountmark_findings::shell_word(word));
        self.is_command().then(|| words.collect::<Vec<_>>().join(" "))
    }

    /// The options that stand for it, as words.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut add = |option: &str, values: &[String]| {
            words.extend(values.iter().flat_map(|value| [option.to_owned(), value.clone()]));
        };
        add("--suite", self.suite.as_slice());
        add("--prepare", self.prepare.as_slice());
        add("--then", &self.then);
        add("--with", &self.with);
        add("--package", &self.package);
        add("--parameter", &self.parameter);
        add("--figure", &self.figure);
        let root = self.root.as_ref().map(|root| root.display().to_string());
        add("--root", root.as_slice());
        words.extend(self.cold.then(|| "--cold".to_owned()));
        if self.is_command() {
            words.push("--".into());
            words.extend(self.command.iter().cloned());
        }
        words
    }

    /// Puts a command into the catalogue as a suite.
    pub fn fit(&self, catalogue: &mut Catalogue) -> Result<Work> {
        if !self.is_command() {
            self.refuse_without_command()?;
            let suite = self.suite.clone();
            let compared = match (&self.compare, &suite) {
                (Some(text), Some(name)) => Some(compare::sides_of_suite(text, &catalogue.suite(name)?)?),
                (Some(text), None) => {
                    bail!(WrongUse(format!("--compare {text}: say what to measure: a command, after --, or a --suite")))
                }
                (None, _) => None,
            };
            return Ok(Work { suite, compared, ..Work::default() });
        }
        if let Some(suite) = &self.suite {
            bail!(WrongUse(format!("--suite {suite}: there is a command too; keep one of them")));
        }
        let mut command = self.command_line()?;
        let compared = self.compare.as_ref().map(|text| compare::sides_of_command(text, &mut command)).transpose()?;
        self.refuse_path_of_here(&command)?;
        let brought = look(&command)?;
        for level in compared.iter().flat_map(|factor| &factor.levels) {
            look(&compare::with_level(&command, level))?;
        }
        self.refuse_no_program_of_root(&command, &brought)?;
        for (path, size, place) in &brought.large {
            say!("mountmark: {} ({}) stays on the second disk, as {place}", path.display(), Bytes(*size));
        }
        for reason in &brought.unsound {
            say!("mountmark: {reason}; it comes as it is");
        }
        if let Some(root) = &mut command.root {
            root.environment = brought.environment;
        }
        let saved = self.save.as_deref().map(|path| saved::text(path, &command)).transpose()?;
        let mut programs = self.programs();
        programs.extend(brought.scripts.into_iter().map(|(_, program)| program));
        Ok(Work { suite: Some(put_command(catalogue, &command)?), compared, programs, saved })
    }

    /// Refuses options that nothing would come of.
    pub fn refuse_without_command(&self) -> Result<()> {
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
        let is_blank = |line: &String| line.trim().is_empty();
        if self.command.first().is_some_and(is_blank) {
            bail!(WrongUse("-- '': the command is empty; give a program, or a line for a shell".into()));
        }
        if self.then.iter().any(is_blank) {
            bail!(WrongUse("--then '': the command is empty; give a line for a shell".into()));
        }
        if self.prepare.as_ref().is_some_and(is_blank) {
            bail!(WrongUse("--prepare '': the line is empty; give one for a shell, or leave it out".into()));
        }
        for name in &self.package {
            names::package(name).map_err(|reason| WrongUse(format!("--package {name:?}: {reason}")))?;
        }
        let root =
            self.root.as_deref().map(|path| brought::whole(&format!("--root {}", path.display()), path)).transpose()?;
        let root = root.map(|path| Root {
            path: path.to_string_lossy().into_owned(),
            over: false,
            folder: TaskRoot::FOLDER.into(),
            environment: BTreeMap::new(),
        });
        Ok(CommandLine {
            words: self.command.clone(),
            then: self.then.clone(),
            prepare: self.prepare.clone(),
            cold: self.cold,
            with: self.with.iter().map(|text| brought::own(text)).collect::<Result<_, _>>()?,
            root,
            packages: self.package.clone(),
            figures: self.figure.iter().map(|text| figure(text)).collect::<Result<_>>()?,
            parameters: parameters::parameters(&self.parameter)?,
        })
    }

    /// Refuses a program by a path of this machine, which a guest does not have.
    fn refuse_path_of_here(&self, command: &CommandLine) -> Result<()> {
        let Some(program) = command.program().filter(|word| word.contains('/') && command.root.is_none()) else {
            return Ok(());
        };
        let path = Path::new(&program);
        let name = path.file_name().unwrap_or_default();
        // Itself, or the folder in which it lies.
        let first = path.strip_prefix(".").unwrap_or(path).components().next().map(|part| part.as_os_str());
        let is_brought = command.with.iter().any(|own| Own::parse(own).called().as_deref() == first);
        let is_here = path.is_file() && !["/bin", "/usr", "/sbin"].iter().any(|folder| path.starts_with(folder));
        if is_here && !is_brought {
            bail!(WrongUse(format!(
                "{program} is a file of this machine; bring it, and call it where the command runs: --with {program} -- ./{}",
                name.display()
            )));
        }
        Ok(())
    }

    /// Refuses a program that the root does not have, or that cannot start there. What is prepared may be the program.
    fn refuse_no_program_of_root(&self, command: &CommandLine, brought: &Brought) -> Result<()> {
        let (Some(root), None) = (&command.root, &command.prepare) else { return Ok(()) };
        let Some(bring) = mountmark_plan::brought(&command.suite()?) else { return Ok(()) };
        let path = brought.environment.get("PATH").map_or(mountmark_job::PATH, String::as_str);
        for program in self.programs().iter().filter(|program| !BUILT_IN.contains(&program.as_str())) {
            let refused = bring::refusal(&bring, program, path).unwrap_or_else(|error| Some(format!("{error:#}")));
            if let Some(reason) = refused {
                bail!(WrongUse(format!("--root {}: {reason}", root.path)));
            }
        }
        Ok(())
    }

    /// The programs that the command starts, as far as words tell.
    fn programs(&self) -> Vec<String> {
        match &self.command[..] {
            [program, _, ..] => vec![program.clone()],
            // A line for a shell may begin with anything.
            [line] if line.chars().all(|c| c.is_ascii_alphanumeric() || "-_+./".contains(c)) => vec![line.clone()],
            _ => Vec::new(),
        }
    }
}

/// What a run measures.
#[derive(Debug, Default)]
pub struct Work {
    /// The name for `--suite`; `None` if none was given.
    pub suite: Option<String>,
    /// What is measured beside each other, if anything.
    pub compared: Option<CrossedFactor>,
    /// Programs that a command and the scripts that it brings start.
    programs: Vec<String>,
    /// Where the command is to be written as a suite, and its text.
    saved: Option<(PathBuf, String)>,
}

impl Work {
    /// Writes a command as a suite's file, if that was asked for.
    pub fn save(&self) -> Result<()> {
        let Some((path, text)) = &self.saved else { return Ok(()) };
        written::write_whole(path, text)?;
        let word = mountmark_findings::shell_word(&path.to_string_lossy());
        say!("mountmark: {} has the command as a suite: --suite {word}", path.display());
        Ok(())
    }

    /// Refuses a program that the guests of `cell`, which is prepared, do not have.
    pub fn check_programs(&self, lab: &dyn OpenLab, cell: &Cell) -> Result<()> {
        if self.programs.is_empty() || cell.root.as_ref().is_some_and(|root| !root.over) {
            return Ok(());
        }
        let Some(programs) = lab.programs(cell)? else { return Ok(()) };
        let packages = Packages::new(&mountmark_lab::cache::default_folder());
        for word in &self.programs {
            if word.contains('/') || BUILT_IN.contains(&word.as_str()) || programs.contains(word) {
                continue;
            }
            let package = match packages.exists(word) {
                Ok(true) => format!("there is a Debian package of that name: --package {word}"),
                _ => "name the Debian package that has it, --package NAME".to_owned(),
            };
            bail!(WrongUse(format!(
                "there is no program {word} in the guest; {package}, or bring a file: --with PATH -- ./{word}"
            )));
        }
        Ok(())
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
