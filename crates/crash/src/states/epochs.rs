//! When changes become durable, and the epochs between these moments.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::history::History;
use crate::trace::{Device, Event, Fault, Half, Mark, Trace};

/// A stretch of the recording in which nothing becomes durable. At its end a power cut may leave all that it may leave
/// earlier in the stretch, and more; so states are made for its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch {
    /// Counted from 0 over the whole recording.
    pub number: u32,
    /// Number of events before its end. The next event makes something durable, or there is none.
    pub end: usize,
    /// How many operations had begun, and how many had returned: [`super::States::begun`], [`super::States::returned`].
    pub begun: usize,
    pub returned: usize,
    /// The last number that an application acknowledged.
    pub acknowledged: Option<u32>,
    /// The marks within it, by their events.
    #[serde(skip)]
    pub(super) marks: Vec<usize>,
}

/// For each change, the event from which it is durable.
pub fn durable(history: &History, device: &Device, size: u64) -> Vec<Option<usize>> {
    let fault = device.fault;
    let by_itself = |fua: bool, failed: bool| fua && !failed && fault != Some(Fault::IgnoreFua);
    let changes = history.changes.iter();
    let mut since: Vec<Option<usize>> =
        changes.map(|change| change.done.filter(|_| by_itself(change.fua, change.failed))).collect();
    let half = size / history.granule / 2;
    // In the order of their replies. What failed never becomes durable: it may be there or not, for ever.
    let mut waiting: Vec<usize> = (0..since.len())
        .filter(|&index| {
            let change = &history.changes[index];
            since[index].is_none() && change.done.is_some() && !change.failed
        })
        .filter(|&index| {
            let change = &history.changes[index];
            match fault {
                Some(Fault::IgnoreFlush) => false,
                Some(Fault::HalfFlush { lost: Half::Lower }) => change.first >= half,
                Some(Fault::HalfFlush { lost: Half::Upper }) => change.first + change.count <= half,
                _ => true,
            }
        })
        .collect();
    waiting.sort_unstable_by_key(|&index| history.changes[index].done);
    for flush in &history.flushes {
        let is_covered = |index: usize| {
            let change = &history.changes[index];
            change.done < Some(flush.sent) && flush.first <= change.first && change.first < flush.end
        };
        let covered = waiting.iter().filter(|&&index| is_covered(index)).count();
        let left_out = if let Some(Fault::LateFlush { last }) = fault { last as usize } else { 0 };
        let mut left = covered.saturating_sub(left_out);
        waiting.retain(|&index| {
            let stays = left == 0 || !is_covered(index);
            if !stays {
                left -= 1;
                since[index] = Some(flush.done);
            }
            stays
        });
    }
    since
}

/// The marks of operations, in their order.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    pub begun: Vec<u16>,
    /// With 0 or an errno.
    pub returned: Vec<(u16, i32)>,
}

/// All epochs, and the marks of operations that they count. They end where something becomes durable on this device or
/// on one that keeps its promises.
pub fn epochs(trace: &Trace, history: &History, device: &Device, since: &[Option<usize>]) -> (Vec<Epoch>, Marks) {
    let honest = durable(history, &Device::honest(device.unit), trace.size);
    let ends: BTreeSet<usize> = honest.iter().chain(since).flatten().copied().chain([trace.events.len()]).collect();
    let (mut all, mut operations, mut acknowledged) = (Vec::with_capacity(ends.len()), Marks::default(), None);
    let mut start = 0;
    for (number, end) in ends.into_iter().enumerate() {
        let mut marks = Vec::new();
        for (event, what) in trace.events[start..end].iter().enumerate() {
            let Event::Mark(mark) = *what else { continue };
            marks.push(start + event);
            match mark {
                Mark::Begin(op) => operations.begun.push(op),
                Mark::End(op, error) => operations.returned.push((op, error)),
                Mark::Acknowledged(number) => acknowledged = Some(number),
            }
        }
        let (begun, returned) = (operations.begun.len(), operations.returned.len());
        all.push(Epoch { number: number as u32, end, begun, returned, acknowledged, marks });
        start = end;
    }
    (all, operations)
}

/// The event of the first mark of an operation that a power cut may interrupt. A recording without marks of operations
/// may be interrupted anywhere.
pub fn first_cut(trace: &Trace, recorded: u16) -> usize {
    let begins = |op: &dyn Fn(u16) -> bool| {
        trace.events.iter().position(|event| matches!(event, Event::Mark(Mark::Begin(begun)) if op(*begun)))
    };
    match (begins(&|op| op >= recorded), begins(&|_| true)) {
        (Some(event), _) => event,
        (None, Some(_)) => trace.events.len(),
        (None, None) => 0,
    }
}
