//! Checks of a recording that mount nothing: what the order of requests alone makes suspicious.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::trace::{Event, Mark, Request, Trace};
use crate::workload::{Op, Workload, Writing};

/// What is suspicious. Requests are named by their numbers, events by their places in the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// An operation that makes data durable returned, and nothing became durable while it ran.
    NotFlushed {
        op: u16,
        /// The event of its return.
        event: usize,
        /// Writes that a power cut could take back then: those that arrived while it ran, and those from before.
        during: usize,
        before: usize,
    },
    /// A flush arrived while plain writes of the same operation were under way, which it does not cover.
    FlushTooEarly { op: u16, flush: u32, writes: Vec<u32> },
    /// Two requests that were under way at once changed the same bytes, so that their order is open.
    Race { first: u32, second: u32, offset: u64, length: u64 },
}

/// Checks a recording of a workload. A finding is a reason to look, and no proof: a file may have been clean, and a
/// flush may be another's.
pub fn check(trace: &Trace, workload: &Workload) -> Vec<Finding> {
    let mut check = Check::default();
    for (event, what) in trace.events.iter().enumerate() {
        match *what {
            Event::Sent { number, request } => check.sent(event, number, request),
            Event::Done { number, error } => check.done(event, number, error == 0),
            Event::Mark(Mark::Begin(op)) => (check.running, check.is_flushed) = (Some((op, event)), false),
            Event::Mark(Mark::End(op, error)) => {
                let is_kept = error == 0 && workload.ops.get(usize::from(op)).is_some_and(makes_durable);
                check.returned(op, event, is_kept);
            }
            Event::Mark(Mark::Acknowledged(_)) => {}
        }
    }
    check.findings
}

fn makes_durable(op: &Op) -> bool {
    match op {
        Op::Fsync { .. } | Op::Fdatasync { .. } | Op::Msync { .. } | Op::Sync => true,
        Op::Write { how, .. } => matches!(how, Writing::Sync | Writing::Dsync),
        _ => false,
    }
}

#[derive(Default)]
struct Check {
    findings: Vec<Finding>,
    /// The operation that runs, and the event at which it began.
    running: Option<(u16, usize)>,
    /// Whether a flush or a write with FUA was replied to since then.
    is_flushed: bool,
    /// By number: the event and the part of the disk.
    flushes: BTreeMap<u32, (usize, Range<u64>)>,
    /// Changes without a reply, by number.
    under_way: BTreeMap<u32, Change>,
    /// Replied to, and not durable: with the event of the reply.
    cached: Vec<(Change, usize)>,
}

#[derive(Clone, Copy)]
struct Change {
    sent: usize,
    offset: u64,
    length: u64,
    fua: bool,
    /// A trim writes none.
    is_data: bool,
}

impl Check {
    fn sent(&mut self, event: usize, number: u32, request: Request) {
        let (offset, length, fua, is_data) = match request {
            Request::Flush => return self.flush_sent(event, number, 0..u64::MAX),
            Request::FlushDisk { offset, length } => {
                return self.flush_sent(event, number, offset..offset.saturating_add(length));
            }
            Request::Write { offset, length, fua, .. } | Request::Zero { offset, length, fua } => {
                (offset, length, fua, true)
            }
            Request::Trim { offset, length } => (offset, length, false, false),
        };
        for (&first, other) in &self.under_way {
            let start = offset.max(other.offset);
            let end = offset.saturating_add(length).min(other.offset.saturating_add(other.length));
            if start < end {
                self.findings.push(Finding::Race { first, second: number, offset: start, length: end - start });
            }
        }
        self.under_way.insert(number, Change { sent: event, offset, length, fua, is_data });
    }

    fn flush_sent(&mut self, event: usize, flush: u32, range: Range<u64>) {
        self.flushes.insert(flush, (event, range.clone()));
        let Some((op, begun)) = self.running else { return };
        let own =
            |change: &Change| change.sent > begun && change.is_data && !change.fua && range.contains(&change.offset);
        let writes: Vec<u32> =
            self.under_way.iter().filter(|(_, change)| own(change)).map(|(&number, _)| number).collect();
        if !writes.is_empty() {
            self.findings.push(Finding::FlushTooEarly { op, flush, writes });
        }
    }

