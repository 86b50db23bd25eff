//! Parts of a disk, and what they hold.

use serde::{Deserialize, Serialize};

use super::poison;

/// A part of the disk that differs from the base image, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    pub offset: u64,
    pub length: u64,
    pub contents: Contents,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contents {
    /// What was written, from this place in [`super::Trace::data`].
    Logged(u64),
    Zero,
    /// What was on the disk before it was formatted: [`super::poison`].
    Poison,
    /// Bytes that nobody wrote: a disk has changed them.
    Inline(Vec<u8>),
}

impl Extent {
    pub fn end(&self) -> u64 {
        self.offset + self.length
    }

    /// Reads from `at` bytes behind its start. `data` is [`super::Trace::data`].
    pub fn read(&self, data: &[u8], at: u64, into: &mut [u8]) {
        match &self.contents {
            Contents::Logged(start) => into.copy_from_slice(&data[(start + at) as usize..][..into.len()]),
            Contents::Zero => into.fill(0),
            Contents::Poison => poison::fill(self.offset + at, into),
            Contents::Inline(bytes) => into.copy_from_slice(&bytes[at as usize..][..into.len()]),
        }
    }

    /// Whether `next` begins where this ends, on the disk and in its contents.
    pub fn continues(&self, next: &Extent) -> bool {
        self.end() == next.offset
            && match (&self.contents, &next.contents) {
                (Contents::Logged(start), Contents::Logged(next)) => start + self.length == *next,
                (Contents::Zero, Contents::Zero) | (Contents::Poison, Contents::Poison) => true,
                _ => false,
            }
    }
}
