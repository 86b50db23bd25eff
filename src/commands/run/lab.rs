//! The lab on the command line: the options that labs declare, and how one is opened.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use mountmark_cells::Plan;
use mountmark_lab::emulator::{Profiler, options as guest};
use mountmark_lab::host::options as host;
use mountmark_lab::image::kernel::Kernel;
use mountmark_lab::options::{self, Given, LabOption, Takes};
use mountmark_lab::{LabKind, OpenLab, Options, Place, Several};
use mountmark_model::{Bytes, Capabilities, Lab, Machine, Target};
use mountmark_plan::{CrossedFactor, CrossedLevel, SideChange, plain};

use crate::catalogue;
use crate::common::WrongUse;

/// The computer of guests unless `--machine` names another.
const DEFAULT_MACHINE: &str = "modern";

/// A lab that is open.
pub enum Opened {
    Plain(Box<dyn OpenLab>),
    Profiled(Box<Profiler>),
}

impl Opened {
    pub fn lab(&self) -> &dyn OpenLab {
        match self {
            Opened::Plain(lab) => lab.as_ref(),
            Opened::Profiled(profiler) => profiler.as_ref(),
        }
    }

    pub fn profiler(&self) -> Option<&Profiler> {
        match self {
            Opened::Plain(_) => None,
            Opened::Profiled(profiler) => Some(profiler),
        }
    }
}

/// A side of a plan and its guests' computer.
#[derive(Clone, Debug, PartialEq)]
pub struct SideLab {
    pub label: String,
    pub kernel: String,
    pub machine: Machine,
}

/// Where cells run, and the options of labs, each declared by its lab.
#[derive(Clone, Debug, PartialEq)]
pub struct LabOptions {
    pub lab: Lab,
    pub given: Given,
}

pub fn labs() -> impl TypedValueParser<Value = Lab> {
    let names = Lab::ALL.iter().map(|lab| PossibleValue::new(lab.name()).help(lab.capabilities().about));
    PossibleValuesParser::new(names).map(|name| Lab::find(&name).expect("one of the possible values"))
}

/// An option of a lab as one of the command line.
fn argument(option: &'static LabOption) -> Arg {
    let argument = Arg::new(option.name).long(option.name).help(option.help).conflicts_with_all(option.against);
    let argument = option.with.into_iter().fold(argument, |argument, other| argument.requires(other));
    let argument = if option.value.is_empty() { argument } else { argument.value_name(option.value) };
    match option.takes {
        Takes::Nothing => argument.action(ArgAction::SetTrue),
        Takes::Text { usual } => usual.into_iter().fold(argument.value_parser(texts()), Arg::default_value),
        Takes::Texts => argument.action(ArgAction::Append).value_delimiter(',').value_parser(texts()),
        Takes::Path => argument.value_parser(paths()),
        Takes::Paths => argument.action(ArgAction::Append).value_delimiter(',').value_parser(paths()),
        Takes::Size => argument.value_parser(|text: &str| text.parse::<Bytes>().map(|_| OsString::from(text))),
        Takes::Count { most, usual, alone } => {
            let numbers = clap::value_parser!(u64);
            let numbers = if most == u64::MAX { numbers.range(1..) } else { numbers.range(1..=most) };
            let argument = argument.value_parser(numbers.map(|number| OsString::from(number.to_string())));
            let argument = usual.into_iter().fold(argument, Arg::default_value);
            match alone {
                None => argument,
                Some(value) => argument.num_args(0..=1).require_equals(true).default_missing_value(value),
            }
        }
    }
}

fn texts() -> impl TypedValueParser<Value = OsString> {
    StringValueParser::new().map(OsString::from)
}

fn paths() -> impl TypedValueParser<Value = OsString> {
    PathBufValueParser::new().map(PathBuf::into_os_string)
}

