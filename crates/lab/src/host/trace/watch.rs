//! The watcher process: passes records from the rings to a recorder, until the agent is gone.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;

use anyhow::Result;
use mountmark_model::DeviceRecord;
use mountmark_model::device::{DeviceOperation, SECTOR};
use mountmark_trace::{Completed, Recorder, Times};
use rustix::event::{PollFd, PollFlags, poll};

use super::perf::{Events, Sample, TracePoints};
use super::{Answer, Ask, answer};

/// The longest time between two reads of the rings while recording.
const INTERVAL: rustix::time::Timespec = rustix::time::Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Answers requests until the agent's end of the stream is closed.
pub(super) fn watch(stream: &UnixStream, events: &Events, points: &TracePoints, size: u64) -> Result<()> {
    let mut asked = BufReader::new(stream);
    let mut pairs = Pairs::new(points, size);
    let mut on = false;
    answer(stream, &Answer::Begun)?;
    loop {
        let has_asked = {
            let mut waited: Vec<PollFd> = vec![PollFd::new(stream, PollFlags::IN)];
            if on {
                waited.extend(events.descriptors().map(|event| PollFd::new(event, PollFlags::IN)));
            }
            match poll(&mut waited, on.then_some(&INTERVAL)) {
                Ok(_) => !waited[0].revents().is_empty(),
                Err(rustix::io::Errno::INTR) => false,
                Err(error) => return Err(error.into()),
            }
        };
        if on {
            pairs.drain(events, now());
        }
        if !has_asked {
            continue;
        }
        let mut line = String::new();
        if asked.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let seen = match serde_json::from_str(&line)? {
            Ask::Begin(at) => {
                // Records of the previous task do not belong to this one.
                events.take(&mut Vec::new());
                pairs.begin(at, size);
                events.enable(true)?;
                on = true;
                Answer::Begun
            }
            Ask::End(returned, durable, settled) => {
                events.enable(false)?;
                pairs.drain(events, u64::MAX);
                on = false;
                Answer::Seen(Box::new(pairs.record(Times { returned, durable, settled })))
            }
        };
        answer(stream, &seen)?;
    }
}

/// Matches issued requests with completed ones.
struct Pairs<'a> {
    points: &'a TracePoints,
    recorder: Box<Recorder>,
    /// Records that may still be preceded by another processor's.
    held: Vec<Sample>,
    /// Issue times, by operation and first sector.
    issued: HashMap<(DeviceOperation, u64), u64>,
    lost: u64,
}

impl Pairs<'_> {
    fn new(points: &TracePoints, size: u64) -> Pairs<'_> {
        let mut recorder = Recorder::new();
        recorder.reset(0, size);
        Pairs { points, recorder, held: Vec::new(), issued: HashMap::new(), lost: 0 }
    }

    fn begin(&mut self, at: u64, size: u64) {
        self.recorder.reset(at, size);
        self.held.clear();
        self.issued.clear();
        self.lost = 0;
    }

    /// Records everything up to the time `until`, in order of time.
    fn drain(&mut self, events: &Events, until: u64) {
        self.lost += events.take(&mut self.held);
        self.note(until);
    }

    fn note(&mut self, until: u64) {
        let mut samples = std::mem::take(&mut self.held);
        // A stable sort, so that a processor's records of one moment stay in order.
        samples.sort_by_key(|sample| sample.time);
        let ready = samples.partition_point(|sample| sample.time <= until);
        self.held = samples.split_off(ready);
        for Sample { time, bytes } in samples {
            let Some(id) = bytes.get(..2).map(|id| u16::from_le_bytes([id[0], id[1]])) else { continue };
            if id == self.points.issue.id {
                if let Some(request) = self.points.issue.read(&bytes) {
                    // Issued again because the driver was busy: the first time counts as the arrival.
                    self.issued.entry((request.operation, request.sector)).or_insert_with(|| {
                        self.recorder.arrive(time);
                        time
                    });
                }
            } else if let Some(request) = self.points.complete.read(&bytes) {
                let arrival = self.issued.remove(&(request.operation, request.sector)).unwrap_or_else(|| {
                    // The rest of a request of which a part completed before.
                    self.recorder.arrive(time);
                    time
                });
                self.recorder.complete(
                    time,
                    &Completed {
                        operation: request.operation,
                        offset: request.sector.saturating_mul(SECTOR),
                        length: request.sectors * SECTOR,
                        fua: request.fua,
                        arrival,
                    },
                );
            }
        }
    }

    fn record(&self, times: Times) -> DeviceRecord {
        let mut record = self.recorder.record(times);
        if self.lost > 0 {
            record.lacking = Some(format!(
                "The kernel had no room for {} records of requests at the device in a task: its figures are too small.",
                self.lost
            ));
        }
        record
    }
}

/// CLOCK_MONOTONIC in nanoseconds.
fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::super::event::Layout;
    use super::*;

    fn points() -> TracePoints {
        let layout = |id| {
            let fields = "\tfield:sector_t sector;\toffset:8;\tsize:8;\n\tfield:unsigned int nr_sector;\toffset:16;\tsize:4;\n\
                          \tfield:char rwbs[8];\toffset:20;\tsize:8;\n";
            Layout::parse(&format!("ID: {id}\n{fields}")).unwrap()
        };
        TracePoints { issue: layout(1), complete: layout(2) }
    }

    fn sample(id: u16, time: u64, rwbs: &str, sector: u64, sectors: u32) -> Sample {
        let mut bytes = vec![0; 28];
        bytes[..2].copy_from_slice(&id.to_le_bytes());
        bytes[8..16].copy_from_slice(&sector.to_le_bytes());
        bytes[16..20].copy_from_slice(&sectors.to_le_bytes());
        bytes[20..20 + rwbs.len()].copy_from_slice(rwbs.as_bytes());
        Sample { time, bytes }
    }

    #[test]
    fn what_was_issued_is_joined_with_what_completed() {
        let points = points();
        let mut pairs = Pairs::new(&points, 1 << 20);
        pairs.begin(1000, 1 << 20);
        // Two processors, the second one's records first; the last record is later than `until`.
        pairs.held = vec![
            sample(2, 5000, "WS", 8, 8),
            sample(2, 9000, "FF", 0, 0),
            sample(1, 2000, "WS", 8, 8),
            sample(1, 2500, "R", 64, 16),
            sample(1, 4000, "FF", 0, 0),
            sample(2, 5500, "R", 64, 8),
            sample(2, 6000, "R", 72, 8),
        ];
        pairs.note(8000);
        assert_eq!(pairs.held.len(), 1);
        pairs.note(u64::MAX);
        let totals = pairs.record(Times::default()).totals();
        assert_eq!((totals.count, totals.bytes), ([2, 1, 0, 1], [8192, 4096, 0, 0]));
        assert_eq!(totals.wait, [3000, 3000, 0, 5000]);
        assert_eq!(totals.busy, 7000);
        pairs.lost = 3;
        assert!(pairs.record(Times::default()).lacking.unwrap().contains("no room for 3 records"));
    }
}
