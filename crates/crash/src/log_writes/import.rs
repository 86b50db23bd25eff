//! Reads a log, which a stranger may have made, as a recording.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{DISCARD, FLUSH, FUA, HEADER, MAGIC, MARK, METADATA, VERSION};
use crate::trace::{Event, Mark, Request, Trace};

/// A log as a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    pub trace: Trace,
    /// Marks in others' words, each with the number of events before it.
    pub marks: Vec<(usize, String)>,
}

/// Why a file is no log of this disk. Entries are counted from 0, and places are in bytes from the start of the log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LogError {
    #[error("the log has {length} bytes, which is less than its first sector; copy the whole log device")]
    Short { length: usize },
    #[error(
        "the file does not begin as a log of dm-log-writes does: its magic number is {found:#x} instead of {MAGIC:#x}"
    )]
    Magic { found: u64 },
    #[error("the log has version {found}, and only version {VERSION} is known")]
    Version { found: u64 },
    #[error("the log names {found} bytes as the size of a sector; a power of two from 512 to 65536 is expected")]
    SectorSize { found: u32 },
    #[error("the log has no entries: nothing was written while it was made, or its first sector was never updated")]
    NoEntries,
    #[error("entry {entry} of {entries}, at byte {at} of the log, {problem}")]
    Entry { entry: u64, entries: u64, at: usize, problem: Problem },
}

/// What is wrong with an entry.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    #[error("needs {needed} bytes, and the log ends {left} bytes behind its start: it is cut off")]
    CutOff { needed: u64, left: usize },
    #[error(
        "covers {count} sectors from {sector}, and the disk has {size} bytes: the log is of another disk or damaged"
    )]
    OutsideDisk { sector: u64, count: u64, size: u64 },
    #[error("has flags {flags:#x}, of which some are unknown: the log is damaged")]
    Flags { flags: u64 },
    #[error("is empty: the log is damaged, or was still being written")]
    Empty,
    #[error("has {length} bytes of text, which do not fit into its sector: the log is damaged")]
    Text { length: u64 },
    #[error("has data within its description, as writes by DAX have; mount without DAX")]
    Inline,
}

/// Reads the log of a disk of this size. It takes no more memory than a small multiple of the log's length.
pub fn import(log: &[u8], size: u64) -> Result<Imported, LogError> {
    let short = LogError::Short { length: log.len() };
    let [magic, version, entries, sector] = words(log).ok_or(short.clone())?;
    if magic != MAGIC {
        return Err(LogError::Magic { found: magic });
    }
    if version != VERSION {
        return Err(LogError::Version { found: version });
    }
    let found = sector as u32;
    if !(found.is_power_of_two() && (512..=65536).contains(&found)) {
        return Err(LogError::SectorSize { found });
    }
    let mut reader = Reader { log: log.get(found as usize..).ok_or(short)?, sector: found.into(), size };
    if entries == 0 {
        return Err(LogError::NoEntries);
    }
    let mut made = Recording::new(size);
    for entry in 0..entries {
        let at = log.len() - reader.log.len();
        let item = reader.next().map_err(|problem| LogError::Entry { entry, entries, at, problem })?;
        made.add(item);
    }
    Ok(made.end())
}

fn words(bytes: &[u8]) -> Option<[u64; 4]> {
    let word = |index: usize| Some(u64::from_le_bytes(bytes.get(index * 8..index * 8 + 8)?.try_into().ok()?));
    Some([word(0)?, word(1)?, word(2)?, word(3)?])
}

/// What one entry says. A range is an offset and a length, in bytes.
enum Item<'l> {
    Write { flush: bool, fua: bool, offset: u64, data: &'l [u8] },
    Discard { offset: u64, length: u64 },
    Flush,
    Mark(String),
}

struct Reader<'l> {
    log: &'l [u8],
    sector: u64,
    size: u64,
}

impl<'l> Reader<'l> {
    fn take(&mut self, needed: u64) -> Result<&'l [u8], Problem> {
        let cut_off = Problem::CutOff { needed, left: self.log.len() };
        let needed = usize::try_from(needed).ok().filter(|&needed| needed <= self.log.len()).ok_or(cut_off)?;
        let (taken, rest) = self.log.split_at(needed);
        self.log = rest;
        Ok(taken)
    }

    fn next(&mut self) -> Result<Item<'l>, Problem> {
        let header = self.take(self.sector)?;
        let [sector, count, flags, text] = words(header).ok_or(Problem::Empty)?;
        if flags & !(FLUSH | FUA | DISCARD | MARK | METADATA) != 0 {
            return Err(Problem::Flags { flags });
        }
        if flags & MARK != 0 {
            let bytes = usize::try_from(text).ok().and_then(|text| header[HEADER..].get(..text));
            let bytes = bytes.ok_or(Problem::Text { length: text })?;
            return Ok(Item::Mark(String::from_utf8_lossy(bytes).into_owned()));
        }
        if text != 0 {
            return Err(Problem::Inline);
        }
        if count == 0 {
            return if flags & FLUSH != 0 { Ok(Item::Flush) } else { Err(Problem::Empty) };
        }
        let range = (sector.checked_mul(self.sector), count.checked_mul(self.sector));
        let within = |(offset, length): &(u64, u64)| offset.checked_add(*length).is_some_and(|end| end <= self.size);
        let (offset, length) =
            range.0.zip(range.1).filter(within).ok_or(Problem::OutsideDisk { sector, count, size: self.size })?;
        if flags & DISCARD != 0 {
            return Ok(Item::Discard { offset, length });
        }
        let data = self.take(length)?;
        Ok(Item::Write { flush: flags & FLUSH != 0, fua: flags & FUA != 0, offset, data })
    }
}

