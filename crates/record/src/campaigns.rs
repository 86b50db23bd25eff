//! Campaigns of power cuts: a file each, beside the results store, with a line of JSON for each piece. What pieces say, and
//! how they join, the caller knows.
//!
//! A piece is on the disk when it has been added. A line that a power cut has left half-written is ignored, and what it
//! would have held is tried again.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::store::new_id;
use crate::{RunId, StoreError, Timestamp, names};

/// A larger file was not written by this program.
const MOST: u64 = 4 << 30;

/// The folder of campaigns.
#[derive(Debug)]
pub struct Campaigns {
    folder: PathBuf,
}

/// A campaign that this process works on: others cannot take it until this is dropped.
#[derive(Debug)]
pub struct Writing {
    path: PathBuf,
    file: File,
}

/// A campaign in a list.
#[derive(Debug)]
pub struct Listed<R> {
    pub id: RunId,
    /// Its pieces, joined.
    pub record: R,
    /// Whether a process works on it.
    pub running: bool,
}

impl Campaigns {
    /// Those that belong to the results store in the file `store`.
    pub fn beside(store: &Path) -> Campaigns {
        Campaigns { folder: store.with_file_name("crash") }
    }

    /// All campaigns, oldest first; damaged files are left out.
    pub fn list<P: DeserializeOwned, R>(
        &self,
        join: impl Fn(Vec<P>) -> Result<R, String>,
    ) -> Result<Vec<Listed<R>>, StoreError> {
        let listed = |id: RunId| {
            let record = self.load(&id, &join).ok()?;
            let running = File::open(self.path(&id)).is_ok_and(|file| is_taken(&file));
            Some(Listed { id, record, running })
        };
        Ok(self.ids()?.into_iter().filter_map(listed).collect())
    }

    /// The campaign for a name, as for runs.
    pub fn resolve(&self, name: &str) -> Result<RunId, StoreError> {
        names::resolve("campaign", name, &self.ids()?)
    }

    /// A campaign as far as it goes; `join` makes it of its pieces, or says what is wrong with them.
    pub fn load<P: DeserializeOwned, R>(
        &self,
        id: &RunId,
        join: impl FnOnce(Vec<P>) -> Result<R, String>,
    ) -> Result<R, StoreError> {
        let path = self.path(id);
        let file = File::open(&path).map_err(|source| open_error(&path, &source))?;
        let (pieces, _) = pieces(&path, &file)?;
        join(pieces).map_err(|reason| damaged(&path, &reason))
    }

    /// Begins a campaign with its first piece.
    pub fn begin(&self, first: &impl Serialize) -> Result<(RunId, Writing), StoreError> {
        fs::create_dir_all(&self.folder).map_err(|source| StoreError::Folder { path: self.folder.clone(), source })?;
        loop {
            let id = new_id(Timestamp::now());
            let path = self.path(&id);
            match File::options().append(true).create_new(true).open(&path) {
                Ok(file) => {
                    take(&file, &id)?;
                    let mut writing = Writing { path, file };
                    if let Err(error) = writing.add(first) {
                        // There is nothing to go on with.
                        let _ = fs::remove_file(&writing.path);
                        return Err(error);
                    }
                    // The name must last too.
                    let folder = File::open(&self.folder).and_then(|folder| folder.sync_all());
                    folder.map_err(|source| open_error(&self.folder, &source))?;
                    return Ok((id, writing));
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(open_error(&path, &error)),
            }
        }
    }

    /// Goes on with a campaign.
    pub fn resume<P: DeserializeOwned, R>(
        &self,
        id: &RunId,
        join: impl FnOnce(Vec<P>) -> Result<R, String>,
    ) -> Result<(R, Writing), StoreError> {
        let path = self.path(id);
        let mut file =
            File::options().read(true).append(true).open(&path).map_err(|source| open_error(&path, &source))?;
        take(&file, id)?;
        let (pieces, end) = pieces(&path, &file)?;
        // Half a line would spoil the next.
        file.set_len(end).and_then(|()| file.seek(SeekFrom::End(0))).map_err(|source| open_error(&path, &source))?;
        let record = join(pieces).map_err(|reason| damaged(&path, &reason))?;
        Ok((record, Writing { path, file }))
    }

    /// Removes a campaign that nobody works on.
    pub fn delete(&self, id: &RunId) -> Result<(), StoreError> {
        let path = self.path(id);
        let file = File::open(&path).map_err(|source| open_error(&path, &source))?;
        take(&file, id)?;
        fs::remove_file(&path).map_err(|source| open_error(&path, &source))
    }

    fn path(&self, id: &RunId) -> PathBuf {
        self.folder.join(format!("{id}.jsonl"))
    }

    fn ids(&self) -> Result<Vec<RunId>, StoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(StoreError::Folder { path: self.folder.clone(), source }),
        };
        // Names tell minutes apart; within one the files do.
        let name = |entry: std::io::Result<fs::DirEntry>| {
            let entry = entry.ok()?;
            let path = entry.path();
            let is_own = path.extension() == Some(OsStr::new("jsonl")) && has_begun(&path);
            let name = path.file_stem().filter(|_| is_own)?.to_str()?.to_owned();
            let minute = name.rsplit_once('-').map_or("", |(minute, _)| minute).to_owned();
            Some((minute, entry.metadata().and_then(|data| data.created()).ok(), name))
        };
        let mut names: Vec<_> = entries.filter_map(name).collect();
        names.sort();
        Ok(names.into_iter().map(|(_, _, name)| RunId::new(name)).collect())
    }
}

