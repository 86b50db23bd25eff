//! How old the blocks of sets may be that phases with `verify` wrote: what a lost overwrite is found by.

use mountmark_model::workload::{Operation, Pattern};
use serde::{Deserialize, Serialize};

use super::resolve::{End, Files, Work};

/// What is known of sets, from one phase to the next, and from one workload in a folder to the next one there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Whole sets, each with the generation that none of its blocks is older than. A set that differs in anything, such
    /// as its count, has other blocks, of which this says nothing.
    sets: Vec<(Files, u32)>,
}

impl History {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// The oldest generation that may be found in a set: 1, until one phase has written all of it.
    pub(super) fn oldest(&self, files: &Files) -> u32 {
        self.sets.iter().find(|(known, _)| known == files).map_or(1, |(_, generation)| *generation)
    }

    /// Takes note of what a phase did; `well` if none of its operations failed.
    pub(super) fn add(&mut self, work: &Work, generation: u32, well: bool) {
        // What comes under a new name may be older than what lay there.
        let brings =
            |o| matches!(o, Operation::Rename | Operation::Link | Operation::CopyFile | Operation::ReflinkFile);
        if work.has(brings) {
            self.sets.retain(|(files, _)| files.prefix != work.target);
        }
        if work.verify && well && writes_everything(work) {
            self.sets.retain(|(files, _)| *files != work.files);
            self.sets.push((work.files.clone(), generation));
        }
    }
}

/// Whether no block of the set is left as it was.
fn writes_everything(work: &Work) -> bool {
    let walks = !matches!(work.pattern, Pattern::Random | Pattern::Zipf(_) | Pattern::SameRecord | Pattern::Append);
    let writes = |o| matches!(o, Operation::Write | Operation::Rewrite | Operation::WriteFile);
    walks && matches!(work.end, End::Passes(_)) && work.mix.iter().all(|(operation, _)| writes(*operation))
}
