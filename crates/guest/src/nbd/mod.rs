//! A modelled disk: the kernel's nbd driver on one end of a socket pair, our server on the other.
//!
//! The server holds the medium, asks the model when each request completes, and replies at that time of the guest's
//! clock. FLUSH, FUA and TRIM arrive as the file system sent them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{IoSlice, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mountmark_disk::{DiskModel, Model, Operation, Request};
use mountmark_job::mark;
use mountmark_model::device::DeviceOperation;
use mountmark_trace::Completed;
use rustix::net::RecvFlags;

mod volatile;
pub(super) mod wire;

use super::media::Medium;
use volatile::{Mark, Volatile};
use wire::{Command, Header, now, readable};
pub(super) use wire::{Offer, attach};

/// The driver sends a write's data in pieces of this size.
const PAGE: u64 = 4096;
/// For fewer pages than this a timer costs more than a wake-up per page.
const WORTH_A_TIMER: u64 = 2;

/// What process 1 wants of the server.
pub trait Orders {
    /// Whether to answer requests, which lay out inputs before the measurement, at once.
    fn instant(&self) -> bool;

    /// What to do about the power, until the server says that it is done.
    fn power(&self) -> Option<Power>;

    /// The last order about the power is carried out.
    fn obeyed(&self);
}

/// An order about the power of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// Remember what a cut takes away.
    Watch,
    /// Lose what is under way, and answer at once what comes.
    Cut,
    /// Bring back what the medium held at the cut, and begin anew as a drive does.
    Restore {
        /// Without what was not durable.
        cache_lost: bool,
    },
}

pub trait Observer {
    /// A request arrived at time `at`.
    fn arrive(&self, at: u64);
    /// A request was answered at time `at`.
    fn complete(&self, at: u64, request: &Completed);
}

/// Serves one disk until the kernel closes the socket.
pub fn serve(
    mut socket: UnixStream,
    mut medium: Medium,
    model: &DiskModel,
    undo: Option<Medium>,
    orders: &dyn Orders,
    observer: Option<&dyn Observer>,
) -> Result<()> {
    let mut server = Server {
        model: model.start(),
        waiting: BinaryHeap::new(),
        number: 0,
        coming: None,
        pace: Pace::default(),
        volatile: None,
    };
    loop {
        mark::serves(server.works_on(), observer.is_some());
        let limit = server.waiting.peek().map(|Reverse(next)| next.due.saturating_sub(now()));
        if server.coming.is_some() {
            server.gather(&socket, &mut medium, limit)?;
        } else if readable(&socket, limit)? {
            server.obey(orders, model, undo, &mut medium)?;
            match server.accept(&mut socket, &medium, orders.instant())? {
                Some(arrival) => observer.iter().for_each(|observer| observer.arrive(arrival)),
                None => return Ok(()),
            }
        }
        server.obey(orders, model, undo, &mut medium)?;
        while let Some(Reverse(next)) = server.waiting.peek() {
            let time = now();
            if next.due > time {
                break;
            }
            let Reverse(done) = server.waiting.pop().expect("peeked");
            server.complete(&mut medium, &done)?;
            reply(&mut socket, &medium, &done)?;
            observer.iter().for_each(|observer| observer.complete(time, &done.request));
        }
    }
}

struct Server {
    model: Option<Box<dyn Model>>,
    waiting: BinaryHeap<Reverse<Waiting>>,
    number: u64,
    /// The write whose data the driver is sending; it sends no other request before that is done.
    coming: Option<Coming>,
    pace: Pace,
    /// While the power is watched or cut.
    volatile: Option<Volatile>,
}

/// A request that is not yet due. Ordered by time, then by arrival.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    due: u64,
    number: u64,
    handle: [u8; 8],
    request: Completed,
    error: u32,
    held: Held,
}

/// What of a request waits for its reply, while the power is watched.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    /// Of a write.
    data: Option<Vec<u8>>,
    fua: bool,
    /// Of a flush.
    mark: Option<Mark>,
}

