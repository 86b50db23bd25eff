//! A campaign: a plan whose cells workers measure, and what is known of those workers, in a folder of the shelf.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use mountmark_record::{Timestamp, new_id};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::common::WrongUse;

/// The folder of campaigns on a shelf.
const FOLDER: &str = "campaigns";

/// The file with what is stored of a campaign.
const STATE: &str = "state.json";

/// The beginning of names of files that say which cells failed; their ends are keys.
const FAILED: &str = "failed-";

/// Notes in a campaign's folder that a cell failed as a whole: the shelf keeps none of those, and a campaign waits for none.
pub fn note_failure(folder: &Path, key: &str, reason: &str) -> Result<()> {
    let path = folder.join(format!("{FAILED}{key}"));
    fs::write(&path, reason).with_context(|| format!("cannot write {}", path.display()))
}

/// Whether a worker noted that.
pub fn has_failed(folder: &Path, key: &str) -> bool {
    folder.join(format!("{FAILED}{key}")).exists()
}

/// What is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// What `--on` said.
    pub on: String,
    /// The folder in which it was started.
    pub from: PathBuf,
    /// What workers are called by their engine.
    pub workers: Vec<String>,
    /// How many were started, ever.
    pub started: usize,
}

pub struct Campaign {
    pub name: String,
    pub folder: PathBuf,
    /// Keys of all cells of the plan.
    pub keys: Vec<String>,
    pub stored: Stored,
}

impl Campaign {
    /// Writes a new campaign on a shelf: `words` are the command line that workers follow, as [`crate::plan_file`] reads it, and
    /// that prints the table; `expected` are the parts of the first cell's key.
    pub fn begin(shelf: &Path, on: &str, words: &[String], keys: Vec<String>, expected: &Value) -> Result<Campaign> {
        let name = new_id(Timestamp::now()).as_str().to_owned();
        let folder = shelf.join(FOLDER).join(&name);
        let from = std::env::current_dir().context("cannot name this folder")?;
        let stored = Stored { on: on.into(), from, workers: Vec::new(), started: 0 };
        let plan = shlex::try_join(words.iter().map(String::as_str)).context("a word of the plan has a NUL")?;
        let write = || -> Result<()> {
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("keys"), keys.join("\n") + "\n")?;
            fs::write(folder.join("plan"), plan + "\n")?;
            fs::write(folder.join("expected.json"), expected.to_string())?;
            Ok(())
        };
        write().with_context(|| format!("cannot write the campaign {}", folder.display()))?;
        let campaign = Campaign { name, folder, keys, stored };
        campaign.store()?;
        Ok(campaign)
    }

    fn open(folder: PathBuf) -> Result<Campaign> {
        let text = |name: &str| {
            let path = folder.join(name);
            mountmark_input::text(&path, 64 << 20).with_context(|| format!("cannot read {}", path.display()))
        };
        let stored = serde_json::from_str(&text(STATE)?)
            .with_context(|| format!("{} is damaged", folder.join(STATE).display()))?;
        let keys = text("keys")?.lines().map(str::to_owned).collect();
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Campaign { name, folder, keys, stored })
    }

    fn store(&self) -> Result<()> {
        let path = self.folder.join(STATE);
        let write = || -> Result<()> {
            let new = self.folder.join("state.json.new");
            let mut file = File::create(&new)?;
            file.write_all(&serde_json::to_vec_pretty(&self.stored)?)?;
            // After a power cut a new name can exist without the contents.
            file.sync_all()?;
            Ok(fs::rename(new, &path)?)
        };
        write().with_context(|| format!("cannot write {}", path.display()))
    }

    /// The file with the plan's words.
    pub fn plan(&self) -> PathBuf {
        self.folder.join("plan")
    }

    /// The parts of the first cell's key, which a worker compares with its own.
    pub fn expected(&self) -> PathBuf {
        self.folder.join("expected.json")
    }

    /// Keys of the cells that failed as a whole.
    pub fn failed(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| name.strip_prefix(FAILED).map(str::to_owned)).collect()
    }

    /// Removes it: no worker was started for it.
    pub fn forget(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Notes that workers were started.
    pub fn note(&mut self, names: Vec<String>, count: usize) -> Result<()> {
        self.stored.workers.extend(names);
        self.stored.started += count;
        self.store()
    }
}

/// The campaigns of a shelf, the oldest first.
pub fn list(shelf: &Path) -> Vec<Result<Campaign>> {
    let entries = fs::read_dir(shelf.join(FOLDER)).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders.into_iter().map(Campaign::open).collect()
}

/// The campaign of this name, or beginning of a name, or `latest`.
pub fn find(shelf: &Path, name: &str) -> Result<Campaign> {
    if !name.contains('/') && shelf.join(FOLDER).join(name).join(STATE).exists() {
        return Campaign::open(shelf.join(FOLDER).join(name));
    }
    // A damaged one is not in the way of the others.
    let mut all: Vec<Campaign> = list(shelf).into_iter().filter_map(Result::ok).collect();
    if name == "latest"
        && let Some(last) = all.pop()
    {
        return Ok(last);
    }
    let mut fitting: Vec<Campaign> = all.into_iter().filter(|campaign| campaign.name.starts_with(name)).collect();
    match fitting.len() {
        1 => Ok(fitting.remove(0)),
        0 => bail!(WrongUse(format!("there is no campaign {name} on {}", shelf.display()))),
        _ => bail!(WrongUse(format!("{name} is the beginning of several campaigns on {}", shelf.display()))),
    }
}
