//! `mountmark shelf`: what is on shelves, whether it is sound, and how it gets from one to another.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use mountmark_model::{Bytes, counted, visible};
use mountmark_record::Timestamp;
use mountmark_shelf::{Access, Entry, Folder, Imported, Signer};

use super::run::{named, own_shelf, wrong};
use crate::common::{self, WrongUse};

/// List, check, copy and evict measured cells that are kept on shelves
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark shelf list                       your own shelf, in the cache\n  mountmark shelf check --shelf /nfs/cells   whether each cell is what its name says\n  mountmark shelf export /media/stick/cells  copy your cells to another shelf\n  mountmark shelf import /media/stick/cells  copy its cells to yours\n  mountmark shelf prune 500MiB               remove the oldest cells, until so much is left\n\nA shelf is a folder of measured cells, each under a hash of all that determines its figures. `mountmark run` takes cells from your own shelf, and from those that --shelf names."
)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
    /// The shelf [default: your own, in the cache]
    #[arg(long, value_name = "FOLDER", global = true)]
    shelf: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Verb {
    /// A line a cell: the beginning of its key, when and where it was measured, what it is
    List,
    /// Read each cell and say which are damaged, changed, or differ from another one of the same key
    Check,
    /// Copy all sound cells to another shelf, which is made if it is missing
    Export {
        /// The other shelf
        to: PathBuf,
    },
    /// Copy all sound cells of another shelf
    Import {
        /// The other shelf
        from: PathBuf,
    },
    /// Print the public key of a private one, which is made if there is none, as a line for a list of --trust
    Key {
        /// The file with the private key
        file: PathBuf,
        /// Whose it is
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Remove the oldest cells. On your own shelf, a cell that a run took counts as new
    Prune {
        /// How much may stay
        keep: Option<Bytes>,
        /// Remove all that are older than so many days
        #[arg(long, value_name = "DAYS")]
        older: Option<u64>,
    },
}

pub fn run(arguments: Arguments) -> Result<u8> {
    let here = arguments.shelf.unwrap_or_else(own_shelf);
    let shelf = |access| named("--shelf", &here, access);
    match arguments.verb {
        Verb::List => list(&shelf(Access::Read)?),
        Verb::Check => check(&shelf(Access::Read)?),
        Verb::Export { to } => copy(&shelf(Access::Read)?, &named("export to", &to, Access::Write)?),
        Verb::Import { from } => copy(&named("import from", &from, Access::Read)?, &shelf(Access::Write)?),
        Verb::Key { file, name } => key(&file, name),
        Verb::Prune { keep: None, older: None } => {
            bail!(WrongUse("prune needs the size that may stay, such as 500MiB, or --older DAYS".into()))
        }
        Verb::Prune { keep, older } => {
            // It is looked for before it is pruned: none is made.
            shelf(Access::Read)?;
            prune(&shelf(Access::Write)?, keep, older)
        }
    }
}

fn list(shelf: &Folder) -> Result<u8> {
    let (mut text, mut bytes, mut cells) = (String::new(), 0, 0);
    let all = shelf.list().with_context(|| format!("cannot list the shelf {}", shelf.path.display()))?;
    for listed in all {
        bytes += listed.bytes;
        cells += 1;
        match Entry::read(&listed.path) {
            Ok(entry) => writeln!(
                text,
                "{}  {}  {}  {}  {}",
                &entry.key.sha256[..12],
                Timestamp(entry.measured.at),
                visible(&entry.measured.host),
                visible(&about(&entry)),
                Bytes(listed.bytes)
            )?,
            Err(error) => writeln!(text, "{}: {error:#}", listed.path.display())?,
        }
        if text.len() > 1 << 16 {
            common::print(&std::mem::take(&mut text))?;
        }
    }
    common::print(&format!("{text}{} in {}, {}\n", counted(cells, "cell"), shelf.path.display(), Bytes(bytes)))?;
    Ok(common::DONE)
}

/// What a cell is, by parts of its key.
fn about(entry: &Entry) -> String {
    let cell = &entry.key.parts["cell"];
    let filesystem = cell["configuration"]["filesystem"]["name"].as_str().unwrap_or("?");
    let tasks = cell["tasks"].as_array().map_or(0, Vec::len);
    let kernel = &entry.measured.environment.kernel;
    format!("{filesystem}, {}, seed {}, Linux {kernel}", counted(tasks, "task"), cell["seed"])
}

fn check(shelf: &Folder) -> Result<u8> {
    let (mut faults, mut sound) = (0, 0);
    for key in shelf.keys() {
        let (number, wrong) = mountmark_shelf::sound(shelf, &key);
        sound += number;
        faults += wrong.len();
        for error in wrong {
            common::print(&format!("{error:#}\n"))?;
        }
    }
    let faulty = if faults == 0 { "none is at fault".into() } else { format!("{faults} at fault") };
    common::print(&format!("{} sound, {faulty}\n", counted(sound, "cell")))?;
    Ok(if faults == 0 { common::DONE } else { common::FAILED })
}

fn copy(from: &Folder, to: &Folder) -> Result<u8> {
    let Imported { copied, there, faults } = mountmark_shelf::import(from, to)?;
    for (path, error) in &faults {
        say!("mountmark: {} is not copied: {error:#}", path.display());
    }
    let faulty = if faults.is_empty() { String::new() } else { format!(", {} at fault", faults.len()) };
    let copied = counted(copied, "cell");
    common::print(&format!("{copied} copied to {}, {there} were there{faulty}\n", to.path.display()))?;
    Ok(if faults.is_empty() { common::DONE } else { common::FAILED })
}

fn key(file: &Path, name: Option<String>) -> Result<u8> {
    let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.unwrap_or_else(host);
    if name.trim().is_empty() || name.trim().contains(['\n', '#']) {
        bail!(WrongUse("--name: a name is one line without #".into()));
    }
    let signer = if file.exists() { Signer::read(file) } else { Signer::make(file) };
    let signer = signer.map_err(|error| wrong("shelf key", error))?;
    common::print(&format!("{} {}\n", signer.public(), visible(name.trim())))?;
    Ok(common::DONE)
}

fn prune(shelf: &Folder, keep: Option<Bytes>, older: Option<u64>) -> Result<u8> {
    let age = older.map(|days| Duration::from_secs(days.saturating_mul(86_400)));
    let removed = shelf
        .prune(keep.map_or(u64::MAX, |keep| keep.0), age)
        .with_context(|| format!("cannot remove cells from {}", shelf.path.display()))?;
    let unfinished = match removed.unfinished {
        0 => String::new(),
        unfinished => format!(" and {} of killed runs", counted(unfinished, "unfinished file")),
    };
    common::print(&format!("{}{unfinished} removed from {}\n", counted(removed.cells, "cell"), shelf.path.display()))?;
    Ok(common::DONE)
}
