//! Named variants of making or mounting a file system.

use serde::{Deserialize, Serialize};

use crate::{Fsck, Recovery};

/// Options behind a name such as `data=journal`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// One line for lists.
    pub about: String,
    /// Further arguments of mkfs.
    #[serde(default)]
    pub mkfs: Vec<String>,
    /// Further mount options.
    #[serde(default)]
    pub mount: Vec<String>,
    /// Further programs that its commands start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The mkfs command in the place of the file system's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// How many disks it takes, if several: an array of the file system's own, of which mkfs gets all. In any command
    /// `{second}` stands for the second one: then that is no part of the array, and mkfs gets the first alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disks: Option<u32>,
    /// The check, if that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fsck: Option<Fsck>,
    /// What it needs after a power cut, if that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
}

impl Variant {
    /// The second of a guest's modelled disks. With disks in memory there is none of this name.
    pub const SECOND: &str = "/dev/nbd2";

    /// With the second disk in the place of its word.
    pub fn on_disks(mut self) -> Variant {
        let fsck = self.fsck.iter_mut().map(|fsck| &mut fsck.command);
        let recovery = self.recovery.iter_mut().flat_map(|recovery| [&mut recovery.before_mount, &mut recovery.repair]);
        let lists = [&mut self.mkfs, &mut self.mount, &mut self.command];
        for word in lists.into_iter().chain(fsck).chain(recovery).flatten() {
            *word = word.replace("{second}", Variant::SECOND);
        }
        self
    }
}
