//! What makes a shell complete the command line: a script that asks this program, and the program's answer.

use anyhow::Result;
use clap::ValueEnum;
use clap_complete::CompleteEnv;
use clap_complete::env::{Bash, EnvCompleter, Fish, Shells, Zsh};

use super::values;
use crate::commands::command_line;

/// Set by the scripts to the shell's name: the program then prints candidates and does nothing else.
const VARIABLE: &str = "MOUNTMARK_COMPLETE";

/// The script for bash.
const BASH: &str = include_str!("mountmark.bash");

/// The end of the script for zsh, which loads it at the first completion and expects an answer to that one too.
const AUTOLOADED: &str = r#"
if [[ $funcstack[1] == _mountmark ]]; then
    _clap_dynamic_completer_mountmark "$@"
fi
"#;

#[derive(Clone, Copy, ValueEnum)]
pub enum ShellKind {
    Bash,
    Zsh,
    Fish,
}

/// The script that a shell reads.
pub fn script(shell: ShellKind) -> Result<String> {
    let registered = |shell: &dyn EnvCompleter| -> Result<String> {
        let mut text = Vec::new();
        shell.write_registration(VARIABLE, "mountmark", "mountmark", "mountmark", &mut text)?;
        Ok(String::from_utf8(text)?)
    };
    Ok(match shell {
        // bash breaks words at `:` and `=`: this script joins them again.
        ShellKind::Bash => BASH.to_owned(),
        ShellKind::Zsh => registered(&Zsh)? + AUTOLOADED,
        ShellKind::Fish => registered(&Fish)?,
    })
}

/// Answers a shell that asks for candidates; whether one did.
pub fn answer() -> Result<bool> {
    let completer = CompleteEnv::with_factory(|| values::complete(command_line()));
    let completer = completer.var(VARIABLE).shells(Shells(&[&Bash, &Zsh, &Fish]));
    Ok(completer.try_complete(std::env::args_os(), std::env::current_dir().ok().as_deref())?)
}
