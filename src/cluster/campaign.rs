//! A campaign: a plan whose cells workers measure, and what is known of those workers, in a folder of the shelf.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use mountmark_record::{Timestamp, new_id};
use mountmark_shelf::Trust;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{EngineKind, On};
use crate::common::WrongUse;
use crate::plan_file;
use crate::written;

/// The folder of campaigns on a shelf.
const FOLDER: &str = "campaigns";

/// The file with what is stored of a campaign.
const STATE: &str = "state.json";

/// The beginning of names of files that say which cells failed; their ends are keys.
const FAILED: &str = "failed-";

/// What the plan is called before it is written.
pub const PLAN_TEXT: &str = "--on: the campaign's plan";

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
    /// The list of keys whose cells count, if there is one.
    pub trust: Option<PathBuf>,
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
    /// that prints the table; `expected` are the parts of the first cell's key. Cells count that keys of the list `trust` signed.
    pub fn begin(
        (shelf, trust): (&Path, Option<&Path>),
        on: &str,
        words: &[String],
        keys: Vec<String>,
        expected: &Value,
    ) -> Result<Campaign> {
        let name = new_id(Timestamp::now()).as_str().to_owned();
        let folder = shelf.join(FOLDER).join(&name);
        let from = std::env::current_dir().context("cannot name this folder")?;
        let trust = trust.map(|path| from.join(path));
        let stored = Stored { on: on.into(), from, workers: Vec::new(), started: 0, trust };
        let plan = plan_file::text(PLAN_TEXT, words)?;
        let write = || -> Result<()> {
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("keys"), keys.join("\n") + "\n")?;
            fs::write(folder.join("plan"), plan)?;
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
        written::write_whole(&self.folder.join(STATE), &serde_json::to_string_pretty(&self.stored)?)
    }

    /// What `--on` said. Its files are named from where the campaign was begun.
    pub fn on(&self) -> Result<On> {
        let mut on: On = self.stored.on.parse().map_err(WrongUse)?;
        if let EngineKind::Ssh { nodes } = &mut on.engine {
            *nodes = self.stored.from.join(&*nodes);
        }
        Ok(on)
    }

    /// Whose cells count; `None`: everybody's.
    pub fn trust(&self) -> Result<Option<Trust>> {
        let list = self.stored.trust.as_deref().map(Trust::read).transpose();
        list.with_context(|| format!("the keys of the campaign {}", self.name))
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
    pub fn failed(&self) -> Result<BTreeSet<String>> {
        let names = entries(&self.folder)?.into_iter().filter_map(|entry| entry.file_name().into_string().ok());
        Ok(names.filter_map(|name| name.strip_prefix(FAILED).map(str::to_owned)).collect())
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

/// What is in a folder; nothing if there is none.
fn entries(folder: &Path) -> Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder).and_then(Iterator::collect) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        found => found.with_context(|| format!("cannot list {}", folder.display())),
    }
}

/// The folders of a shelf's campaigns, the oldest first.
fn folders(shelf: &Path) -> Result<Vec<PathBuf>> {
    let mut folders: Vec<PathBuf> =
        entries(&shelf.join(FOLDER))?.iter().map(fs::DirEntry::path).filter(|path| path.is_dir()).collect();
    folders.sort();
    Ok(folders)
}

/// The campaigns of a shelf, the oldest first.
pub fn list(shelf: &Path) -> Result<Vec<Result<Campaign>>> {
    Ok(folders(shelf)?.into_iter().map(Campaign::open).collect())
}

/// The campaign of this name, or beginning of a name, or `latest`. A damaged one is not in the way of the others, and none stands
/// in its place.
pub fn find(shelf: &Path, name: &str) -> Result<Campaign> {
    let mut folders = folders(shelf)?;
    let named =
        |folder: &PathBuf| folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match name {
        "latest" => folders = folders.split_off(folders.len().saturating_sub(1)),
        _ if folders.iter().any(|folder| named(folder) == name) => folders.retain(|folder| named(folder) == name),
        _ => folders.retain(|folder| named(folder).starts_with(name)),
    }
    match &folders[..] {
        [one] => Campaign::open(one.clone()),
        [] => bail!(WrongUse(format!("there is no campaign {name} on {}", shelf.display()))),
        _ => bail!(WrongUse(format!("{name} is the beginning of several campaigns on {}", shelf.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shelf with campaigns of these names, each with the text of its state.
    fn shelf(campaigns: &[(&str, &str)]) -> tempfile::TempDir {
        let shelf = tempfile::tempdir().unwrap();
        for (name, state) in campaigns {
            let folder = shelf.path().join(FOLDER).join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(STATE), state).unwrap();
            fs::write(folder.join("keys"), "a\n").unwrap();
        }
        shelf
    }

    const SOUND: &str = r#"{"on":"ssh:hosts.txt,cpus=2","from":"/home/ann","workers":[],"started":0}"#;

    #[test]
    fn a_damaged_campaign_is_said_to_be_damaged_and_none_stands_in_its_place() {
        let shelf = shelf(&[("20260101-sound", SOUND), ("20260102-damaged", "{}")]);
        let found = |name: &str| find(shelf.path(), name).map_err(|error| format!("{error:#}"));
        for name in ["latest", "20260102", "20260102-damaged"] {
            assert!(found(name).err().unwrap().contains("20260102-damaged/state.json is damaged"), "{name}");
        }
        assert_eq!(found("20260101").unwrap().name, "20260101-sound");
        assert!(found("2026").err().unwrap().contains("several campaigns"));
        assert!(found("x").err().unwrap().contains("there is no campaign x"));
        assert!(find(Path::new("/nonexistent"), "latest").err().unwrap().is::<WrongUse>());
    }

    #[test]
    fn nodes_are_in_the_file_that_was_named_where_the_campaign_was_begun() {
        let shelf = shelf(&[("sound", SOUND)]);
        let on = find(shelf.path(), "latest").unwrap().on().unwrap();
        assert_eq!((on.engine, on.cpus), (EngineKind::Ssh { nodes: "/home/ann/hosts.txt".into() }, 2));
    }

    #[test]
    fn campaigns_that_cannot_be_listed_are_not_none() {
        let shelf = tempfile::tempdir().unwrap();
        let folder = shelf.path().join(FOLDER);
        assert!(list(shelf.path()).unwrap().is_empty());
        // What nobody can list, not even root.
        std::os::unix::fs::symlink(&folder, &folder).unwrap();
        let error = format!("{:#}", list(shelf.path()).err().unwrap());
        assert!(error.contains(&format!("cannot list {}", folder.display())), "{error}");
        assert!(find(shelf.path(), "latest").is_err_and(|error| !error.is::<WrongUse>()));
    }
}
