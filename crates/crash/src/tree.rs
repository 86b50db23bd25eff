//! What is found on a mounted file system: names, inodes and where each byte of a file comes from.

use serde::{Deserialize, Serialize};

/// All that is below the root of a file system, without the folders that file systems make for themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tree {
    /// Sorted by path. The root is not among them.
    pub entries: Vec<Entry>,
    /// Folders that could not be read, and why; files that could not be read have their own error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// From the root, without a leading slash, such as `A/foo`.
    pub path: String,
    pub inode: u64,
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Number of names that the inode claims to have.
    pub links: u64,
    /// In bytes; of a folder it means nothing that file systems agree on.
    pub size: u64,
    /// Of the name space `user`, sorted; values as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub xattrs: Vec<(String, String)>,
    /// What a symbolic link leads to, and which device a node is of, such as `char 1:3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Where the bytes of a plain file come from, without gaps, from its start to its size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Run>,
    /// Why a part of this could not be read, such as `EIO`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    File,
    Folder,
    Symlink,
    Fifo,
    DeviceNode,
    Other,
}

impl Kind {
    /// Whether an inode of it can have several names that a guest counts.
    pub fn is_counted(self) -> bool {
        matches!(self, Kind::File | Kind::Fifo | Kind::DeviceNode)
    }
}

/// How [`Entry::target`] names a device.
pub fn node_target(is_block: bool, major: u32, minor: u32) -> String {
    format!("{} {major}:{minor}", if is_block { "block" } else { "char" })
}

/// A part of a file whose bytes have one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Run {
    /// In bytes, a multiple of 8 but at the end of a file whose size is none.
    pub length: u64,
    pub source: Source,
}

/// Where bytes of a file come from, as far as they say themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Written by this operation, at this place of its file.
    Op(u16),
    /// Written by this operation, but to another place of a file.
    Moved(u16),
    Zero,
    /// What the disk held before it was formatted.
    Poison,
    /// Nothing that the workload wrote: metadata, or damage.
    Other,
}

/// Contents that say where they come from: each word of eight bytes names the operation that wrote it and its place.
pub mod words {
    use mountmark_trace::recording::poison;

    use super::Source;

    /// Bytes in a word.
    pub const WORD: u64 = poison::WORD;
    const WRITTEN: u64 = 0xa5;

    /// The word at `index` (in words from the start of the file) that operation `op` writes.
    pub fn written(op: u16, index: u32) -> u64 {
        WRITTEN << 56 | u64::from(op) << 40 | u64::from(check(op, index)) << 32 | u64::from(index)
    }

    /// Where the word found at `index` of a file comes from.
    pub fn source(word: u64, index: u32) -> Source {
        if word == 0 {
            return Source::Zero;
        }
        match word >> 56 {
            WRITTEN => {
                let (op, place) = ((word >> 40) as u16, word as u32);
                match (check(op, place) == (word >> 32) as u8, place == index) {
                    (true, true) => Source::Op(op),
                    (true, false) => Source::Moved(op),
                    (false, _) => Source::Other,
                }
            }
            _ if poison::is(word) => Source::Poison,
            _ => Source::Other,
        }
    }

    fn check(op: u16, index: u32) -> u8 {
        let mixed = (u64::from(op) << 32 | u64::from(index)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 56) as u8
    }
}