/// A write of which `here` bytes have reached the medium.
struct Coming {
    write: Waiting,
    here: u64,
    /// Whether the driver sent nothing in the time it was given: another thread has the processor.
    stalled: bool,
}

impl Server {
    /// What is to be answered next, and the byte at which it begins.
    fn works_on(&self) -> Option<(DeviceOperation, u64)> {
        let due = self.waiting.peek().map(|Reverse(next)| &next.request);
        let next = due.or(self.coming.as_ref().map(|coming| &coming.write.request))?;
        Some((next.operation, next.offset))
    }

    /// Carries out what process 1 wants of the power.
    fn obey(
        &mut self,
        orders: &dyn Orders,
        model: &DiskModel,
        undo: Option<Medium>,
        medium: &mut Medium,
    ) -> Result<()> {
        match orders.power() {
            None => return Ok(()),
            Some(Power::Watch) => {
                self.volatile =
                    Some(Volatile::new(undo.context("this disk has no room for what a power cut takes back")?));
            }
            // What is under way is in no version that the medium held.
            Some(Power::Cut) => self.volatile.as_mut().context("the power of this disk is not watched")?.cut(),
            Some(Power::Restore { cache_lost }) => {
                if !self.waiting.is_empty() || self.coming.is_some() {
                    bail!("the power of a disk comes back while something still uses it");
                }
                let volatile = self.volatile.take().context("the power of this disk was not cut")?;
                volatile.restore(medium, cache_lost)?;
                self.model = model.start();
            }
        }
        orders.obeyed();
        Ok(())
    }

    /// What a request does to the medium when it is replied to.
    fn complete(&mut self, medium: &mut Medium, done: &Waiting) -> Result<()> {
        let Some(volatile) = &mut self.volatile else { return Ok(()) };
        if let Some(data) = &done.held.data {
            volatile.write(medium, done.request.offset, data, done.held.fua)?;
        }
        if let Some(mark) = done.held.mark {
            volatile.flush_completes(mark);
        }
        Ok(())
    }

    /// Reads one request from the socket and returns its arrival time; `None` if the kernel has closed the socket.
    fn accept(&mut self, socket: &mut UnixStream, medium: &Medium, instant: bool) -> Result<Option<u64>> {
        let Some(header) = Header::read(socket)? else { return Ok(None) };
        let arrival = now();
        let Header { fua, offset, length, handle, .. } = header;
        let mut error = 0;
        let operation = match header.command {
            Command::Read => Operation::Read,
            Command::Write => Operation::Write { fua },
            Command::Flush => Operation::Flush,
            Command::Trim => Operation::Trim,
            // The modelled disks do not offer zeros.
            Command::Zero | Command::Unknown => {
                error = libc::EINVAL as u32;
                Operation::Flush
            }
        };
        let kind = match operation {
            Operation::Read => DeviceOperation::Read,
            Operation::Write { .. } => DeviceOperation::Write,
            Operation::Flush => DeviceOperation::Flush,
            Operation::Trim => DeviceOperation::Discard,
        };
        let moves = matches!(kind, DeviceOperation::Read | DeviceOperation::Write);
        if moves && medium.slice(offset, length).is_none() {
            bail!("a {kind:?} of {length} bytes at {offset}, beyond the end of the medium");
        }
        let due = match &mut self.model {
            Some(model) if !instant && !self.volatile.as_ref().is_some_and(Volatile::is_cut) => {
                model.submit(arrival, Request { operation, offset, length })
            }
            _ => arrival,
        };
        self.number += 1;
        let request =
            Completed { operation: kind, offset, length, fua: fua && kind == DeviceOperation::Write, arrival };
        let mut held = Held { fua, ..Held::default() };
        if let Some(volatile) = &mut self.volatile {
            held.data = (kind == DeviceOperation::Write).then(|| vec![0; length as usize]);
            held.mark = (header.command == Command::Flush).then(|| volatile.flush_arrives());
        }
        let waiting = Waiting { due, number: self.number, handle, request, error, held };
        if kind == DeviceOperation::Write {
            self.coming = Some(Coming { write: waiting, here: 0, stalled: false });
        } else {
            self.waiting.push(Reverse(waiting));
        }
        Ok(Some(arrival))
    }

