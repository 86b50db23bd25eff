//! What a file system promises of the time after a power cut, in levels that can be promised one by one.

use std::fmt;

use serde::{Deserialize, Serialize};

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

    pub fn has(&self, level: Level) -> bool {
        self.levels.has(level)
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
}
