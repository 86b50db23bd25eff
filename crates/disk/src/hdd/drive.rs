//! The drive in use.
//!
//! Requests are served in order of arrival, so the controller's time is one number (`ready`), and so is the mechanism's
//! (`free`). Background work, reading ahead and destaging, is computed when the next request comes
//! ([`Drive::advance`]): first the read-ahead runs until its segment is full, then dirty extents are written in C-LOOK
//! order. A request stops the read-ahead at once; a destaging write is finished first, but is never more than a track.

use super::Hdd;
use super::geometry::{Geometry, Place};
use super::read_buffer::ReadBuffer;
use super::seek::Seek;
use super::write_cache::WriteCache;
use crate::units::{SECTOR, duration};
use crate::{Model, Operation, Request};

#[derive(Clone, Debug)]
pub struct Drive {
    geometry: Geometry,
    seek: Seek,
    revolution: u64,
    head_switch: u64,
    write_settle: u64,
    overhead: u64,
    interface_rate: u64,
    /// Bytes; 0 means write-through.
    cache_size: u64,

    /// When the controller can take the next request, in ns.
    ready: u64,
    /// When the mechanism is free, in ns.
    free: u64,
    /// The arm's place at the time `free`, unless a stream has moved it since.
    arm: Place,
    /// The byte after the last one read or written; C-LOOK continues there.
    at: u64,
    buffer: ReadBuffer,
    stream: Option<Stream>,
    cache: WriteCache,
    /// When destaging may begin; valid while the cache is not empty.
    dirty_from: u64,
    destaging: Destaging,
}

/// A read that continues as read-ahead.
#[derive(Clone, Debug)]
struct Stream {
    segment: usize,
    /// Byte x is reached at `phase + start(x)`.
    phase: i64,
    /// The first byte that this stream read from the medium.
    from: u64,
    /// The byte after the last requested one.
    asked: u64,
    /// The byte at which the segment is full.
    limit: u64,
}

/// The latest write from the cache to the medium; its bytes stay in the cache until it ends.
#[derive(Clone, Copy, Debug, Default)]
struct Destaging {
    from: u64,
    to: u64,
    until: u64,
}

impl Drive {
    pub(super) fn new(hdd: &Hdd, geometry: Geometry, seek: Seek) -> Drive {
        Drive {
            geometry,
            seek,
            revolution: hdd.revolution_ns(),
            head_switch: hdd.head_switch_ns,
            write_settle: hdd.write_settle_ns,
            overhead: hdd.overhead_ns,
            interface_rate: hdd.interface_rate,
            cache_size: if hdd.write_cache { hdd.write_cache_size } else { 0 },
            ready: 0,
            free: 0,
            arm: Place { cylinder: 0, head: 0 },
            at: 0,
            buffer: ReadBuffer::new(hdd.read_buffer, hdd.segments),
            stream: None,
            cache: WriteCache::default(),
            dirty_from: 0,
            destaging: Destaging::default(),
        }
    }

    fn bus(&self, bytes: u64) -> u64 {
        duration(bytes, self.interface_rate)
    }

    /// The time in ns to bring the arm and the right head to `place`. The head is switched while the arm moves, and the
    /// skew allows for the move to the next cylinder, in reading and writing.
    fn travel(&self, place: Place, write: bool) -> u64 {
        let distance = self.arm.cylinder.abs_diff(place.cylinder);
        let switch = if self.arm.head == place.head { 0 } else { self.head_switch };
        match distance {
            0 => switch,
            // Also if the head stays: the layout has one skew for all cylinders.
            1 => self.seek.time(1).max(self.head_switch),
            _ if write => self.seek.time(distance).max(switch) + self.write_settle,
            _ => self.seek.time(distance).max(switch),
        }
    }

    /// Moves the arm and waits until `from` passes the head; returns the phase of a transfer from there. The platters'
    /// angle is the time modulo a revolution.
    fn position(&mut self, begin: u64, from: u64, write: bool) -> i64 {
        let begin = begin.max(self.free);
        self.stop_stream(begin);
        let (place, start) = self.geometry.locate(from);
        let arrival = begin + self.travel(place, write);
        let wait = (start % self.revolution + self.revolution - arrival % self.revolution) % self.revolution;
        self.arm = place;
        self.at = from;
        self.free = arrival + wait;
        self.free as i64 - start as i64
    }

