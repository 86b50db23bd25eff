//! A recording put in order: which requests changed which part of the disk, from when to when.

use std::collections::HashMap;
use std::ops::Range;

use thiserror::Error;

use super::state::{Base, key};
use crate::trace::{Contents, Device, Event, Extent, Fault, Request, SECTOR, Trace};

/// All requests of a recording together may not change more than this many granules: 4 GiB of sectors.
const MOST: u64 = 1 << 23;

/// A request that changes the disk.
#[derive(Clone, Debug)]
pub struct Change {
    pub number: u32,
    /// Index of the event at which the server had read it.
    pub sent: usize,
    /// Index of the event of its reply.
    pub done: Option<usize>,
    pub failed: bool,
    pub fua: bool,
    /// In granules.
    pub first: u64,
    pub count: u64,
    contents: Contents,
    /// A granule that the disk has changed, and its bytes.
    flipped: Option<(u64, Vec<u8>)>,
    /// Where the keys of its granules begin in [`History::keys`].
    keys: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Flush {
    pub sent: usize,
    pub done: usize,
    /// The granules of the disk that it is of; all there are, of a recording of one disk.
    pub first: u64,
    pub end: u64,
}

/// What waits for a reply: an index into the changes, or a flush of a part of the disk.
enum Asked {
    Change(usize),
    Flush(Range<u64>),
}

#[derive(Clone, Debug)]
pub struct History {
    pub granule: u64,
    /// In the order in which they arrived.
    pub changes: Vec<Change>,
    /// Those that succeeded, in the order of their replies.
    pub flushes: Vec<Flush>,
    /// A hash of what a change puts into a granule, 0 if the base image has the same there.
    keys: Vec<u128>,
    /// Granules that changes touch, sorted, each with where its changes begin in `covers`.
    places: Vec<(u64, u32)>,
    covers: Vec<u32>,
}

/// A recording that makes no sense. Events are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    #[error("request {number} was sent twice; the second time is event {event}")]
    SentTwice { number: u32, event: usize },
    #[error("event {event} is a reply to request {number}, which waits for none")]
    NotAsked { number: u32, event: usize },
    #[error(
        "request {number} covers {length} bytes at {offset}: that is no range of whole sectors on a disk of {size} bytes"
    )]
    Range { number: u32, offset: u64, length: u64, size: u64 },
    #[error("the data of request {number} is not in the recording, which holds {held} bytes of data")]
    NoData { number: u32, held: usize },
    #[error("the requests change more than {most} bytes, which is more than can be examined; record fewer operations", most = MOST * SECTOR)]
    TooMuch,
    #[error("the device is `{device}`, and the recording has no such write on its disk of {size} bytes")]
    NoSuchWrite { device: Device, size: u64 },
}

impl History {
    pub fn new(trace: &Trace, base: &(impl Base + ?Sized), device: &Device) -> Result<History, TraceError> {
        let mut history = History {
            granule: device.granule(),
            changes: Vec::new(),
            flushes: Vec::new(),
            keys: Vec::new(),
            places: Vec::new(),
            covers: Vec::new(),
        };
        history.read(trace, device)?;
        history.break_promise(trace, device)?;
        if history.changes.iter().map(|change| change.count).sum::<u64>() > MOST {
            return Err(TraceError::TooMuch);
        }
        history.make_keys(trace, base);
        history.make_places();
        Ok(history)
    }

    fn read(&mut self, trace: &Trace, device: &Device) -> Result<(), TraceError> {
        // By number of the request: what waits for a reply, and at which event it arrived.
        let mut waiting: HashMap<u32, Option<(usize, Asked)>> = HashMap::new();
        for (event, what) in trace.events.iter().enumerate() {
            match *what {
                Event::Sent { number, request } => {
                    let change = self.change(trace, device, number, event, request)?;
                    let change = change.map(|change| {
                        self.changes.push(change);
                        self.changes.len() - 1
                    });
                    let change = change.map_or_else(|| Asked::Flush(request.range(trace.size)), Asked::Change);
                    if waiting.insert(number, Some((event, change))).is_some() {
                        return Err(TraceError::SentTwice { number, event });
                    }
                }
                Event::Done { number, error } => {
                    let asked = waiting.get_mut(&number).and_then(Option::take);
                    match asked.ok_or(TraceError::NotAsked { number, event })? {
                        (_, Asked::Change(change)) => {
                            let change = &mut self.changes[change];
                            (change.done, change.failed) = (Some(event), error != 0);
                        }
                        (sent, Asked::Flush(range)) if error == 0 => {
                            let (first, end) = (range.start / self.granule, range.end / self.granule);
                            self.flushes.push(Flush { sent, done: event, first, end });
                        }
                        _ => {}
                    }
                }
                Event::Mark(_) => {}
            }
        }
        Ok(())
    }

