//! What a file system promises of the time after a power cut, in levels that can be promised one by one, and where it
//! says so.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::facts::is_day;

/// A promise. Its name in files is that of the variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Level {
    /// It mounts after its own recovery, can be read, and holds nothing that nobody put there.
    L0,
    /// What a returned fsync, fdatasync, msync, sync or synchronous write covers is intact.
    L1,
    /// The name of a new file is durable after fsync of the file, and names in a folder after fsync of the folder.
    L2,
    /// rename, link, unlink and exchange happen whole or not at all.
    L3,
    /// Of the operations on one object, no later one is durable without the earlier ones.
    L4,
    /// All changes of metadata become durable in their order.
    L5,
    /// A file does not grow before its new data is there, and no file is replaced by one whose data is not there.
    L6,
    /// Data becomes durable in the order of all operations.
    L7,
}

impl Level {
    pub const ALL: [Level; 8] =
        [Level::L0, Level::L1, Level::L2, Level::L3, Level::L4, Level::L5, Level::L6, Level::L7];
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A set of levels. In files it is a list of their names.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<Level>", into = "Vec<Level>")]
pub struct Levels(u8);

impl Levels {
    pub fn has(self, level: Level) -> bool {
        self.0 & 1 << level as u8 != 0
    }

    pub fn with(self, level: Level) -> Levels {
        Levels(self.0 | 1 << level as u8)
    }

    pub fn without(self, level: Level) -> Levels {
        Levels(self.0 & !(1 << level as u8))
    }

    pub fn iter(self) -> impl Iterator<Item = Level> {
        Level::ALL.into_iter().filter(move |level| self.has(*level))
    }
}

impl FromIterator<Level> for Levels {
    fn from_iter<T: IntoIterator<Item = Level>>(levels: T) -> Levels {
        levels.into_iter().fold(Levels::default(), Levels::with)
    }
}

impl From<Vec<Level>> for Levels {
    fn from(levels: Vec<Level>) -> Levels {
        levels.into_iter().collect()
    }
}

impl From<Levels> for Vec<Level> {
    fn from(levels: Levels) -> Vec<Level> {
        levels.iter().collect()
    }
}

impl fmt::Debug for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// What one configuration promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promises {
    /// The levels of `show --safety`.
    pub levels: Levels,
    /// Whether data that was not synced may turn out as what the disk held before: other files, or what was there
    /// before it was formatted.
    pub exposes_stale: bool,
    /// Whether a file that grew ends in data and never in zeros: less than [`Level::L6`], since data before the end may
    /// still be missing.
    pub ends_in_data: bool,
}

impl Promises {
    /// What any file system on Linux owes its callers.
    pub fn least() -> Promises {
        Promises { levels: [Level::L0, Level::L1].into_iter().collect(), exposes_stale: true, ends_in_data: false }
    }

    /// All that any file system promises.
    pub fn most() -> Promises {
        Promises { levels: Level::ALL.into_iter().collect(), exposes_stale: false, ends_in_data: true }
    }

    pub fn has(&self, level: Level) -> bool {
        self.levels.has(level)
    }

    /// What both promise.
    pub fn within(&self, other: &Promises) -> Promises {
        Promises {
            levels: self.levels.iter().filter(|level| other.has(*level)).collect(),
            exposes_stale: self.exposes_stale || other.exposes_stale,
            ends_in_data: self.ends_in_data && other.ends_in_data,
        }
    }
}

/// What a file system says of power cuts: the table `[crash]` of its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Documented {
    /// As it is made and mounted by default.
    pub levels: Levels,
    /// Whether data that was not synced may turn out as what the disk held before.
    #[serde(default)]
    pub exposes_stale: bool,
    /// Whether a file that grew ends in data and never in zeros.
    #[serde(default)]
    pub ends_in_data: bool,
    /// Where each promise is made, by its level or by the name of a field above.
    pub sources: BTreeMap<String, String>,
    /// Options that change no promise: words of mkfs arguments and of mount options.
    #[serde(default)]
    pub harmless: Vec<String>,
    /// The check of `[fsck]` with options that let it start sooner, as an image to be looked at holds next to nothing. Its
    /// exit codes mean the same. Empty for the check as it stands there.
    #[serde(default)]
    pub check: Vec<String>,
    /// Options that change promises.
    #[serde(default)]
    pub options: BTreeMap<String, Change>,
}

/// What a power cut that took the disk's cache left of files whose fsync had returned, as the suite `safety` measured it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyncedLost {
    /// The option with which it was measured, as mkfs or mount take it; `None` for the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// The series of kernels of which one was measured: `6.12`. It is said of no other.
    pub kernel: String,
    /// The release that was measured: `6.12.117+deb12-amd64`.
    pub release: String,
    /// The day: `2026-11-27`.
    pub date: String,
    /// Files that were missing, short or not what was written.
    pub files: u32,
    /// Files that were synced.
    pub of: u32,
}

impl SyncedLost {
    /// Whether a kernel is of this series.
    pub fn is_of(&self, release: &str) -> bool {
        is_of_series(release, &self.kernel)
    }

    /// Why it says nothing, as a sentence.
    pub fn fault(&self) -> Option<String> {
        const WHAT: &str = "synced_lost";
        let lost = || {
            (self.files > self.of || self.of == 0)
                .then(|| format!("{WHAT}: {} of {} files cannot be lost", self.files, self.of))
        };
        when_fault(WHAT, &self.kernel, &self.release, &self.date).or_else(lost)
    }
}

