//! What the order would be if the disk answered some requests at once.

use mountmark_model::device::DeviceOperation;

use crate::why::find::{Account, Ledger};

/// A kind of waiting without which another configuration would be first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Without {
    pub operation: DeviceOperation,
    /// Which ledger would be first.
    pub first: usize,
    /// Its nanoseconds until durable then, and those of the ledger that is first today.
    pub times: [i64; 2],
}

/// The kinds of waiting that decide which of these ledgers is first: without one of them it would be another.
pub fn without(ledgers: &[Ledger]) -> Vec<Without> {
    let first = |time: &dyn Fn(&Ledger) -> i64| (0..ledgers.len()).min_by_key(|at| time(&ledgers[*at]));
    let Some(today) = first(&|ledger| ledger.total.durable) else { return Vec::new() };
    let turned = |operation: DeviceOperation| {
        let time = |ledger: &Ledger| ledger.total.durable - ledger.durable(&Account::Waiting(Some(operation)));
        let first = first(&time)?;
        let times = [time(&ledgers[first]), time(&ledgers[today])];
        // Of equal times neither is before the other.
        (times[0] < times[1]).then_some(Without { operation, first, times })
    };
    DeviceOperation::ALL.into_iter().filter_map(turned).collect()
}
