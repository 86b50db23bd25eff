//! Where a run under wall time ended before all was measured, and went on later.

use std::collections::BTreeSet;

use mountmark_record::{CellRecord, RunRecord, Timestamp};

use crate::figures::find::series::sitting;

/// The end of one sitting and the begin of the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Planned cells that had ended before it.
    pub cells: usize,
    /// When the last of them had ended.
    pub ended: Timestamp,
    /// When the first one after it began.
    pub began: Timestamp,
    /// Whether the machine was started anew.
    pub booted: bool,
    /// Repeats, from 0, of which all cells came after it.
    pub after: Vec<u32>,
    /// Repeats, from 0, with cells before and after it.
    pub split: Vec<u32>,
}

/// The cuts of a run, in the order of time; none under an exact clock, whose figures do not depend on when they are taken.
pub fn cuts(run: &RunRecord) -> Vec<Cut> {
    // Cells that were measured again tell nothing of the plan's progress.
    let cells: Vec<&CellRecord> = run.cells.iter().filter(|cell| run.plan.is_planned(cell.index)).collect();
    let sittings: BTreeSet<u32> = cells.iter().map(|cell| sitting(cell)).collect();
    let cut = |next: &u32| {
        let (before, after): (Vec<&CellRecord>, Vec<&CellRecord>) =
            cells.iter().copied().partition(|cell| sitting(cell) < *next);
        let boot = |cell: &CellRecord| cell.environment.sitting.as_ref().map(|sitting| sitting.boot.clone());
        let (last, first) =
            (before.iter().max_by_key(|cell| cell.ended)?, after.iter().min_by_key(|cell| cell.started)?);
        let [earlier, later] =
            [&before, &after].map(|cells| cells.iter().map(|cell| cell.repeat).collect::<BTreeSet<u32>>());
        Some(Cut {
            cells: before.len(),
            ended: last.ended,
            began: first.started,
            booted: boot(last) != boot(first),
            after: later.difference(&earlier).copied().collect(),
            split: later.intersection(&earlier).copied().collect(),
        })
    };
    sittings.iter().skip(1).filter_map(cut).collect()
}
