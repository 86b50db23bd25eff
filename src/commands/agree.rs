//! `mountmark agree`: keeps how far the virtual lab agrees with this machine, so that later reports say it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use mountmark_findings::agreement::ModelBeside;
use mountmark_model::MachineAgreement;
use mountmark_plan::{Catalogue, Entry, Origin};

use super::compare::agreement;
use crate::catalogue;
use crate::common::{self, StoreOptions, WrongUse};
use crate::written;

/// Record how far the virtual lab's order of file systems agrees with a real machine's
#[derive(Args)]
#[command(
    after_help = "The result goes into one file of your catalogue, ~/.config/mountmark/catalog/agreements/NAME.toml, one suite at a\ntime. Reports of the virtual lab then say in which tests its order was the real machine's. Others can use the file:\nthey put it into the same folder.\n\nExamples:\n  mountmark run --suite varmail --fs ext4,xfs,btrfs --repeat 5\n  sudo mountmark run --lab host --suite varmail --fs ext4,xfs,btrfs --repeat 5\n  mountmark agree 20260131-0902 20260131-0931 --name server-7 --about 'Xeon E-2336, Intel D7-P5520'"
)]
pub struct Arguments {
    /// A run of the virtual lab
    #[arg(value_name = "VIRTUAL")]
    model: String,
    /// A run of the same work on a real machine
    #[arg(value_name = "REAL")]
    machine: String,
    /// The real machine: letters, digits and -
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: String,
    /// One line about the machine, for `mountmark list agreements`
    #[arg(long, value_name = "TEXT")]
    about: Option<String>,
    /// Write this file instead of the catalogue's; suites that are in it stay
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Keep it although the runs are of different suites, scales or corpora
    #[arg(long)]
    anyway: bool,
    #[command(flatten)]
    store: StoreOptions,
}

pub fn name(text: &str) -> Result<String, String> {
    let is_good = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    match !text.is_empty() && text.len() <= 60 && text.chars().all(is_good) {
        true => Ok(text.to_owned()),
        false => Err("a name has lower-case letters, digits and -, and at most 60 of them".into()),
    }
}

/// What a file has of this machine, to which a suite is added; `None` for a new file.
fn in_file(path: &Path, name: &str) -> Result<Option<MachineAgreement>> {
    if !fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() > 0) {
        return Ok(None);
    }
    let shown = path.display();
    let unread = || format!("cannot read {shown}, to which this suite would be added");
    let text = mountmark_input::text(path, mountmark_input::MOST_TEXT).with_context(unread)?;
    let there: MachineAgreement = toml::from_str(&text).with_context(unread)?;
    if there.name != name {
        let reason = format!("--output {shown}: it is of the machine {}, not of {name}: name another file", there.name);
        return Err(WrongUse(reason).into());
    }
    Ok(Some(there))
}

pub fn run(arguments: Arguments) -> Result<u8> {
    let found = agreement::find(&arguments.store, &arguments.model, &arguments.machine, arguments.anyway)?;
    if let Some(path) = &arguments.output {
        written::check("--output", path, "agreement", &|start| start.contains("[[suite]]\nsuite = "))?;
    }
    let catalogue = catalogue::load()?;
    let name = &arguments.name;
    if matches!(catalogue.origin::<MachineAgreement>(name), Some(Origin::BuiltIn)) && arguments.output.is_none() {
        return Err(
            WrongUse(format!("--name {name}: Mountmark comes with a machine of that name: choose another")).into()
        );
    }
    let new = || MachineAgreement { name: name.clone(), ..MachineAgreement::default() };
    let mut accord = match arguments.output.as_deref().map(|path| in_file(path, name)).transpose()?.flatten() {
        Some(there) => there,
        None => catalogue.get::<MachineAgreement>(name).cloned().unwrap_or_else(|_| new()),
    };
    if let Some(about) = &arguments.about {
        accord.about = about.trim().to_owned();
    }
    if accord.about.is_empty() {
        accord.about = format!("{}, {}", found.kept.machine.machine, found.kept.machine.disk);
    }
    accord.put(found.kept.clone());
    let path = match &arguments.output {
        Some(path) => path.clone(),
        None => {
            let folder = Catalogue::own_folder().context("no home folder is known: name a file with --output")?;
            let folder = folder.join(MachineAgreement::KIND.folder());
            fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
            folder.join(format!("{name}.toml"))
        }
    };
    let text = toml::to_string(&accord)?;
    common::show(&ModelBeside(&found), None)?;
    written::write_whole(&path, &text)?;
    say!("mountmark: wrote {}", path.display());
    Ok(common::DONE)
}
