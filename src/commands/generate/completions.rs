//! What makes a shell complete the command line: a script that asks this program, and the program's answer.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;
use clap::{Command, ValueEnum};
use clap_complete::CompleteEnv;
use clap_complete::env::{Bash, EnvCompleter, Fish, Shells, Zsh};

use super::values;
use crate::commands::command_line;

/// Set by the scripts to the shell's name: the program then prints candidates and does nothing else.
const VARIABLE: &str = "MOUNTMARK_COMPLETE";

/// The script for bash.
const BASH: &str = include_str!("mountmark.bash");

#[derive(Clone, Copy, ValueEnum)]
pub enum ShellKind {
    Bash,
    Zsh,
    Fish,
}

/// The script that a shell reads.
pub fn script(shell: ShellKind) -> Result<String> {
    let mut text = Vec::new();
    let shell: &dyn EnvCompleter = match shell {
        ShellKind::Bash => &JoinedWords,
        ShellKind::Zsh => &Autoloaded,
        ShellKind::Fish => &Fish,
    };
    shell.write_registration(VARIABLE, "mountmark", "mountmark", "mountmark", &mut text)?;
    Ok(String::from_utf8(text)?)
}

/// Answers a shell that asks for candidates; whether one did.
pub fn answer() -> Result<bool> {
    let shells = Shells(&[&JoinedWords, &Autoloaded, &Fish]);
    let completer = CompleteEnv::with_factory(command).var(VARIABLE).shells(shells);
    Ok(completer.try_complete(std::env::args_os(), std::env::current_dir().ok().as_deref())?)
}

fn command() -> Command {
    values::complete(command_line())
}

/// bash, which breaks words at `:` and `=`: the script joins them again.
struct JoinedWords;

impl EnvCompleter for JoinedWords {
    fn name(&self) -> &'static str {
        Bash.name()
    }

    fn is(&self, name: &str) -> bool {
        Bash.is(name)
    }

    fn write_registration(
        &self,
        _: &str,
        _: &str,
        _: &str,
        _: &str,
        to: &mut dyn std::io::Write,
    ) -> std::io::Result<()> {
        to.write_all(BASH.as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        to: &mut dyn std::io::Write,
    ) -> std::io::Result<()> {
        Bash.write_complete(command, words, folder, to)
    }
}

/// zsh, which loads the script at the first completion and expects an answer to that one too.
struct Autoloaded;

impl EnvCompleter for Autoloaded {
    fn name(&self) -> &'static str {
        Zsh.name()
    }

    fn is(&self, name: &str) -> bool {
        Zsh.is(name)
    }

    fn write_registration(
        &self,
        variable: &str,
        name: &str,
        program: &str,
        completer: &str,
        to: &mut dyn std::io::Write,
    ) -> std::io::Result<()> {
        Zsh.write_registration(variable, name, program, completer, to)?;
        writeln!(to, "\nif [[ $funcstack[1] == _{name} ]]; then\n    _clap_dynamic_completer_{name} \"$@\"\nfi")
    }

    fn write_complete(
        &self,
        command: &mut Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        to: &mut dyn std::io::Write,
    ) -> std::io::Result<()> {
        Zsh.write_complete(command, words, folder, to)
    }
}
