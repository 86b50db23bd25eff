//! The second disk: its file system and the corpus on it, laid out before the measurement.
//!
//! It is `plain`: copies from it and to it have no journal of its own in them.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use mountmark_lab::{CorpusData, Device, Devices, PATH, plain};
use mountmark_model::Source;

use super::command;

/// Makes the second disk's file system, unpacks the corpus on it, and leaves it mounted.
pub fn lay_out(devices: &Devices, source: &Device, layout: Source, scratch: &Path) -> Result<()> {
    call(&plain::make_command(&source.path), scratch)?;
    mount(source, &devices.source_folder, scratch)?;
    let Some(corpus) = &devices.corpus else { return Ok(()) };
    match layout {
        Source::None => {}
        Source::Tar => {
            let path = devices.source_folder.join("corpus.tar");
            let mut file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
            write_corpus(corpus, &mut file)?;
        }
        Source::Tree => {
            let folder = tree(&devices.source_folder);
            fs::create_dir_all(&folder)?;
            command::feed(&command_of(&unpack_command(&folder)), scratch, |to| write_corpus(corpus, to))
                .context("tar could not unpack the corpus onto the second disk")?;
        }
    }
    Ok(())
}

pub fn mount(source: &Device, folder: &Path, scratch: &Path) -> Result<()> {
    call(&mount_command(&source.path, folder), scratch)
}

pub fn unmount(folder: &Path, scratch: &Path) -> Result<()> {
    call(&unmount_command(folder), scratch)
}

pub fn mount_command(device: &str, folder: &Path) -> Vec<String> {
    ["mount", "-i", "-t", plain::TYPE, device, &folder.display().to_string()].map(str::to_owned).into()
}

/// As for the file system under test.
pub fn unmount_command(folder: &Path) -> Vec<String> {
    vec!["umount".to_owned(), folder.display().to_string()]
}

/// Unpacks the corpus from standard input.
pub fn unpack_command(folder: &Path) -> Vec<String> {
    ["tar", "-x", "-f", "-", "-C", &folder.display().to_string()].map(str::to_owned).into()
}

/// The folder of an unpacked corpus.
pub fn tree(folder: &Path) -> PathBuf {
    folder.join("tree")
}

fn write_corpus(corpus: &CorpusData, to: &mut impl Write) -> Result<()> {
    match corpus {
        CorpusData::Mapped(mapped) => {
            for part in mapped.bytes().chunks(1 << 20) {
                to.write_all(part).context("the corpus does not fit on the second disk")?;
            }
        }
        CorpusData::File(path) => {
            let mut file = File::open(path).with_context(|| format!("cannot read the corpus {}", path.display()))?;
            let mut buffer = vec![0; 1 << 20];
            loop {
                let read = file.read(&mut buffer)?;
                if read == 0 {
                    break;
                }
                to.write_all(&buffer[..read]).context("the corpus does not fit on the second disk")?;
            }
        }
    }
    Ok(())
}

fn call(words: &[String], scratch: &Path) -> Result<()> {
    command::call(&command_of(words), scratch).context("the second disk")
}

fn command_of(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).envs([("PATH", PATH), ("LC_ALL", "C")]);
    command
}