impl Args for LabOptions {
    fn augment_args(command: Command) -> Command {
        let lab = Arg::new("lab").long("lab").value_name("LAB").help("Where cells run").value_parser(labs());
        let command = command.arg(lab.default_value(Lab::DEFAULT.name()));
        options::all().into_iter().fold(command, |command, option| command.arg(argument(option)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        LabOptions::augment_args(command)
    }
}

impl FromArgMatches for LabOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<LabOptions, clap::Error> {
        let is_given = |option: &&LabOption| matches.value_source(option.name) == Some(ValueSource::CommandLine);
        let put = |given: Given, option: &'static LabOption| match option.takes {
            Takes::Nothing => given.with_switch(option),
            _ => given.with(option, matches.get_many::<OsString>(option.name).into_iter().flatten()),
        };
        let given = options::all().into_iter().filter(is_given).fold(Given::default(), put);
        Ok(LabOptions { lab: matches.get_one("lab").copied().unwrap_or(Lab::DEFAULT), given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = LabOptions::from_arg_matches(matches)?;
        Ok(())
    }
}

impl LabOptions {
    /// The usual lab, without an option.
    pub fn usual() -> LabOptions {
        LabOptions { lab: Lab::DEFAULT, given: Given::default() }
    }

    /// With the value of an option.
    pub fn with(self, option: &LabOption, value: impl ToString) -> LabOptions {
        LabOptions { given: self.given.with(option, [value.to_string()]), ..self }
    }

    /// With the profiler, if it is wanted.
    pub fn with_profiler(self, is_wanted: bool) -> LabOptions {
        let given = if is_wanted { self.given.with_switch(&guest::PROFILE) } else { self.given };
        LabOptions { given, ..self }
    }

    /// The options with which a plan was made, without what was given up for it.
    pub fn of(plan: &Plan, silence_limit: u64) -> LabOptions {
        let given = Given::default()
            .with(&guest::MACHINE, [&plan.machine.name])
            .with(&guest::KERNEL, [&plan.kernel])
            .with(&guest::SILENCE_LIMIT, [silence_limit.to_string()])
            .with(&host::MEMORY, plan.memory_limit.map(|limit| limit.0.to_string()))
            .with(&host::PRECONDITION, plan.precondition.map(|how| how.round_seconds.to_string()));
        let paths = |of: &dyn Fn(&Target) -> Option<String>| plan.targets.iter().filter_map(of).collect::<Vec<_>>();
        let given = given
            .with(
                &host::IMAGE,
                paths(&|target| match target {
                    Target::Image { path, .. } => Some(path.clone()),
                    _ => None,
                }),
            )
            .with(
                &host::DEVICE,
                paths(&|target| match target {
                    Target::Device(_) | Target::Devices { .. } => Some(target.name().to_owned()),
                    _ => None,
                }),
            )
            .with(
                &host::DIR,
                paths(&|target| match target {
                    Target::Folder { path, .. } => Some(path.clone()),
                    _ => None,
                }),
            );
        LabOptions { lab: plan.lab, given: given.of(plan.lab) }
    }

    /// The computer of guests.
    pub fn machine(&self) -> String {
        self.given.text(&guest::MACHINE).unwrap_or_else(|| DEFAULT_MACHINE.into())
    }

    /// The disk under test, if it is not the machine's, with its changes: `ssd:flush=0`, or `:flush=0` of the machine's.
    pub fn disk(&self) -> Option<String> {
        self.changed(self.given.text(&guest::DISK))
    }

    fn changed(&self, disk: Option<String>) -> Option<String> {
        let changes: Vec<String> = self.given.texts(&guest::IF).collect();
        match changes.is_empty() {
            true => disk,
            false => {
                let disk = disk.unwrap_or_default();
                // It may have changes of its own already.
                let is_changed = disk.rsplit_once(':').is_some_and(|(_, behind)| behind.contains('='));
                Some(format!("{disk}{}{}", if is_changed { '+' } else { ':' }, changes.join("+")))
            }
        }
    }

    pub fn capabilities(&self) -> &'static Capabilities {
        self.lab.capabilities()
    }

    /// The lab, before it is opened.
    pub fn kind(&self) -> &'static dyn LabKind {
        mountmark_lab::kind(self.lab)
    }

    /// The lab, with `machine` for guests.
    pub fn open(&self, machine: &Machine) -> Result<Box<dyn OpenLab>> {
        self.kind().open(self.options(machine))
    }

    /// The same, with the profiler if asked for.
    pub fn open_with_profiler(&self, machine: &Machine) -> Result<Opened> {
        match self.given.has(&guest::PROFILE) {
            true => {
                let callers = !self.given.has(&guest::NO_CALLERS);
                Ok(Opened::Profiled(Box::new(Profiler::open(self.options(machine), callers)?)))
            }
            false => Ok(Opened::Plain(self.open(machine)?)),
        }
    }