impl Writing {
    /// Adds a piece; when this returns, it survives a power failure.
    pub fn add(&mut self, piece: &impl Serialize) -> Result<(), StoreError> {
        let mut line = serde_json::to_vec(piece).expect("pieces have text keys only");
        line.push(b'\n');
        let result = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        result.map_err(|source| match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                StoreError::NoSpace { path: self.path.clone(), reason: source.to_string() }
            }
            _ => StoreError::NotWritable { path: self.path.clone(), reason: source.to_string() },
        })
    }
}

impl Drop for Writing {
    /// A child process has our descriptors until it executes its program, so closing ours may leave the lock.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// The pieces of a file, and where the last whole one ends.
fn pieces<P: DeserializeOwned>(path: &Path, file: &File) -> Result<(Vec<P>, u64), StoreError> {
    let mut reader = BufReader::new(file.take(MOST));
    let (mut all, mut end, mut line) = (Vec::new(), 0, Vec::new());
    loop {
        line.clear();
        let length = reader.read_until(b'\n', &mut line).map_err(|source| open_error(path, &source))? as u64;
        if line.last() != Some(&b'\n') {
            return Ok((all, end));
        }
        let number = all.len() + 1;
        all.push(serde_json::from_slice(&line).map_err(|source| damaged(path, &format!("line {number}: {source}")))?);
        end += length;
    }
}

/// Whether a file has what was asked for, its first line; one that cannot be read is told when it is.
fn has_begun(path: &Path) -> bool {
    let mut line = Vec::new();
    let first = File::open(path).and_then(|file| BufReader::new(file.take(MOST)).read_until(b'\n', &mut line));
    first.is_err() || line.last() == Some(&b'\n')
}

fn take(file: &File, id: &RunId) -> Result<(), StoreError> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(StoreError::CampaignUnderWay(id.clone())),
        // Some file systems have no locks: then the user sees to it.
        Err(TryLockError::Error(_)) | Ok(()) => Ok(()),
    }
}

fn is_taken(file: &File) -> bool {
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

fn open_error(path: &Path, source: &std::io::Error) -> StoreError {
    StoreError::Open { path: path.to_owned(), reason: source.to_string() }
}

fn damaged(path: &Path, reason: &str) -> StoreError {
    StoreError::Damaged { path: path.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A piece of whatever is kept.
    #[derive(Serialize, serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Piece {
        Asked(String),
        Ended,
    }

    fn first() -> Piece {
        Piece::Asked("ext4".into())
    }

    /// What was asked for, and how often it ended.
    fn joined(pieces: Vec<Piece>) -> Result<(String, usize), String> {
        match pieces.split_first() {
            Some((Piece::Asked(what), rest)) => Ok((what.clone(), rest.len())),
            _ => Err("nothing was asked for".into()),
        }
    }

    #[test]
    fn a_campaign_goes_on_after_half_a_line_and_only_one_process_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let campaigns = Campaigns::beside(&folder.path().join("results.sqlite"));
        assert!(campaigns.list(joined).unwrap().is_empty());
        assert!(matches!(campaigns.resolve("latest"), Err(StoreError::NoRuns { what: "campaign" })));
        let (id, mut writing) = campaigns.begin(&first()).unwrap();
        writing.add(&Piece::Ended).unwrap();
        assert!(matches!(campaigns.resume(&id, joined), Err(StoreError::CampaignUnderWay(_))));
        assert!(campaigns.list(joined).unwrap()[0].running);
        // As a child process that has not executed its program yet.
        let inherited = writing.file.try_clone().unwrap();
        drop(writing);
        let path = campaigns.path(&id);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, [&whole[..], b"{\"tried\":{\"pla"].concat()).unwrap();
        let (record, mut writing) = campaigns.resume(&campaigns.resolve("latest").unwrap(), joined).unwrap();
        assert_eq!(record, ("ext4".to_owned(), 1));
        drop(inherited);
        writing.add(&Piece::Ended).unwrap();
        let line = "\"ended\"\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), String::from_utf8(whole.clone()).unwrap() + line);
        drop(writing);
        // Damage in the middle is told, with its line.
        fs::write(&path, [b"{\"tried\":3}\n", &whole[..]].concat()).unwrap();
        let error = campaigns.load(&id, joined).unwrap_err().to_string();
        assert!(error.contains("line 1"), "{error}");
        // So is what does not join.
        fs::write(&path, line).unwrap();
        let error = campaigns.load(&id, joined).unwrap_err().to_string();
        assert!(error.contains("nothing was asked for"), "{error}");
        campaigns.delete(&id).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_campaign_that_did_not_begin_hides_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let campaigns = Campaigns::beside(&folder.path().join("results.sqlite"));
        let (id, writing) = campaigns.begin(&first()).unwrap();
        drop(writing);
        for (name, text) in [("29991231-2359-aaaa", ""), ("29991231-2359-bbbb", "{\"ask")] {
            fs::write(campaigns.path(&RunId::new(name.to_owned())), text).unwrap();
        }
        assert_eq!(campaigns.resolve("latest").unwrap(), id);
        assert_eq!(campaigns.list(joined).unwrap().len(), 1);
    }
}
