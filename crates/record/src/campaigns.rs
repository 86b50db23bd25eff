//! Campaigns of power cuts: a file each, beside the results store, with a line of JSON for each piece.
//!
//! A piece is on the disk when it has been added. A line that a power cut has left half-written is ignored, and what it
//! would have held is tried again.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use mountmark_crash::record::{Piece, Record};

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
pub struct Listed {
    pub id: RunId,
    pub record: Record,
    /// Whether a process works on it.
    pub running: bool,
}

impl Campaigns {
    /// Those that belong to the results store in the file `store`.
    pub fn beside(store: &Path) -> Campaigns {
        Campaigns { folder: store.with_file_name("crash") }
    }

    /// All campaigns, oldest first; damaged files are left out.
    pub fn list(&self) -> Result<Vec<Listed>, StoreError> {
        let listed = |id: RunId| {
            let record = self.load(&id).ok()?;
            let running = File::open(self.path(&id)).is_ok_and(|file| is_taken(&file));
            Some(Listed { id, record, running })
        };
        Ok(self.ids()?.into_iter().filter_map(listed).collect())
    }

    /// The campaign for a name, as for runs.
    pub fn resolve(&self, name: &str) -> Result<RunId, StoreError> {
        names::resolve(name, &self.ids()?)
    }

    /// A campaign as far as it goes.
    pub fn load(&self, id: &RunId) -> Result<Record, StoreError> {
        let path = self.path(id);
        let file = File::open(&path).map_err(|source| open_error(&path, &source))?;
        let (pieces, _) = pieces(&path, &file)?;
        record(&path, pieces)
    }

    /// Begins a campaign with its first piece.
    pub fn begin(&self, first: &Piece) -> Result<(RunId, Writing), StoreError> {
        fs::create_dir_all(&self.folder).map_err(|source| StoreError::Folder { path: self.folder.clone(), source })?;
        loop {
            let id = new_id(Timestamp::now());
            let path = self.path(&id);
            match File::options().append(true).create_new(true).open(&path) {
                Ok(file) => {
                    take(&file, &id)?;
                    let mut writing = Writing { path, file };
                    writing.add(first)?;
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
    pub fn resume(&self, id: &RunId) -> Result<(Record, Writing), StoreError> {
        let path = self.path(id);
        let mut file =
            File::options().read(true).append(true).open(&path).map_err(|source| open_error(&path, &source))?;
        take(&file, id)?;
        let (pieces, end) = pieces(&path, &file)?;
        // Half a line would spoil the next.
        file.set_len(end).and_then(|()| file.seek(SeekFrom::End(0))).map_err(|source| open_error(&path, &source))?;
        Ok((record(&path, pieces)?, Writing { path, file }))
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
            let is_own = path.extension() == Some(OsStr::new("jsonl"));
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
    pub fn add(&mut self, piece: &Piece) -> Result<(), StoreError> {
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
fn pieces(path: &Path, file: &File) -> Result<(Vec<Piece>, u64), StoreError> {
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

fn record(path: &Path, pieces: Vec<Piece>) -> Result<Record, StoreError> {
    Record::from_pieces(pieces).ok_or_else(|| damaged(path, "it does not begin with what was asked for"))
}

fn take(file: &File, id: &RunId) -> Result<(), StoreError> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(StoreError::StillRunning { run: id.clone(), by: "another process".to_owned() })
        }
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

    fn first() -> Piece {
        let text = r#"{"asked":{"asked":{"configurations":["ext4"],"workloads":[],"generate":[1,5],"policies":["fifo"],
            "device":"sector","seed":1,"budget":60,"disk_size":536870912,"kernel":"6.12","images":256,"recoveries":0,"shrink":true},
            "program":"0.1.0","command_line":"mountmark crash"}}"#;
        serde_json::from_str(text).unwrap()
    }

    fn ended() -> Piece {
        Piece::Ended { seconds: 1.5, prepared: 0.5, cut_short: false }
    }

    #[test]
    fn a_campaign_goes_on_after_half_a_line_and_only_one_process_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let campaigns = Campaigns::beside(&folder.path().join("results.sqlite"));
        assert!(campaigns.list().unwrap().is_empty());
        assert!(matches!(campaigns.resolve("latest"), Err(StoreError::NoRuns)));
        let (id, mut writing) = campaigns.begin(&first()).unwrap();
        writing.add(&ended()).unwrap();
        assert!(matches!(campaigns.resume(&id), Err(StoreError::StillRunning { .. })));
        assert!(campaigns.list().unwrap()[0].running);
        // As a child process that has not executed its program yet.
        let inherited = writing.file.try_clone().unwrap();
        drop(writing);
        let path = campaigns.path(&id);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, [&whole[..], b"{\"tried\":{\"pla"].concat()).unwrap();
        let (record, mut writing) = campaigns.resume(&campaigns.resolve("latest").unwrap()).unwrap();
        assert!(!record.is_done());
        drop(inherited);
        writing.add(&ended()).unwrap();
        let line = serde_json::to_string(&ended()).unwrap() + "\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), String::from_utf8(whole.clone()).unwrap() + &line);
        drop(writing);
        // Damage in the middle is told, with its line.
        fs::write(&path, [b"{\"tried\":3}\n", &whole[..]].concat()).unwrap();
        let error = campaigns.load(&id).unwrap_err().to_string();
        assert!(error.contains("line 1"), "{error}");
        campaigns.delete(&id).unwrap();
        assert!(!path.exists());
    }
}