    /// Waits for a write's data, at most `limit` nanoseconds, and reads what has arrived.
    ///
    /// The driver sends page by page, and each page would wake this thread, which preempts the driver: of 5.8 s that a
    /// write of 400 MB took on a 500 MHz processor, one went into that. So this waits as long as the driver should
    /// need.
    fn gather(&mut self, socket: &UnixStream, medium: &mut Medium, limit: Option<u64>) -> Result<()> {
        let Some(coming) = &mut self.coming else { return Ok(()) };
        let Completed { offset, length, .. } = coming.write.request;
        let left = length - coming.here;
        let pages = left.div_ceil(PAGE);
        let timed = pages >= WORTH_A_TIMER && !coming.stalled;
        if timed {
            thread::sleep(Duration::from_nanos(self.pace.of(pages).min(limit.unwrap_or(u64::MAX))));
        } else if !readable(socket, limit)? {
            return Ok(());
        }
        let target = match &mut coming.write.held.data {
            Some(data) => &mut data[coming.here as usize..],
            None => medium.slice_mut(offset + coming.here, left).expect("looked at when it came"),
        };
        let came = match rustix::net::recv(socket, target, RecvFlags::DONTWAIT) {
            Ok((0, _)) => bail!("the nbd driver broke off in a write"),
            Ok((_, came)) => came as u64,
            Err(rustix::io::Errno::AGAIN) => 0,
            Err(error) => return Err(error).context("the nbd driver broke off in a write"),
        };
        if timed && came > 0 {
            self.pace.learn(came == left);
        }
        coming.here += came;
        coming.stalled = came == 0;
        if came == left {
            self.waiting.extend(self.coming.take().map(|coming| Reverse(coming.write)));
        }
        Ok(())
    }
}

/// How fast the driver sends, in nanoseconds per page.
///
/// Too low an estimate costs one extra wake-up; too high delays the reply. So one observation changes it little,
/// whatever held the driver up.
struct Pace(u64);

impl Default for Pace {
    fn default() -> Pace {
        Pace(4_000)
    }
}

impl Pace {
    fn of(&self, pages: u64) -> u64 {
        self.0 * pages
    }

    /// Whether `all` pages arrived in the time it allowed.
    fn learn(&mut self, all: bool) {
        let step = self.0 / 16;
        self.0 = if all { self.0 - step } else { self.0 + step }.clamp(500, 50_000);
    }
}

fn reply(socket: &mut UnixStream, medium: &Medium, done: &Waiting) -> Result<()> {
    let header = wire::reply(done.handle, done.error);
    let Completed { operation, offset, length, .. } = done.request;
    if operation != DeviceOperation::Read {
        return socket.write_all(&header).context("cannot answer the nbd driver");
    }
    let data = medium.slice(offset, length).expect("looked at when it came");
    let sent = socket.write_vectored(&[IoSlice::new(&header), IoSlice::new(data)])?;
    socket.write_all(&header[sent.min(header.len())..])?;
    socket.write_all(&data[sent.saturating_sub(header.len())..])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests whose pages take the driver `each` nanoseconds apiece.
    fn learned(pace: &mut Pace, each: u64) -> u64 {
        for _ in 0..200 {
            pace.learn(pace.0 >= each);
        }
        pace.0
    }

    #[test]
    fn the_pace_is_the_drivers_within_a_sixteenth_and_follows_it() {
        let mut pace = Pace::default();
        for each in [1_500, 9_000, 3_000, 40_000, 700] {
            let found = learned(&mut pace, each);
            assert!((each * 15 / 16 - 1..=each * 17 / 16).contains(&found), "{found} for {each}");
        }
    }

    #[test]
    fn a_driver_that_never_runs_cannot_make_the_disk_wait_for_long() {
        let mut pace = Pace::default();
        assert_eq!(learned(&mut pace, u64::MAX), 50_000);
        assert_eq!(learned(&mut pace, 0), 500);
    }
}
