//! The command line: one file per command.

mod advise;
mod agree;
mod baseline;
mod bisect;
mod campaign;
mod clean;
mod compare;
mod crash;
mod doctor;
mod generate;
mod list;
mod record;
mod report;
mod resume;
mod run;
mod runs;
mod self_check;
mod shelf;
mod show;
mod why;
mod work;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use mountmark_plan::PlanError;
use mountmark_record::StoreError;
use mountmark_shelf::Difference;

pub use run::Stop;

use crate::common::{self, WrongUse};
use crate::plan_file;

#[derive(Parser)]
#[command(
    name = "mountmark",
    version,
    // An option after a plan file overrides the file's.
    args_override_self = true,
    about = "Which file system, made and mounted how, your work should run on, with evidence that repeats",
    after_help = "Examples:\n  mountmark run                                   seven file systems, 21 small tests, in the virtual lab\n  mountmark run --fs ext4,xfs,ext3:data=journal   three configurations\n  mountmark run --suite hans-2006 --machine celeron-2006 --scale 1\n  mountmark show latest --metric cpu_percent\n  mountmark report latest                         an HTML file to show\n  mountmark list filesystems\n  mountmark @nightly.plan                         the command line that the file holds\n\nExit codes: 0 done, 1 something measured failed or got worse, 2 wrong use, 3 cannot run here, 128+N ended by signal N."
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

macro_rules! commands {
    ($($command:ident $file:ident;)+) => {
        #[derive(Subcommand)]
        enum Command {
            $($command(Box<$file::Arguments>),)+
        }

        impl Command {
            fn run(self) -> Result<u8> {
                match self {
                    $(Command::$command(arguments) => $file::run(*arguments),)+
                }
            }
        }
    };
}

// The only list of commands, in the order of help.
commands! {
    Advise advise;
    Run run;
    Resume resume;
    Work work;
    Campaign campaign;
    Runs runs;
    Show show;
    Report report;
    Compare compare;
    Baseline baseline;
    Agree agree;
    Why why;
    Bisect bisect;
    Crash crash;
    Record record;
    Shelf shelf;
    List list;
    Doctor doctor;
    Clean clean;
    SelfCheck self_check;
    Generate generate;
}

/// Reads the command line, runs the command, and turns errors into messages and exit codes.
pub fn main() -> ExitCode {
    let code = dispatch().unwrap_or_else(|error| {
        say!("mountmark: {error:#}");
        exit_code(&error)
    });
    ExitCode::from(code)
}

/// The command line as clap knows it.
fn command_line() -> clap::Command {
    let hidden = |command: clap::Command, never: &[&str]| {
        command
            .mut_args(|one| if one.get_long().is_some_and(|long| never.contains(&long)) { one.hide(true) } else { one })
    };
    CommandLine::command()
        .mut_subcommand("baseline", |own| own.mut_subcommand("save", |save| hidden(save, &baseline::NEVER)))
        .mut_subcommand("work", |own| own.mut_subcommand("run", |run| hidden(run, &run::work::NOT_FOR_WORKERS)))
}

/// With options that take a negative number as their value, so that it is refused in their name.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let of = |argument: clap::Arg| match argument.get_action().takes_values() && !argument.is_positional() {
        true => argument.allow_negative_numbers(true),
        false => argument,
    };
    command.mut_args(of).mut_subcommands(with_negative_numbers)
}

fn parse(arguments: Vec<std::ffi::OsString>) -> Result<CommandLine, clap::Error> {
    let mut command = with_negative_numbers(command_line());
    let mut found = command.try_get_matches_from_mut(arguments)?;
    CommandLine::from_arg_matches_mut(&mut found).map_err(|error| error.format(&mut command))
}

fn dispatch() -> Result<u8> {
    if generate::answer()? {
        return Ok(common::DONE);
    }
    // Nothing is begun whose result could not be told.
    if crate::stdout::was_closed() {
        bail!("standard output is closed: there is nowhere to print; > /dev/null throws the output away");
    }
    let arguments = plan_file::expand(std::env::args_os())?;
    match parse(arguments) {
        Ok(line) => line.command.run(),
        Err(error) if error.use_stderr() => error.exit(),
        // Help or the version, which a full disk must not swallow.
        Err(help) => {
            let written = help.print().and_then(|()| std::io::stdout().flush());
            common::taken(written).map(|()| 0)
        }
    }
}

pub fn exit_code(error: &anyhow::Error) -> u8 {
    let wrong_use = error.chain().any(|cause| {
        let unfit_run = matches!(
            cause.downcast_ref::<StoreError>(),
            Some(
                StoreError::UnknownRun { .. }
                    | StoreError::AmbiguousRun { .. }
                    | StoreError::StillRunning { .. }
                    | StoreError::CampaignUnderWay(_)
                    | StoreError::Complete { .. }
            )
        );
        unfit_run || cause.is::<WrongUse>() || cause.is::<PlanError>()
    });
    if wrong_use {
        return common::WRONG_USE;
    }
    // Two results of one cell are something that was measured.
    match error.chain().any(|cause| cause.is::<Difference>()) {
        true => common::FAILED,
        false => common::CANNOT_RUN,
    }
}
