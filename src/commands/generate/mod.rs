//! `mountmark generate`: what packages install beside the program. Hidden from lists, since users have no use for it.

mod completions;
mod man;
mod values;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use completions::ShellKind;
pub use completions::answer;

use crate::common;

/// Generate man pages or shell completions, for packages
#[derive(Args)]
#[command(
    hide = true,
    after_help = "Examples:\n  mountmark generate man /usr/local/share/man/man1\n  mountmark generate completions bash > ~/.local/share/bash-completion/completions/mountmark\n  mountmark generate completions zsh > ~/.zfunc/_mountmark\n  mountmark generate completions fish > ~/.config/fish/completions/mountmark.fish"
)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Write a man page of each command
    Man {
        /// The folder, created if missing; pages of earlier versions are overwritten
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
    /// Print what makes a shell complete the command line; it asks the program for names of the catalogue and the store
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: ShellKind,
    },
}

pub fn run(arguments: Arguments) -> Result<u8> {
    match arguments.what {
        What::Man { folder } => man::write(&folder)?,
        What::Completions { shell } => common::print(&completions::script(shell)?)?,
    }
    Ok(common::DONE)
}