    /// The same over all sides of a plan, each on a computer of its own. Without sides it is the one lab.
    ///
    /// # Errors
    /// Also the profiler, which looks into one lab.
    pub fn open_sides(&self, machine: &Machine, sides: &[SideLab]) -> Result<Opened> {
        let mut computers: Vec<(&str, &Machine)> = Vec::new();
        let mut of_sides = Vec::new();
        for side in sides {
            let computer = (side.kernel.as_str(), &side.machine);
            let at = computers.iter().position(|known| *known == computer).unwrap_or_else(|| {
                computers.push(computer);
                computers.len() - 1
            });
            of_sides.push((side.label.clone(), at));
        }
        if computers.len() < 2 {
            return self.open_with_profiler(machine);
        }
        if self.given.has(&guest::PROFILE) {
            bail!(WrongUse(
                "--profile looks into guests of one kernel and machine: leave it away, and `mountmark why RUN#SIDE RUN#SIDE` \
                 runs the cells of two sides again with it"
                    .into()
            ));
        }
        let open = |(kernel, machine): (&str, &Machine)| self.clone().with(&guest::KERNEL, kernel).open(machine);
        let labs = computers.into_iter().map(open).collect::<Result<_>>()?;
        Ok(Opened::Plain(Box::new(Several::new(labs, of_sides))))
    }

    /// What several values of --kernel, --machine and --disk cross, and the options with the first of each.
    pub fn crossed(&self) -> (LabOptions, Vec<CrossedFactor>) {
        let (mut one, mut factors) = (self.clone(), Vec::new());
        let mut cross = |option: &'static LabOption, names: Vec<String>, change: &dyn Fn(&str) -> SideChange| {
            if let [first, _, ..] = &names[..] {
                one = one.clone().with(option, first);
                let level =
                    |name: &String| CrossedLevel { text: name.clone(), label: plain(name), change: change(name) };
                factors.push(CrossedFactor {
                    option: option.name,
                    name: option.name.to_owned(),
                    levels: names.iter().map(level).collect(),
                });
            }
        };
        let listed = |text: Option<String>| -> Vec<String> {
            text.iter().flat_map(|text| text.split(',')).map(|part| part.trim().to_owned()).collect()
        };
        let kernel = self.given.text(&guest::KERNEL).unwrap_or_default();
        let kernels = Kernel::several(&kernel).into_iter().map(str::to_owned).collect();
        cross(&guest::KERNEL, kernels, &|name| SideChange::Kernel(name.to_owned()));
        cross(&guest::MACHINE, listed(self.given.text(&guest::MACHINE)), &|name| SideChange::Machine(name.to_owned()));
        let disks = listed(self.given.text(&guest::DISK));
        cross(&guest::DISK, disks, &|name| SideChange::Disk(self.changed(Some(name.to_owned())).unwrap_or_default()));
        (one, factors)
    }

    /// Refuses guests of several kernels or machines, into which no profiler looks.
    pub fn check_one_computer(&self) -> Result<()> {
        match self.crossed().1.iter().find(|factor| factor.option != guest::DISK.name) {
            Some(factor) => bail!("profiles are of one {}, and there are several", factor.option),
            None => Ok(()),
        }
    }

    /// What the lab is told, with `machine` for guests.
    pub fn options(&self, machine: &Machine) -> Options {
        Options { module_sources: catalogue::module_sources(), ..Options::of(&self.given, machine) }
    }

    /// What the host lab works on.
    pub fn place(&self) -> Place {
        host::place(&self.given)
    }

    /// Refuses what the lab does not have or cannot use.
    pub fn check(&self) -> Result<()> {
        self.given.check(self.lab).map_err(WrongUse)?;
        let is_of_several = self.given.text(&guest::DISK).as_deref().is_some_and(mountmark_plan::is_list);
        if is_of_several && self.given.texts(&guest::IF).next().is_some() {
            let reason = "it is about one disk; in a list a change stands behind its disk, as in hdd:seek=0.5+ssd";
            bail!(WrongUse(format!("--if: {reason}")));
        }
        Ok(())
    }

    /// The same of what is begun anew: also paths of kernels at which nothing is.
    pub fn check_new(&self) -> Result<()> {
        self.check()?;
        let Some(kernel) = self.given.text(&guest::KERNEL) else { return Ok(()) };
        let is_there = Kernel::several(&kernel).into_iter().try_for_each(Kernel::check_path);
        is_there.map_err(|error| WrongUse(format!("{error:#}")).into())
    }

    /// The same where nothing is crossed: also several kernels, machines or disks.
    pub fn check_one(&self) -> Result<()> {
        self.check_new()?;
        if let Some(factor) = self.crossed().1.first() {
            bail!(WrongUse(format!("--{0}: this is about one {0}; name one", factor.option)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