    /// Reads or writes on the medium; sets `free` to the end.
    fn transfer(&mut self, begin: u64, from: u64, to: u64, write: bool) -> i64 {
        let phase = self.position(begin, from, write);
        let (place, end) = self.geometry.locate_end(to);
        self.arm = place;
        self.at = to;
        self.free = (phase + end as i64) as u64;
        phase
    }

    /// When the stream will have filled its segment.
    fn stream_end(&self, stream: &Stream) -> u64 {
        (stream.phase + self.geometry.end(stream.limit) as i64) as u64
    }

    /// The byte that the stream has reached at `time`.
    fn streamed(&self, stream: &Stream, time: u64) -> u64 {
        let since = (time as i64 - stream.phase).max(0) as u64;
        self.geometry.reached(since).clamp(stream.from, stream.limit)
    }

    /// Ends the read-ahead; its data up to `time` is kept, and the arm stays where it is then.
    fn stop_stream(&mut self, time: u64) {
        if let Some(stream) = self.stream.take() {
            let reached = self.streamed(&stream, time);
            let segment = self.buffer.get(stream.segment);
            self.buffer.set(stream.segment, segment.from, reached.max(segment.to));
            if reached > stream.from {
                self.arm = self.geometry.place(reached - 1);
                self.at = reached;
            }
        }
    }

    /// Runs the background work up to `time`. A write begun before then is finished after it.
    fn advance(&mut self, time: u64) {
        while !self.cache.is_empty() {
            let mut begin = self.free.max(self.dirty_from);
            if let Some(stream) = &self.stream {
                begin = begin.max(self.stream_end(stream));
            }
            if begin >= time {
                break;
            }
            self.destage(begin);
        }
        if let Some(stream) = &self.stream {
            let end = self.stream_end(stream);
            if end <= time {
                self.stop_stream(end);
                self.free = self.free.max(end);
            }
        }
    }

    /// Writes the next extent, up to the end of its track, to the medium. Call it only when the previous one is done,
    /// or if no request needs room in between.
    fn destage(&mut self, begin: u64) {
        // A stream may still be moving the arm: its place decides which extent is next.
        self.stop_stream(begin.max(self.free));
        if let Some((from, end)) = self.cache.next(self.at) {
            let to = end.min(self.geometry.track_end(from));
            self.cache.remove(from, to);
            self.transfer(begin, from, to, true);
            self.destaging = Destaging { from, to, until: self.free };
        }
    }

    /// When the write cache has room for `bytes` more, from `time` on.
    fn make_room(&mut self, mut time: u64, bytes: u64) -> u64 {
        loop {
            let under_way = if self.destaging.until > time { self.destaging.to - self.destaging.from } else { 0 };
            if self.cache.bytes() + under_way + bytes <= self.cache_size {
                return time;
            }
            if under_way > 0 {
                time = self.destaging.until;
            } else {
                self.destage(time);
            }
        }
    }

    fn read(&mut self, begin: u64, from: u64, to: u64) -> u64 {
        let by_bus = begin + self.bus(to - from);
        let destaging = self.destaging;
        if self.cache.covers(from, to) || (destaging.until > begin && destaging.from <= from && to <= destaging.to) {
            return by_bus;
        }
        self.read_from_stream(begin, from, to)
            .or_else(|| self.read_from_buffer(begin, from, to))
            .unwrap_or_else(|| {
                let phase = self.transfer(begin, from, to, false);
                let segment = self.buffer.oldest();
                self.buffer.set(segment, from, to);
                self.stream_on(segment, phase, from, to);
                self.free
            })
            .max(by_bus)
    }