/// A recording that grows. Events since the last flush wait until it is known which requests arrived earlier than the
/// log says.
struct Recording {
    made: Imported,
    requests: u32,
    /// Since the last flush: requests and marks, and whether the request arrived before all of them.
    waiting: Vec<(Waiting, bool)>,
    /// What writes with FUA have covered since the last flush: from where to where.
    forced: BTreeMap<u64, u64>,
}

enum Waiting {
    Request(Request),
    Mark(Mark),
    Foreign(String),
}

impl Recording {
    fn new(size: u64) -> Recording {
        let made = Imported { trace: Trace { size, ..Trace::default() }, marks: Vec::new() };
        Recording { made, requests: 0, waiting: Vec::new(), forced: BTreeMap::new() }
    }

    fn add(&mut self, item: Item<'_>) {
        match item {
            Item::Flush => self.flush(),
            Item::Discard { offset, length } => {
                let is_early = self.is_forced(offset, length);
                self.waiting.push((Waiting::Request(Request::Trim { offset, length }), is_early));
            }
            Item::Write { flush, fua, offset, data } => {
                if flush {
                    self.flush();
                }
                let length = data.len() as u64;
                let is_early = !fua && self.is_forced(offset, length);
                if fua {
                    self.force(offset, length);
                }
                let request = Request::Write { offset, length, fua, data: self.made.trace.data.len() as u64 };
                self.made.trace.data.extend_from_slice(data);
                self.waiting.push((Waiting::Request(request), is_early));
            }
            Item::Mark(text) => {
                let mark = mark(&text).map_or(Waiting::Foreign(text), Waiting::Mark);
                self.waiting.push((mark, false));
            }
        }
    }

    /// Whether a write with FUA is logged before this plain one, since the last flush, and covers a part of it. Either
    /// may have been first: plain writes are logged late.
    fn is_forced(&self, offset: u64, length: u64) -> bool {
        self.forced.range(..offset + length).next_back().is_some_and(|(_, &end)| end > offset)
    }

    fn force(&mut self, offset: u64, length: u64) {
        let (mut start, mut end) = (offset, offset + length);
        while let Some((&first, &last)) = self.forced.range(..=end).next_back().filter(|&(_, &last)| last >= start) {
            self.forced.remove(&first);
            (start, end) = (start.min(first), end.max(last));
        }
        self.forced.insert(start, end);
    }

    fn send(&mut self, request: Request) -> u32 {
        self.made.trace.events.push(Event::Sent { number: self.requests, request });
        self.requests += 1;
        self.requests - 1
    }

    fn done(&mut self, number: u32) {
        self.made.trace.events.push(Event::Done { number, error: 0 });
    }

    fn flush(&mut self) {
        self.settle();
        let number = self.send(Request::Flush);
        self.done(number);
    }

    fn settle(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        self.forced.clear();
        let early = waiting.iter().filter(|(_, is_early)| *is_early);
        let requests: Vec<Request> = early
            .filter_map(|(item, _)| if let Waiting::Request(request) = item { Some(*request) } else { None })
            .collect();
        let mut early = requests.into_iter().map(|request| self.send(request)).collect::<Vec<_>>().into_iter();
        for (item, is_early) in waiting {
            match item {
                Waiting::Mark(mark) => self.made.trace.events.push(Event::Mark(mark)),
                Waiting::Foreign(text) => self.made.marks.push((self.made.trace.events.len(), text)),
                Waiting::Request(request) => {
                    let sent = if is_early { early.next() } else { None };
                    let number = sent.unwrap_or_else(|| self.send(request));
                    self.done(number);
                }
            }
        }
    }

    fn end(mut self) -> Imported {
        self.settle();
        self.made
    }
}

fn mark(text: &str) -> Option<Mark> {
    let words: Vec<&str> = text.split(' ').collect();
    match words.as_slice() {
        ["begin", op] => Some(Mark::Begin(op.parse().ok()?)),
        ["end", op, error] => Some(Mark::End(op.parse().ok()?, error.parse().ok()?)),
        ["acknowledged", number] => Some(Mark::Acknowledged(number.parse().ok()?)),
        _ => None,
    }
}
