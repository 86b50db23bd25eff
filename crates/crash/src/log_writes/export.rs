//! Writes a recording as a log of the kernel's target, each prefix of which is an image that a power cut may leave.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};

use super::{DISCARD, FLUSH, FUA, HEADER, MAGIC, MARK, VERSION};
use crate::trace::{Event, Mark, Request, SECTOR, Trace};

/// One entry of a log.
pub(super) enum Entry {
    Request(Request),
    Mark(Mark),
}

/// Writes the log. Requests that failed or have no reply are not in it, and a request for zeros is a write of zeros: the
/// target knows no such requests.
pub fn export(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    let entries = entries(trace);
    let words = [MAGIC, VERSION, entries.len() as u64, SECTOR];
    write_sector(out, &words.map(u64::to_le_bytes).concat())?;
    for (_, entry) in &entries {
        match *entry {
            Entry::Mark(mark) => {
                let text = text(mark);
                let header = header(0, 0, MARK, text.len());
                write_sector(out, &[header.as_slice(), text.as_bytes()].concat())?;
            }
            Entry::Request(Request::Flush | Request::FlushDisk { .. }) => write_sector(out, &header(0, 0, FLUSH, 0))?,
            Entry::Request(Request::Trim { offset, length }) => write_sector(out, &header(offset, length, DISCARD, 0))?,
            Entry::Request(Request::Write { offset, length, fua, data }) => {
                write_sector(out, &header(offset, length, if fua { FUA } else { 0 }, 0))?;
                let held = usize::try_from(data).ok().and_then(|data| trace.data.get(data..));
                let bytes = held.and_then(|held| held.get(..usize::try_from(length).ok()?));
                let missing = || io::Error::other(format!("the recording lacks {length} bytes of data at {data}"));
                out.write_all(bytes.ok_or_else(missing)?)?;
            }
            Entry::Request(Request::Zero { offset, length, fua }) => {
                write_sector(out, &header(offset, length, if fua { FUA } else { 0 }, 0))?;
                (0..length / SECTOR).try_for_each(|_| write_sector(out, &[]))?;
            }
        }
    }
    Ok(())
}

/// What is logged, in this order, each with the event that brings it into the log.
///
/// The target hands each flush the writes that had completed when it arrived. Of several flushes under way at once a later
/// one may be replied to first, and then says of writes that they are durable which the log does not have yet; and a
/// write with FUA is logged before an older plain one of the same sectors, which waits for a flush. Replaying such a log
/// gives images that no power cut leaves. So here the first flush that is replied to brings in all that it covers, and a
/// write with FUA all up to the last older one that it overwrites.
pub(super) fn entries(trace: &Trace) -> Vec<(usize, Entry)> {
    let mut entries = Vec::new();
    // Requests without a reply, with the event of their arrival.
    let mut under_way = HashMap::new();
    // Plain writes that no flush has covered, with the event of their reply, which is their order.
    let mut unflushed: VecDeque<(usize, Request)> = VecDeque::new();
    for (event, what) in trace.events.iter().enumerate() {
        let (number, error) = match *what {
            Event::Mark(mark) => {
                entries.push((event, Entry::Mark(mark)));
                continue;
            }
            Event::Sent { number, request } => {
                under_way.insert(number, (event, request));
                continue;
            }
            Event::Done { number, error } => (number, error),
        };
        let Some((sent, request)) = under_way.remove(&number).filter(|_| error == 0) else { continue };
        let older = unflushed.iter().take_while(|(done, _)| *done < sent);
        let covered = match request {
            Request::Flush | Request::FlushDisk { .. } => older.count(),
            _ if !is_forced(&request) => {
                unflushed.push_back((event, request));
                continue;
            }
            _ => older.zip(1..).filter(|((_, other), _)| overlap(other, &request)).last().map_or(0, |(_, count)| count),
        };
        entries.extend(unflushed.drain(..covered).map(|(_, request)| (event, Entry::Request(request))));
        entries.push((event, Entry::Request(request)));
    }
    entries.extend(unflushed.into_iter().map(|(_, request)| (trace.events.len(), Entry::Request(request))));
    entries
}

fn is_forced(request: &Request) -> bool {
    matches!(request, Request::Write { fua: true, .. } | Request::Zero { fua: true, .. })
}

fn overlap(one: &Request, other: &Request) -> bool {
    let (one, other) = (one.range(0), other.range(0));
    one.start < other.end && other.start < one.end
}

fn text(mark: Mark) -> String {
    match mark {
        Mark::Begin(op) => format!("begin {op}"),
        Mark::End(op, error) => format!("end {op} {error}"),
        Mark::Acknowledged(number) => format!("acknowledged {number}"),
    }
}

fn header(offset: u64, length: u64, flags: u64, text: usize) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    for (place, word) in bytes.chunks_exact_mut(8).zip([offset / SECTOR, length / SECTOR, flags, text as u64]) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// These bytes, and zeros up to a sector.
fn write_sector(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let mut sector = [0; SECTOR as usize];
    sector[..bytes.len()].copy_from_slice(bytes);
    out.write_all(&sector)
}
