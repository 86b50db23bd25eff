//! Whether what is found after a power cut is what a file system promised.
//!
//! A model in memory replays the workload. Each name, each attribute and each byte that was found may be as it was in
//! any state since the last that is known to be durable; what is durable, and which of these must go together, is what
//! a file system [promises](Promises). Where promises are disputed, or known from one implementation alone, everything is
//! legal: a violation is said only where no reading of the promise allows what was found.

mod atomic;
mod case;
mod contents;
mod fate;
mod history;
mod moments;
mod names;
mod sentence;
mod violation;

pub use fate::{Fates, count};
pub use history::History;
pub use mountmark_model::promises::{Level, Levels, Promises};
pub use violation::{Class, Evidence, Violation};

use std::collections::BTreeSet;

use case::Case;

use crate::moment::Moment;
use crate::tree::Tree;
use crate::workload::Workload;

/// What breaks promises in `found`. `results` has 0 or an errno of each operation that has returned in the end, which
/// may be later than `moment`. For many trees of one workload, [`History::judge`] is faster.
///
/// Whether a file system mounts and passes its check is judged elsewhere: [`Level::L0`] here is that everything can be
/// read and that somebody has put it there.
pub fn judge(
    workload: &Workload,
    results: &[i32],
    moment: Moment,
    promises: &Promises,
    found: &Tree,
) -> Vec<Violation> {
    History::new(workload, results).judge(moment, promises, found)
}

impl History<'_> {
    /// As [`judge`].
    ///
    /// Of promises of which one includes the other only the lesser is said to be broken.
    pub fn judge(&self, moment: Moment, promises: &Promises, found: &Tree) -> Vec<Violation> {
        let mut wrong = unreadable(found);
        // An operation that worked although it cannot: this program does not know what it did.
        if self.strange.is_some_and(|op| op < usize::from(moment.begun)) {
            return wrong;
        }
        let case = Case::new(self, moment, promises, found);
        let (names, of_names) = case.judge_names();
        let mut higher = case.judge_atomicity(&names);
        if higher.iter().all(|violation| violation.level > Level::L3) {
            let order = case.judge_order(&names);
            if !order.is_empty() {
                higher = order;
            }
        }
        let is_whole = |violation: &Violation| {
            matches!(
                violation.expected,
                Evidence::Bytes { .. } | Evidence::Size { .. } | Evidence::Target(_) | Evidence::Device(_)
            )
        };
        if higher.is_empty() && of_names.iter().all(is_whole) {
            higher.extend(case.judge_moment(&names).filter(|last| last.level == Level::L5 || of_names.is_empty()));
        }
        wrong.extend(of_names);
        wrong.extend(higher);
        wrong.retain(|violation| match violation.level {
            Level::L0 => true,
            Level::L6 if violation.class == Class::Zeros => promises.has(Level::L6) || promises.ends_in_data,
            level => promises.has(level),
        });
        told_once(wrong)
    }
}

/// A file with several names has the same faults under each; one that should have moved is missing at one name and still
/// at another.
fn told_once(mut wrong: Vec<Violation>) -> Vec<Violation> {
    let mut told = BTreeSet::new();
    wrong.retain(|violation| {
        let about = Violation { path: String::new(), ..violation.clone() };
        matches!(violation.expected, Evidence::Nothing | Evidence::Made(_)) || told.insert(about)
    });
    let missing: Vec<Violation> = wrong.iter().filter(|violation| violation.class == Class::Missing).cloned().collect();
    wrong.retain(|violation| {
        let moved = |lost: &Violation| {
            (lost.op, lost.level, &lost.expected) == (violation.op, violation.level, &violation.found)
        };
        violation.class != Class::ExtraName || !missing.iter().any(moved)
    });
    wrong
}

/// What is found and cannot be read.
pub(crate) fn unreadable(found: &Tree) -> Vec<Violation> {
    let files = found.entries.iter().filter_map(|entry| Some((&entry.path, entry.error.as_ref()?)));
    let folders = found.unreadable.iter().map(|(path, error)| (path, error));
    let violation = |(path, error): (&String, &String)| Violation {
        class: Class::Unreadable,
        level: Level::L0,
        path: path.clone(),
        op: None,
        expected: Evidence::Nothing,
        found: Evidence::Error(error.clone()),
    };
    files.chain(folders).map(violation).collect()
}