    fn change(
        &self,
        trace: &Trace,
        device: &Device,
        number: u32,
        sent: usize,
        request: Request,
    ) -> Result<Option<Change>, TraceError> {
        let (offset, length, fua, contents) = match request {
            Request::Flush | Request::FlushDisk { .. } => return Ok(None),
            Request::Write { offset, length, fua, data } => (offset, length, fua, Contents::Logged(data)),
            Request::Trim { offset, length } if device.fault == Some(Fault::PoisonTrim) => {
                (offset, length, false, Contents::Poison)
            }
            Request::Trim { offset, length } => (offset, length, false, Contents::Zero),
            Request::Zero { offset, length, fua } => (offset, length, fua, Contents::Zero),
        };
        let within = |end: Option<u64>, size: u64| end.is_some_and(|end| end <= size);
        let is_whole = offset.is_multiple_of(SECTOR) && length.is_multiple_of(SECTOR);
        if !is_whole || !within(offset.checked_add(length), trace.size) {
            return Err(TraceError::Range { number, offset, length, size: trace.size });
        }
        if let Contents::Logged(data) = contents
            && !within(data.checked_add(length), trace.data.len() as u64)
        {
            return Err(TraceError::NoData { number, held: trace.data.len() });
        }
        Ok(Some(Change {
            number,
            sent,
            done: None,
            failed: false,
            fua,
            first: offset / self.granule,
            count: length / self.granule,
            contents,
            flipped: None,
            keys: 0,
        }))
    }

    /// Applies the faults that concern one write.
    fn break_promise(&mut self, trace: &Trace, device: &Device) -> Result<(), TraceError> {
        let Some(
            Fault::Drop { write: Some(write) }
            | Fault::Misdirect { write: Some(write), .. }
            | Fault::Flip { write: Some(write), .. },
        ) = device.fault
        else {
            return Ok(());
        };
        let unknown = || TraceError::NoSuchWrite { device: *device, size: trace.size };
        let (granule, is_it) = (self.granule, |change: &Change| change.number == write);
        let index = self.changes.iter().position(is_it).ok_or_else(unknown)?;
        let change = &mut self.changes[index];
        let Contents::Logged(data) = change.contents else { return Err(unknown()) };
        match device.fault {
            Some(Fault::Misdirect { to, .. }) => {
                let fits = to.checked_add(change.count * granule).is_some_and(|end| end <= trace.size);
                if !to.is_multiple_of(SECTOR) || !fits {
                    return Err(unknown());
                }
                change.first = to / granule;
            }
            Some(Fault::Flip { bit, .. }) => {
                let at = bit / 8;
                if at >= change.count * granule {
                    return Err(unknown());
                }
                let start = at / granule * granule;
                let mut bytes = trace.data[(data + start) as usize..][..granule as usize].to_vec();
                bytes[(at - start) as usize] ^= 1 << (bit % 8);
                change.flipped = Some((change.first + start / granule, bytes));
            }
            _ => drop(self.changes.remove(index)),
        }
        Ok(())
    }

    fn make_keys(&mut self, trace: &Trace, base: &(impl Base + ?Sized)) {
        let (mut old, mut new) = (vec![0; self.granule as usize], vec![0; self.granule as usize]);
        for index in 0..self.changes.len() {
            self.changes[index].keys = self.keys.len();
            let Change { first, count, .. } = self.changes[index];
            for granule in first..first + count {
                base.read(granule * self.granule, &mut old);
                self.extent(index as u32, granule).read(&trace.data, 0, &mut new);
                self.keys.push(if old == new { 0 } else { key(granule, &new) });
            }
        }
    }

    fn make_places(&mut self) {
        let ranges = self.changes.iter().enumerate();
        let mut pairs: Vec<(u64, u32)> = ranges
            .flat_map(|(index, change)| {
                (change.first..change.first + change.count).map(move |granule| (granule, index as u32))
            })
            .collect();
        pairs.sort_unstable();
        for group in pairs.chunk_by(|a, b| a.0 == b.0) {
            // What all requests left as it was in the base image does not matter.
            if group.iter().any(|&(granule, change)| self.key(change, granule) != 0) {
                self.places.push((group[0].0, self.covers.len() as u32));
                self.covers.extend(group.iter().map(|&(_, change)| change));
            }
        }
    }

    /// Each granule that may differ from the base image, with its changes in the order in which they arrived.
    pub fn places(&self) -> impl Iterator<Item = (u64, &[u32])> {
        let ends = self.places.iter().skip(1).map(|&(_, start)| start).chain([self.covers.len() as u32]);
        self.places
            .iter()
            .zip(ends)
            .map(|(&(granule, start), end)| (granule, &self.covers[start as usize..end as usize]))
    }

    /// A hash of what a change puts there; 0 if that is what the base image has.
    pub fn key(&self, change: u32, granule: u64) -> u128 {
        let change = &self.changes[change as usize];
        self.keys[change.keys + (granule - change.first) as usize]
    }

    /// What a change puts there.
    pub fn extent(&self, change: u32, granule: u64) -> Extent {
        let change = &self.changes[change as usize];
        let contents = match (&change.flipped, &change.contents) {
            (Some((place, bytes)), _) if *place == granule => Contents::Inline(bytes.clone()),
            (_, Contents::Logged(data)) => Contents::Logged(data + (granule - change.first) * self.granule),
            (_, other) => other.clone(),
        };
        Extent { offset: granule * self.granule, length: self.granule, contents }
    }

    /// Whether `first` was replied to before `second` arrived. Otherwise they were under way at once, and the disk may
    /// have served them in either order.
    pub fn precedes(&self, first: u32, second: u32) -> bool {
        self.changes[first as usize].done.is_some_and(|done| done < self.changes[second as usize].sent)
    }
}