    fn done(&mut self, event: usize, number: u32, is_success: bool) {
        let (flush, change) = (self.flushes.remove(&number), self.under_way.remove(&number));
        if !is_success {
            return;
        }
        if let Some((sent, range)) = flush {
            self.is_flushed = true;
            self.cached.retain(|(change, done)| *done > sent || !range.contains(&change.offset));
        }
        match change {
            Some(change) if change.fua => self.is_flushed = true,
            Some(change) => self.cached.push((change, event)),
            None => {}
        }
    }

    fn returned(&mut self, op: u16, event: usize, is_kept: bool) {
        let begun = self.running.take().filter(|(running, _)| *running == op);
        let Some((_, begun)) = begun.filter(|_| is_kept && !self.is_flushed) else { return };
        let volatile = self.under_way.values().chain(self.cached.iter().map(|(change, _)| change));
        let (during, before): (Vec<&Change>, Vec<&Change>) =
            volatile.filter(|change| change.is_data).partition(|change| change.sent > begun);
        if !(during.is_empty() && before.is_empty()) {
            let (during, before) = (during.len(), before.len());
            self.findings.push(Finding::NotFlushed { op, event, during, before });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: fn(u32, Request) -> Event = |number, request| Event::Sent { number, request };
    const DONE: fn(u32) -> Event = |number| Event::Done { number, error: 0 };
    const BEGIN: Event = Event::Mark(Mark::Begin(0));
    const END: Event = Event::Mark(Mark::End(0, 0));

    fn write(sector: u64, fua: bool) -> Request {
        Request::Write { offset: sector * 512, length: 1024, fua, data: 0 }
    }

    fn found(events: Vec<Event>) -> Vec<Finding> {
        let path = "foo".to_owned();
        let workload = Workload { ops: vec![Op::Fsync { path }, Op::Sync], ..Workload::default() };
        check(&Trace { size: 1 << 20, events, data: vec![0; 1024], ..Trace::default() }, &workload)
    }

    #[test]
    fn an_fsync_without_a_flush_is_found() {
        let (before, during) = (SENT(0, write(0, false)), SENT(1, write(8, false)));
        let bare = vec![before, DONE(0), BEGIN, during, DONE(1), END];
        assert_eq!(found(bare), [Finding::NotFlushed { op: 0, event: 5, during: 1, before: 1 }]);
        let flushed = vec![before, DONE(0), BEGIN, during, DONE(1), SENT(2, Request::Flush), DONE(2), END];
        assert_eq!(found(flushed), []);
        let forced = vec![before, DONE(0), BEGIN, SENT(1, write(8, true)), DONE(1), END];
        assert_eq!(found(forced), []);
        // Nothing was written since the last flush, or only a trim.
        let trim = SENT(1, Request::Trim { offset: 0, length: 512 });
        let clean = vec![before, DONE(0), SENT(2, Request::Flush), DONE(2), BEGIN, trim, DONE(1), END];
        assert_eq!(found(clean), []);
        // A flush that arrived before the reply does not cover the write, and one that fails covers nothing.
        let early = vec![before, SENT(2, Request::Flush), DONE(0), DONE(2), BEGIN, END];
        assert_eq!(found(early), [Finding::NotFlushed { op: 0, event: 5, during: 0, before: 1 }]);
        let failed = vec![BEGIN, before, DONE(0), SENT(2, Request::Flush), Event::Done { number: 2, error: 5 }, END];
        assert_eq!(found(failed), [Finding::NotFlushed { op: 0, event: 5, during: 1, before: 0 }]);
        // An fsync that fails promises nothing.
        assert_eq!(found(vec![before, DONE(0), BEGIN, Event::Mark(Mark::End(0, 5))]), []);
    }

    #[test]
    fn a_flush_that_does_not_wait_is_found() {
        let (own, flush) = (SENT(1, write(8, false)), SENT(2, Request::Flush));
        let early = vec![SENT(0, write(0, false)), BEGIN, own, SENT(3, write(16, true)), flush, DONE(2), END];
        assert_eq!(found(early), [Finding::FlushTooEarly { op: 0, flush: 2, writes: vec![1] }]);
        assert_eq!(found(vec![BEGIN, own, DONE(1), flush, DONE(2), END]), []);
        assert_eq!(found(vec![own, flush]), []);
    }

    #[test]
    fn requests_that_race_are_found() {
        let race = vec![SENT(0, write(0, false)), SENT(1, write(1, false)), SENT(2, write(4, false))];
        assert_eq!(found(race), [Finding::Race { first: 0, second: 1, offset: 512, length: 512 }]);
        assert_eq!(found(vec![SENT(0, write(0, false)), DONE(0), SENT(1, write(1, false))]), []);
    }
}
