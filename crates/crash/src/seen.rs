//! What a guest sees of one image.

use serde::{Deserialize, Serialize};

use crate::application::Verdict;
use crate::tree::Tree;

/// How a file system's own check ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Exit status.
    pub status: i32,
    /// The end of what it said; empty if its status is that of a sound file system.
    pub said: String,
}

/// What one image holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// What the file system needs before a mount, if it needs something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Check>,
    /// Why the image cannot be mounted.
    pub mount: Option<String>,
    /// What was found, if it could be mounted.
    pub tree: Option<Tree>,
    /// What the application's own check said, if an application ran and the image could be mounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Verdict>,
    /// Why a new file could not be written and removed.
    pub write: Option<String>,
    /// Why it could not be unmounted.
    pub umount: Option<String>,
    /// The file system's own check after that; `None` if it has none, or if the image cannot be mounted.
    pub check: Option<Check>,
    /// The image repaired, if something was wrong with it and there is a program for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repaired: Option<Repaired>,
    /// Parts of the disk that all this has read, in bytes: offset and length, in the order of their first reads.
    pub reads: Vec<(u64, u64)>,
}

/// An image after its repair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repaired {
    pub repair: Check,
    /// Why it cannot be mounted even now.
    pub mount: Option<String>,
    pub tree: Option<Tree>,
    /// Files and folders in `lost+found`.
    pub lost: usize,
}
