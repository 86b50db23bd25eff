//! Draws the conditions of a repeat.

use mountmark_model::conditions::Way;
use mountmark_model::{Bytes, Conditions, Lab, Suite, Task};
use mountmark_random::Stream;

use crate::order::block;
use crate::{Options, repeat_seed};

/// Separates the orders of tasks from those of configurations.
const TASKS: u64 = 0x6d6d_7461_736b_7331;
const PAGE: u64 = 4096;
/// The least memory that is taken, in pages.
const FEW_PAGES: u64 = 4;

/// The conditions of `repeat`; `None` if they are fixed.
///
/// A clock that counts instructions makes idle time free, and phases repeat unless they are drawn. Under wall time an
/// idle minute costs a minute, and phases differ anyway. Memory and date are drawn in guests only: this machine's are
/// the user's.
pub(crate) fn drawn(way: Way, lab: Lab, seed: u64, repeat: u32, ram: Bytes) -> Option<Conditions> {
    if way == Way::Fixed {
        return None;
    }
    let nature = lab.capabilities();
    let mut draw = Stream::new(repeat_seed(seed, repeat), "conditions");
    let pages = draw.below((ram.0 / Conditions::MEMORY_PART / PAGE).max(FEW_PAGES) - FEW_PAGES + 1) + FEW_PAGES;
    let reads = draw.below(u64::from(Conditions::MOST_READS) + 1) as u32;
    let folders = draw.below(u64::from(Conditions::MOST_FOLDERS) + 1) as u32;
    let dates = Conditions::DATES;
    let date = dates.start + draw.below((dates.end - dates.start) as u64) as i64;
    Some(Conditions {
        idle_seconds: if nature.exact_clock { Conditions::IDLE_SECONDS } else { 0.0 },
        memory: Bytes(if nature.guest { pages * PAGE } else { 0 }),
        reads,
        folders,
        date: nature.guest.then_some(date),
    })
}

/// The suite's tasks in the order of `repeat`; each is followed by its parts.
pub(crate) fn in_order(suite: &Suite, options: &Options, repeat: u32) -> Vec<Task> {
    if options.conditions == Way::Fixed || !suite.any_order {
        return suite.tasks.clone();
    }
    ordered(&suite.tasks, options.seed, repeat)
}

/// Tasks in an order that the repeat draws; each is followed by its parts.
pub(crate) fn ordered(tasks: &[Task], seed: u64, repeat: u32) -> Vec<Task> {
    let wholes: Vec<&Task> = tasks.iter().filter(|task| task.part_of.is_none()).collect();
    let order = block(seed ^ TASKS, repeat, wholes.len());
    let with_parts = |whole: &Task| {
        let parts = tasks.iter().filter(|task| task.part_of.as_ref() == Some(&whole.id)).cloned();
        std::iter::once(whole.clone()).chain(parts.collect::<Vec<_>>())
    };
    order.into_iter().flat_map(|at| with_parts(wholes[at])).collect()
}