    /// If the read-ahead has the data, or will have it within a revolution, which is as soon as any other way.
    fn read_from_stream(&mut self, begin: u64, from: u64, to: u64) -> Option<u64> {
        let stream = self.stream.clone()?;
        let segment = self.buffer.get(stream.segment);
        let oldest = self.streamed(&stream, begin).saturating_sub(self.buffer.size());
        let passes = stream.phase + self.geometry.start(from) as i64;
        let joins = from <= stream.from || passes <= (begin + self.revolution) as i64;
        if from < oldest.max(segment.from) || !joins {
            return None;
        }
        // A stream that continues an older segment has the earlier bytes already.
        let end = if to <= stream.from {
            begin
        } else {
            let end = (stream.phase + self.geometry.end(to) as i64) as u64;
            self.free = self.free.max(end);
            end
        };
        self.buffer.touch(stream.segment);
        self.stream_on(stream.segment, stream.phase, stream.from, to.max(stream.asked));
        Some(end)
    }

    /// If a segment at rest holds the data, or its beginning; the rest is then read into the same segment.
    fn read_from_buffer(&mut self, begin: u64, from: u64, to: u64) -> Option<u64> {
        let index = self.buffer.find(from)?;
        if self.stream.as_ref().is_some_and(|stream| stream.segment == index) {
            return None;
        }
        let segment = self.buffer.get(index);
        self.buffer.touch(index);
        if to > segment.to {
            let phase = self.transfer(begin, segment.to, to, false);
            self.buffer.set(index, segment.from, to);
            self.stream_on(index, phase, segment.to, to);
            return Some(self.free);
        }
        // Half consumed and idle: read on, so that the next half is there when it is requested.
        let unread = segment.to - to;
        let idle = self.stream.is_none() && self.cache.is_empty();
        if idle && unread <= self.buffer.size() / 2 && segment.to < self.geometry.capacity() {
            let phase = self.position(begin, segment.to, false);
            self.stream_on(index, phase, segment.to, to);
        }
        Some(begin)
    }

    /// Continues the read that has `phase` until its segment is full of bytes not yet requested.
    fn stream_on(&mut self, segment: usize, phase: i64, from: u64, asked: u64) {
        let limit = (asked + self.buffer.size()).min(self.geometry.capacity());
        self.stream = Some(Stream { segment, phase, from, asked, limit });
    }

    fn write_through(&mut self, begin: u64, from: u64, to: u64) -> u64 {
        // Older cached bytes must not overwrite these later.
        self.cache.remove(from, to);
        self.transfer(begin, from, to, true);
        // The bytes cross the bus while the arm moves.
        self.free.max(begin + self.bus(to - from))
    }

    fn write_back(&mut self, begin: u64, from: u64, to: u64) -> u64 {
        // A request larger than the cache passes through it in pieces.
        let piece = (self.cache_size / 4).max(SECTOR);
        let mut time = begin;
        let mut next = from;
        while next < to {
            let end = to.min(next + piece);
            time = self.make_room(time, end - next) + self.bus(end - next);
            self.advance(time);
            if self.cache.is_empty() {
                self.dirty_from = time;
            }
            self.cache.insert(next, end);
            next = end;
        }
        time
    }

    fn flush(&mut self, begin: u64) -> u64 {
        while !self.cache.is_empty() {
            self.destage(begin);
        }
        begin.max(self.destaging.until)
    }
}

impl Model for Drive {
    fn submit(&mut self, now: u64, request: Request) -> u64 {
        let begin = now.max(self.ready) + self.overhead;
        let capacity = self.geometry.capacity();
        let from = request.offset.min(capacity);
        let to = request.offset.saturating_add(request.length).min(capacity);
        self.advance(begin);
        let done = match request.operation {
            Operation::Read if from < to => self.read(begin, from, to),
            Operation::Write { fua } if from < to => {
                if fua || self.cache_size == 0 {
                    self.write_through(begin, from, to)
                } else {
                    self.write_back(begin, from, to)
                }
            }
            Operation::Flush => self.flush(begin),
            Operation::Read | Operation::Write { .. } | Operation::Trim => begin,
        };
        self.ready = done;
        done
    }

    fn idle_at(&self) -> u64 {
        if self.cache.is_empty() {
            return self.destaging.until;
        }
        let mut future = self.clone();
        future.advance(u64::MAX);
        future.destaging.until
    }
}
