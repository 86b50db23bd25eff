//! Records commands in a folder of their own, and reads what was packed.

#![allow(dead_code)] // Each test uses a part.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use mountmark_capture::{Command, Contents, Ended, Pack, Recording, Refusal, record, suite_name};

pub struct Recorder {
    folder: tempfile::TempDir,
    pub limit: u64,
}

impl Recorder {
    pub fn new() -> Recorder {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        Recorder { folder, limit: 1 << 30 }
    }

    pub fn folder(&self) -> PathBuf {
        fs::canonicalize(self.folder.path().join("work")).unwrap()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A command of a shell.
    pub fn record(&self, script: &str) -> Recorded {
        self.try_record(script).unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    pub fn try_record(&self, script: &str) -> Result<Recorded, Refusal> {
        self.record_words(&["sh", "-c", script])
    }

    pub fn record_words(&self, words: &[&str]) -> Result<Recorded, Refusal> {
        self.record_until(words, &AtomicBool::new(false))
    }

    pub fn record_until(&self, words: &[&str], stop: &AtomicBool) -> Result<Recorded, Refusal> {
        let words = words.iter().map(Into::into).collect();
        let command = Command::new(words, &self.folder(), &[])?;
        let spool = tempfile::tempdir_in(self.folder.path()).unwrap();
        let recording = record(command, spool.path(), Path::new("/nowhere"), self.limit, stop)?;
        Ok(Recorded { recording: recording.into(), folder: self.folder(), limit: self.limit, _spool: spool })
    }
}

pub struct Recorded {
    pub recording: std::cell::RefCell<Recording>,
    folder: PathBuf,
    limit: u64,
    _spool: tempfile::TempDir,
}

impl Recorded {
    pub fn ended(&self) -> Ended {
        self.recording.borrow().ended
    }

    fn here<'a>(&self, paths: impl IntoIterator<Item = &'a Path>) -> Vec<String> {
        let below = paths.into_iter().filter_map(|path| path.strip_prefix(&self.folder).ok());
        below.map(|path| if path.as_os_str().is_empty() { ".".into() } else { path.display().to_string() }).collect()
    }

    pub fn needed_here(&self) -> Vec<String> {
        let mut here = self.here(self.recording.borrow().needed());
        // The working directory is always needed.
        if !here.contains(&".".to_owned()) {
            here.insert(0, ".".to_owned());
        }
        here
    }

    pub fn made_here(&self) -> Vec<String> {
        self.here(self.recording.borrow().made())
    }

    pub fn changed_here(&self) -> Vec<String> {
        self.here(self.recording.borrow().changed())
    }

    pub fn programs(&self) -> Vec<PathBuf> {
        self.recording.borrow().programs.keys().cloned().collect()
    }

    pub fn pack(&self) -> Unpacked {
        self.pack_with(Contents::Kept).unwrap()
    }

    pub fn pack_with(&self, contents: Contents) -> Result<Unpacked, Refusal> {
        let output = tempfile::tempdir().unwrap();
        let mut recording = self.recording.borrow_mut();
        let pack = Pack { name: suite_name(&recording.command), contents, limit: self.limit };
        let packed = pack.write(&mut recording, output.path())?;
        let mut tar = tar::Archive::new(zstd::Decoder::new(File::open(&packed.files).unwrap()).unwrap());
        let mut entries = Vec::new();
        for entry in tar.entries().unwrap() {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().display().to_string();
            let link = entry.link_name().unwrap().map(|link| link.into_owned());
            let mut text = Vec::new();
            entry.read_to_end(&mut text).unwrap();
            let (mode, is_file) = (entry.header().mode().unwrap(), entry.header().entry_type().is_file());
            entries.push((name.trim_end_matches('/').to_owned(), Entry { text, link, mode, is_file }));
        }
        let names = entries.iter().map(|(name, _)| name.clone()).collect();
        Ok(Unpacked { packed, names, entries: entries.into_iter().collect(), folder: self.folder.clone(), output })
    }
}

pub struct Entry {
    pub text: Vec<u8>,
    pub link: Option<PathBuf>,
    pub mode: u32,
    pub is_file: bool,
}

pub struct Unpacked {
    pub packed: mountmark_capture::Packed,
    names: Vec<String>,
    pub entries: BTreeMap<String, Entry>,
    folder: PathBuf,
    output: tempfile::TempDir,
}

impl Unpacked {
    pub fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    pub fn tar(&self) -> &Path {
        &self.packed.files
    }

    pub fn suite(&self) -> String {
        fs::read_to_string(&self.packed.suite).unwrap()
    }

    fn entry(&self, name: &str) -> &Entry {
        let name = self.folder.join(name).display().to_string();
        self.entries.get(name.trim_start_matches('/')).unwrap_or_else(|| panic!("{name}: {:?}", self.names))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.entry(name).text.clone()).unwrap()
    }

    pub fn mode(&self, name: &str) -> u32 {
        self.entry(name).mode
    }

    pub fn link(&self, name: &str) -> Option<PathBuf> {
        self.entry(name).link.clone()
    }

    /// The files of the working directory with what they hold.
    pub fn here(&self) -> Vec<(String, String)> {
        let base = format!("{}/", self.folder.display().to_string().trim_start_matches('/'));
        let files = self.entries.iter().filter(|(_, entry)| entry.is_file);
        let below = files.filter_map(|(name, entry)| Some((name.strip_prefix(&base)?, &entry.text)));
        below.map(|(name, text)| (name.to_owned(), String::from_utf8_lossy(text).into_owned())).collect()
    }
}

/// Whether all programs are here; prints which is not.
pub fn has(programs: &[&str]) -> bool {
    let missing: Vec<&&str> = programs.iter().filter(|program| find(program).is_none()).collect();
    if !missing.is_empty() {
        eprintln!("skipped: {missing:?} not installed");
    }
    missing.is_empty()
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// The file of a program.
pub fn real(program: &str) -> PathBuf {
    fs::canonicalize(find(program).unwrap()).unwrap()
}
