//! Plays a recorded history of file operations on the file system under test, before the tasks.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mountmark_job::CorpusData;
use mountmark_model::{Age, HistoryOperation, Outcome, Stage};
use mountmark_random::Stream;

use super::Agent;
use super::contents::Contents;

/// After so many operations the host is told that the agent still works.
const TOLD: usize = 5000;

impl Agent<'_> {
    /// Ages the file system; false if the history cannot be played, which ends the cell.
    pub(super) fn age(&mut self, age: &Age) -> Result<bool> {
        let played = self.play(age);
        let Err(error) = played else { return Ok(true) };
        let reason =
            format!("the file system cannot be aged: {error:#}; give a shorter history or a larger --disk-size");
        let outcome = Outcome::Failed { reason, detail: self.detail("") };
        self.cell_ended(outcome);
        Ok(false)
    }

    fn play(&mut self, age: &Age) -> Result<()> {
        let devices = self.devices;
        let bytes = match devices.history.as_ref().context("the lab has no history")? {
            CorpusData::Mapped(bytes) => Cow::Borrowed(*bytes),
            CorpusData::File(path) => Cow::Owned(fs::read(path).context("the history cannot be read")?),
        };
        let text = std::str::from_utf8(&bytes).context("the history is no text")?;
        let contents = Contents::new(true, &mut Stream::new(self.cell.seed, "age/contents"));
        let mut player = Player { folder: devices.test_folder.join(Age::FOLDER), contents };
        fs::create_dir(&player.folder).context("its folder cannot be made")?;
        let operations =
            if age.copy { copied(text)? } else { HistoryOperation::all(text).collect::<Result<_, _>>()? };
        for (at, operation) in operations.into_iter().enumerate() {
            if at % TOLD == 0 {
                self.stage(Stage::Fill);
            }
            player.play(operation).with_context(|| format!("operation {} ({})", at + 1, operation.line()))?;
        }
        Ok(())
    }
}

/// The operations that write the tree with which a history ends once, in the order of names.
fn copied(text: &str) -> Result<Vec<HistoryOperation<'_>>> {
    let mut tree: BTreeMap<&str, u64> = BTreeMap::new();
    for operation in HistoryOperation::all(text) {
        match operation? {
            HistoryOperation::Write { path, size } => _ = tree.insert(path, size),
            HistoryOperation::Append { path, size } => *tree.entry(path).or_default() += size,
            HistoryOperation::Remove { path } => _ = tree.remove(path),
            HistoryOperation::Commit => {}
        }
    }
    let writes = tree.into_iter().map(|(path, size)| HistoryOperation::Write { path, size });
    Ok(writes.chain([HistoryOperation::Commit]).collect())
}

struct Player {
    folder: PathBuf,
    contents: Contents,
}

impl Player {
    fn play(&mut self, operation: HistoryOperation) -> Result<()> {
        match operation {
            HistoryOperation::Write { path, size } => {
                let path = self.folder.join(path);
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                    _ => {}
                }
                self.contents.write(&mut created(&path)?, size)?;
            }
            HistoryOperation::Append { path, size } => {
                let mut file = OpenOptions::new().append(true).open(self.folder.join(path))?;
                self.contents.write(&mut file, size)?;
            }
            HistoryOperation::Remove { path } => {
                let path = self.folder.join(path);
                fs::remove_file(&path)?;
                let folders = path.ancestors().skip(1).take_while(|folder| *folder != self.folder);
                for folder in folders {
                    if fs::remove_dir(folder).is_err() {
                        break;
                    }
                }
            }
            // As on a machine that has minutes between two commits.
            HistoryOperation::Commit => rustix::fs::syncfs(File::open(&self.folder)?)?,
        }
        Ok(())
    }
}

/// A new file, with its folders.
fn created(path: &Path) -> Result<File> {
    match File::create_new(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::create_dir_all(path.parent().context("a path without a folder")?)?;
            Ok(File::create_new(path)?)
        }
        found => Ok(found?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HISTORY: &str = "w 10 a/b\nw 5000 c\nc\na 3 a/b\nw 7 d/e/f\nw 8 c\nc\nd d/e/f\nc\n";

    fn tree(folder: &Path) -> Vec<(String, u64)> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let (data, name) = (entry.metadata().unwrap(), entry.file_name().into_string().unwrap());
            match data.is_dir() {
                true => {
                    found.extend(tree(&entry.path()).into_iter().map(|(path, size)| (format!("{name}/{path}"), size)))
                }
                false => found.push((name, data.len())),
            }
        }
        found.sort();
        found
    }

    #[test]
    fn a_history_and_its_copy_end_with_the_same_tree() {
        let plain: Vec<_> = HistoryOperation::all(HISTORY).collect::<Result<_, _>>().unwrap();
        for operations in [plain, copied(HISTORY).unwrap()] {
            let folder = tempfile::tempdir().unwrap();
            let contents = Contents::new(true, &mut Stream::new(1, "test"));
            let mut player = Player { folder: folder.path().to_owned(), contents };
            for operation in operations {
                player.play(operation).unwrap();
            }
            assert_eq!(tree(folder.path()), [("a/b".to_owned(), 13), ("c".to_owned(), 8)]);
            assert!(!folder.path().join("d").exists(), "empty folders go with their files");
        }
    }

    #[test]
    fn what_is_not_there_is_no_history() {
        let folder = tempfile::tempdir().unwrap();
        let contents = Contents::new(true, &mut Stream::new(1, "test"));
        let mut player = Player { folder: folder.path().to_owned(), contents };
        assert!(player.play(HistoryOperation::Append { path: "a", size: 1 }).is_err());
        assert!(player.play(HistoryOperation::Remove { path: "a" }).is_err());
    }
}
