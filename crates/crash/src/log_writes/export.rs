//! Writes a recording as the log that the kernel's target would have written.

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
            Entry::Request(Request::Flush) => write_sector(out, &header(0, 0, FLUSH, 0))?,
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
pub(super) fn entries(trace: &Trace) -> Vec<(usize, Entry)> {
    let (mut entries, mut unflushed) = (Vec::new(), Vec::new());
    // Requests without a reply; of a flush also what it will bring into the log.
    let mut under_way = std::collections::HashMap::new();
    for (event, what) in trace.events.iter().enumerate() {
        match *what {
            Event::Mark(mark) => entries.push((event, Entry::Mark(mark))),
            Event::Sent { number, request } => {
                let covered = if request == Request::Flush { std::mem::take(&mut unflushed) } else { Vec::new() };
                under_way.insert(number, (request, covered));
            }
            Event::Done { number, error } => match (under_way.remove(&number), error) {
                (Some((Request::Flush, covered)), 0) => {
                    let all = covered.into_iter().chain([Request::Flush]);
                    entries.extend(all.map(|request| (event, Entry::Request(request))));
                }
                (Some((_, covered)), 1..) => drop(unflushed.splice(0..0, covered)),
                (Some((request @ (Request::Write { fua: true, .. } | Request::Zero { fua: true, .. }), _)), 0) => {
                    entries.push((event, Entry::Request(request)));
                }
                (Some((request, _)), 0) => unflushed.push(request),
                _ => {}
            },
        }
    }
    // A flush without a reply has covered nothing yet.
    let mut covered: Vec<_> = under_way.into_iter().map(|(number, (_, covered))| (number, covered)).collect();
    covered.sort_unstable_by_key(|(number, _)| *number);
    let rest = covered.into_iter().flat_map(|(_, covered)| covered).chain(unflushed);
    entries.extend(rest.map(|request| (trace.events.len(), Entry::Request(request))));
    entries
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
