//! The oldest generation that a verified read may return; anything older is a lost overwrite.

use mountmark_model::workload::{Operation, Pattern};
use serde::{Deserialize, Serialize};

use super::resolve::{End, Files, Work};

/// Knowledge about sets, passed from phase to phase and between workloads in the same folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Whole sets, each with the oldest generation that its blocks may have. A set that differs in anything, such as
    /// its count, has other blocks, and needs its own entry.
    sets: Vec<(Files, u32)>,
}

impl History {
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// The oldest generation that may be found in a set: 1 until a phase has written all of it.
    pub(super) fn oldest(&self, files: &Files) -> u32 {
        self.sets.iter().find(|(known, _)| known == files).map_or(1, |(_, generation)| *generation)
    }

    /// Records a phase; `well` if none of its operations failed.
    pub(super) fn add(&mut self, work: &Work, generation: u32, well: bool) {
        // Contents that move to a new name may be older than those they replace.
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

/// Whether the phase overwrites every block of the set.
fn writes_everything(work: &Work) -> bool {
    let walks = !matches!(work.pattern, Pattern::Random | Pattern::Zipf(_) | Pattern::SameRecord | Pattern::Append);
    let writes = |o| matches!(o, Operation::Write | Operation::Rewrite | Operation::WriteFile);
    walks && matches!(work.end, End::Passes(_)) && work.mix.iter().all(|(operation, _)| writes(*operation))
}
