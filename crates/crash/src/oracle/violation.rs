//! A broken promise, and what it has in common with others of the same cause.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Level;
use crate::tree::{Kind, Source};
use crate::workload::Workload;

/// What is wrong with what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// What was there before something that is durable.
    Old,
    /// Less than there must be, but something.
    Prefix,
    ZeroLength,
    /// Zeros where data must be.
    Zeros,
    /// What the disk held before, or what nobody wrote.
    Garbage,
    /// Data of other files or of other places.
    Mixed,
    Missing,
    /// A name that must not be there.
    ExtraName,
    /// Wrong size, permissions, attributes, kind or number of links.
    WrongMetadata,
    Unreadable,
}

impl Class {
    pub fn word(self) -> &'static str {
        match self {
            Class::Old => "old",
            Class::Prefix => "prefix",
            Class::ZeroLength => "zero-length",
            Class::Zeros => "zeros",
            Class::Garbage => "garbage",
            Class::Mixed => "mixed",
            Class::Missing => "missing",
            Class::ExtraName => "extra-name",
            Class::WrongMetadata => "wrong-metadata",
            Class::Unreadable => "unreadable",
        }
    }
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// No such name, or nothing that could be named.
    Nothing,
    Kind(Kind),
    /// What this operation made.
    Made(u16),
    /// In bytes.
    Size {
        least: u64,
        most: u64,
    },
    /// What a range of a file may hold, or holds.
    Bytes {
        offset: u64,
        length: u64,
        sources: Vec<Source>,
    },
    /// Permission bits.
    Mode(u32),
    Xattr {
        name: String,
        value: Option<String>,
    },
    /// Of a symbolic link.
    Target(Option<String>),
    /// Which device a node is of.
    Device(Option<String>),
    Links(u64),
    /// The names of one inode.
    Names(Vec<String>),
    /// This operation is durable.
    Done(u16),
    Error(String),
}

/// A promise that what was found breaks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Violation {
    pub class: Class,
    pub level: Level,
    pub path: String,
    /// The operation whose promise is broken; `None` for the new file system, and where no operation could have led to
    /// this.
    pub op: Option<u16>,
    pub expected: Evidence,
    pub found: Evidence,
}

impl Violation {
    /// The operations that this is about.
    pub fn ops(&self) -> BTreeSet<u16> {
        let mut ops: BTreeSet<u16> = self.op.into_iter().collect();
        for evidence in [&self.expected, &self.found] {
            match evidence {
                Evidence::Done(op) | Evidence::Made(op) => drop(ops.insert(*op)),
                Evidence::Bytes { sources, .. } => ops.extend(sources.iter().filter_map(|source| match source {
                    Source::Op(op) | Source::Moved(op) => Some(op),
                    Source::Zero | Source::Poison | Source::Other => None,
                })),
                _ => {}
            }
        }
        ops
    }

    /// Equal for findings that likely have one cause: level, class and kinds of operations, without names and sizes.
    pub fn signature(&self, workload: &Workload) -> String {
        let ops = self.ops();
        let kinds: BTreeSet<&str> =
            ops.iter().filter_map(|op| workload.ops.get(usize::from(*op))).map(crate::workload::Op::word).collect();
        let about = match &self.expected {
            Evidence::Nothing | Evidence::Names(_) | Evidence::Done(_) => "names",
            Evidence::Kind(_) | Evidence::Made(_) => "identity",
            Evidence::Size { .. } => "size",
            Evidence::Bytes { .. } => "data",
            Evidence::Mode(_) => "mode",
            Evidence::Xattr { .. } => "xattr",
            Evidence::Target(_) => "target",
            Evidence::Device(_) => "device",
            Evidence::Links(_) => "links",
            Evidence::Error(_) => "error",
        };
        let kinds = kinds.into_iter().collect::<Vec<_>>().join(",");
        format!("{} {} {about} [{kinds}]", self.level, self.class.word())
    }
}
