//! A recording as a suite of one task, and the files that it needs.

mod entries;
mod shape;
mod suite;
mod written;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub use suite::suite_name;

use crate::Recording;
use crate::refusal::{Refusal, Result};
use entries::{Entry, Source, entries};

/// What files of the user hold in a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    Kept,
    /// Other bytes that compress as well, under other names.
    Replaced,
}

/// How a recording is packed.
pub struct Pack {
    pub name: String,
    pub contents: Contents,
    /// Most bytes of all files.
    pub limit: u64,
}

/// What was written.
#[derive(Clone, Debug)]
pub struct Packed {
    pub suite: PathBuf,
    pub files: PathBuf,
    pub count: usize,
    /// Of all files.
    pub bytes: u64,
    /// Of the compressed tar.
    pub size: u64,
    pub room: u64,
    /// Files below the home folder and outside the working directory, whose contents others may not be meant to see.
    pub home: Vec<PathBuf>,
    pub replaced: Option<Replaced>,
}

/// What became of files whose contents were to be replaced.
#[derive(Clone, Debug, Default)]
pub struct Replaced {
    pub count: usize,
    /// Files that stay as they are, since the command runs them or by them.
    pub kept: Vec<PathBuf>,
}

impl Pack {
    /// Writes both files into `folder`, which exists. Nothing of them remains there if that fails.
    pub fn write(&self, recording: &mut Recording, folder: &Path) -> Result<Packed> {
        let paths = ["tar.zst", "toml"].map(|end| folder.join(format!("{}.{end}", self.name)));
        // The command or another recording may have made such files since the folder was looked at: theirs stay.
        let [files, suite] = &paths;
        let out = File::create_new(files).map_err(named(files))?;
        let written = File::create_new(suite).map_err(named(suite)).and_then(|text| {
            let written = self.write_both(recording, &paths, [&out, &text]);
            written.inspect_err(|_| drop(fs::remove_file(suite)))
        });
        written.inspect_err(|_| drop(fs::remove_file(files)))
    }

    fn write_both(
        &self,
        recording: &mut Recording,
        [files, suite]: &[PathBuf; 2],
        [out, mut described]: [&File; 2],
    ) -> Result<Packed> {
        let mut entries = entries(recording)?;
        let tree = &mut recording.tree;
        tree.recount();
        for entry in entries.values() {
            tree.count(&entry.path, entry.size())?;
        }
        let home = self.home(recording, &entries);
        let mut words = recording.command.words.clone();
        let mut input = recording.command.input.clone();
        let replaced = match self.contents {
            Contents::Kept => None,
            Contents::Replaced => Some(shape::replace(recording, &mut entries, &mut words, &mut input)?),
        };
        let room = suite::room(recording, &entries);
        written::write(&entries, BufWriter::new(out))?;
        out.sync_all().map_err(named(files))?;
        let text = suite::text(&self.name, recording, &words, input.as_deref(), room)?;
        described.write_all(text.as_bytes()).and_then(|()| described.sync_all()).map_err(named(suite))?;
        Ok(Packed {
            suite: suite.clone(),
            files: files.clone(),
            count: entries.values().filter(|entry| entry.is_file()).count(),
            bytes: entries.values().map(Entry::size).sum(),
            size: out.metadata().map_err(named(files))?.len(),
            room,
            home,
            replaced,
        })
    }

    fn home(&self, recording: &Recording, entries: &entries::Entries) -> Vec<PathBuf> {
        let folder = &recording.command.folder;
        let Some(home) = home(recording) else { return Vec::new() };
        let is_theirs = |entry: &&Entry| {
            entry.path.starts_with(&home)
                && !entry.path.starts_with(folder)
                && matches!(entry.source, Source::Contents(..))
        };
        entries.values().filter(is_theirs).map(|entry| entry.path.clone()).collect()
    }
}

/// For `map_err`: a file that could not be written.
fn named(path: &Path) -> impl FnOnce(io::Error) -> Refusal {
    Refusal::input(path.display().to_string())
}

/// The user's home folder, unless it is the root.
fn home(recording: &Recording) -> Option<PathBuf> {
    let home = recording.command.environment.get(std::ffi::OsStr::new("HOME"))?;
    fs::canonicalize(home).ok().filter(|home| home.parent().is_some())
}