/// Whether a kernel's release is of a series: `6.12.117` of `6.12`.
pub(crate) fn is_of_series(release: &str, series: &str) -> bool {
    release.strip_prefix(series).is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
}

/// Why a series of kernels, a release of it and a day are none, as a sentence about `what`.
pub(crate) fn when_fault(what: &str, series: &str, release: &str, date: &str) -> Option<String> {
    let is_series = series.split_once('.').is_some_and(|(major, minor)| {
        [major, minor].iter().all(|part| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit()))
    });
    if !is_series || !is_of_series(release, series) {
        return Some(format!(
            "{what}: kernel is {series:?} and release {release:?}: give a series such as 6.12 and one of it"
        ));
    }
    (!is_day(date)).then(|| format!("{what}: date is {date:?}; give a day such as 2026-11-27"))
}

/// What one option changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Promises that it adds.
    #[serde(default)]
    pub with: Levels,
    /// Promises that it takes away.
    #[serde(default)]
    pub without: Levels,
    /// What `exposes_stale` becomes.
    #[serde(default)]
    pub exposes_stale: Option<bool>,
    /// What `ends_in_data` becomes.
    #[serde(default)]
    pub ends_in_data: Option<bool>,
    /// Where it is documented.
    pub source: String,
}

/// Mount options of all file systems that change nothing of what a power cut may take, but for times of access: mount(8),
/// FILESYSTEM-INDEPENDENT MOUNT OPTIONS.
const HARMLESS: [&str; 19] = [
    "async", "atime", "dev", "diratime", "exec", "lazytime", "noatime", "nodev", "nodiratime", "noexec", "nolazytime",
    "norelatime", "nostrictatime", "nosuid", "relatime", "rw", "silent", "strictatime", "suid",
];

/// Those that make more durable and nothing less: what is promised without them is promised.
const SYNCHRONOUS: [&str; 2] = ["dirsync", "sync"];

impl Documented {
    /// Whether a word of mkfs arguments, or a mount option, changes nothing of what it promises.
    pub fn is_harmless(&self, option: &str) -> bool {
        HARMLESS.contains(&option) || self.harmless.iter().any(|harmless| harmless == option)
    }

    /// What remains with some options, which are words of mkfs arguments and single mount options; `Err` is the first
    /// option of which nothing is documented.
    pub fn with<'a>(&self, options: impl Iterator<Item = &'a str>) -> Result<Promises, String> {
        let mut promises =
            Promises { levels: self.levels, exposes_stale: self.exposes_stale, ends_in_data: self.ends_in_data };
        for option in options {
            if self.is_harmless(option) || SYNCHRONOUS.contains(&option) {
                continue;
            }
            let change = self.options.get(option).ok_or_else(|| option.to_owned())?;
            promises.levels = change.with.iter().fold(promises.levels, Levels::with);
            promises.levels = change.without.iter().fold(promises.levels, Levels::without);
            promises.exposes_stale = change.exposes_stale.unwrap_or(promises.exposes_stale);
            promises.ends_in_data = change.ends_in_data.unwrap_or(promises.ends_in_data);
        }
        Ok(promises)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_was_put_in() {
        let set: Levels = vec![Level::L1, Level::L5].into();
        assert!(set.has(Level::L1) && set.has(Level::L5) && !set.has(Level::L0) && !set.has(Level::L7));
        assert_eq!(set.without(Level::L5).with(Level::L7).iter().collect::<Vec<_>>(), [Level::L1, Level::L7]);
        assert_eq!(Level::ALL.into_iter().collect::<Levels>().iter().count(), 8);
        assert_eq!(format!("{set:?} {}", Level::L6), "{L1, L5} L6");
    }

    #[test]
    fn what_was_lost_is_of_one_series() {
        let lost = SyncedLost {
            option: None,
            kernel: "6.1".into(),
            release: "6.1.0-42-amd64".into(),
            date: "2026-11-27".into(),
            files: 1,
            of: 100,
        };
        assert_eq!(
            ["6.1.0-42-amd64", "6.12.117", "6.1", "16.1.0"].map(|name| lost.is_of(name)),
            [true, false, true, false]
        );
        assert_eq!(lost.fault(), None);
        assert!(SyncedLost { files: 101, ..lost.clone() }.fault().unwrap().contains("101 of 100"));
        assert!(SyncedLost { kernel: "6".into(), ..lost.clone() }.fault().is_some());
        assert!(SyncedLost { date: "today".into(), ..lost.clone() }.fault().unwrap().contains("give a day"));
        assert!(SyncedLost { release: "6.12.1".into(), ..lost }.fault().is_some());
    }

    #[test]
    fn options_change_promises_and_unknown_ones_leave_no_word() {
        let text = r#"
            levels = ["L0", "L1", "L6"]
            harmless = ["noatime"]
            [sources]
            L0 = "a book"
            [options."data=writeback"]
            without = ["L6"]
            exposes_stale = true
            source = "another"
            [options."data=journal"]
            with = ["L7"]
            source = "the same"
        "#;
        let documented: Documented = toml::from_str(text).unwrap();
        let promised = |options: &[&str]| documented.with(options.iter().copied());
        let plain = promised(&["noatime"]).unwrap();
        assert!(plain.has(Level::L6) && !plain.exposes_stale);
        let loose = promised(&["noatime", "data=writeback"]).unwrap();
        assert!(!loose.has(Level::L6) && loose.has(Level::L1) && loose.exposes_stale);
        assert!(promised(&["data=journal"]).unwrap().has(Level::L7));
        assert_eq!(promised(&["data=journal", "commit=1"]), Err("commit=1".to_owned()));
    }
}
