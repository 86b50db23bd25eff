//! A modelled disk: the kernel's nbd driver on one end of a socket pair, our server on the other.
//!
//! The server holds the medium, asks the model when each request completes, and replies at that time of the guest's
//! clock. FLUSH, FUA and TRIM arrive as the file system sent them. Protocol: the kernel's include/uapi/linux/nbd.h.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mountmark_disk::{DiskModel, Model, Operation, Request};
use mountmark_model::device::DeviceOperation;
use mountmark_trace::Completed;
use rustix::net::RecvFlags;

use super::media::Medium;
use super::netlink;

const FLAG_HAS_FLAGS: u64 = 1 << 0;
const FLAG_SEND_FLUSH: u64 = 1 << 2;
const FLAG_SEND_FUA: u64 = 1 << 3;
const FLAG_SEND_TRIM: u64 = 1 << 5;

const REQUEST_MAGIC: u32 = 0x2560_9513;
const REPLY_MAGIC: u32 = 0x6744_6698;
const COMMAND_FUA: u32 = 1 << 16;

const SECTOR: u64 = 512;
/// The driver sends a write's data in pieces of this size.
const PAGE: u64 = 4096;
/// For fewer pages than this a timer costs more than a wake-up per page.
const WORTH_A_TIMER: u64 = 2;

/// Hands one end of a socket pair to the device /dev/nbd`index` and returns the other. The device lasts as long as
/// both; no process holds it open.
pub fn attach(index: u32, size: u64, trim: bool) -> Result<UnixStream> {
    let (kernel_end, server_end) = UnixStream::pair().context("cannot make a socket pair")?;
    for end in [&kernel_end, &server_end] {
        let bytes: libc::c_int = 4 << 20;
        // SAFETY: the pointer and length describe one integer that outlives the call.
        unsafe {
            for option in [libc::SO_SNDBUFFORCE, libc::SO_RCVBUFFORCE] {
                libc::setsockopt(end.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const bytes).cast(), 4);
            }
        }
    }
    let trim = if trim { FLAG_SEND_TRIM } else { 0 };
    let flags = FLAG_HAS_FLAGS | FLAG_SEND_FLUSH | FLAG_SEND_FUA | trim;
    let socket = kernel_end.as_fd();
    netlink::connect(&netlink::Connection { index, size, block_size: SECTOR, flags, socket })
        .with_context(|| format!("cannot make /dev/nbd{index}"))?;
    Ok(server_end)
}

/// Whether to answer `setup` requests, which lay out inputs before the measurement, at once.
pub trait Instant {
    /// True while nothing is measured.
    fn instant(&self) -> bool;
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
    instant: &dyn Instant,
    observer: Option<&dyn Observer>,
) -> Result<()> {
    let mut server =
        Server { model: model.start(), waiting: BinaryHeap::new(), number: 0, coming: None, pace: Pace::default() };
    loop {
        let limit = server.waiting.peek().map(|Reverse(next)| next.due.saturating_sub(now()));
        if server.coming.is_some() {
            server.gather(&socket, &mut medium, limit)?;
        } else if readable(&socket, limit)? {
            match server.accept(&mut socket, &medium, instant.instant())? {
                Some(arrival) => observer.iter().for_each(|observer| observer.arrive(arrival)),
                None => return Ok(()),
            }
        }
        while let Some(Reverse(next)) = server.waiting.peek() {
            let time = now();
            if next.due > time {
                break;
            }
            let Reverse(done) = server.waiting.pop().expect("peeked");
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
}

/// A request that is not yet due. Ordered by time, then by arrival.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    due: u64,
    number: u64,
    handle: [u8; 8],
    request: Completed,
    error: u32,
}

/// A write of which `here` bytes have reached the medium.
struct Coming {
    write: Waiting,
    here: u64,
    /// Whether the driver sent nothing in the time it was given: another thread has the processor.
    stalled: bool,
}

impl Server {
    /// Reads one request from the socket and returns its arrival time; `None` if the kernel has closed the socket.
    fn accept(&mut self, socket: &mut UnixStream, medium: &Medium, instant: bool) -> Result<Option<u64>> {
        let mut header = [0; 28];
        match socket.read_exact(&mut header) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error).context("cannot read from the nbd driver"),
        }
        let arrival = now();
        let word = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().expect("four bytes"));
        if word(0) != REQUEST_MAGIC {
            bail!("the nbd driver sent {:#x} where a request should begin", word(0));
        }
        let command = word(4);
        let offset = u64::from_be_bytes(header[16..24].try_into().expect("eight bytes"));
        let length = u64::from(word(24));
        let fua = command & COMMAND_FUA != 0;
        let mut error = 0;
        let operation = match command & 0xffff {
            0 => Operation::Read,
            1 => Operation::Write { fua },
            2 => return Ok(None),
            3 => Operation::Flush,
            4 => Operation::Trim,
            _ => {
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
            Some(model) if !instant => model.submit(arrival, Request { operation, offset, length }),
            _ => arrival,
        };
        self.number += 1;
        let handle = header[8..16].try_into().expect("eight bytes");
        let request = Completed { operation: kind, offset, length, arrival };
        let waiting = Waiting { due, number: self.number, handle, request, error };
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
        let target = medium.slice_mut(offset + coming.here, left).expect("looked at when it came");
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
    let mut header = [0; 16];
    header[..4].copy_from_slice(&REPLY_MAGIC.to_be_bytes());
    header[4..8].copy_from_slice(&done.error.to_be_bytes());
    header[8..].copy_from_slice(&done.handle);
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

/// CLOCK_MONOTONIC of the guest in nanoseconds.
fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Waits until the socket is readable or `nanoseconds` have passed.
fn readable(socket: &UnixStream, nanoseconds: Option<u64>) -> Result<bool> {
    use rustix::event::{PollFd, PollFlags, poll};
    let timeout = nanoseconds
        .map(Duration::from_nanos)
        .map(|d| rustix::time::Timespec { tv_sec: d.as_secs() as i64, tv_nsec: i64::from(d.subsec_nanos()) });
    let mut fds = [PollFd::new(socket, PollFlags::IN)];
    match poll(&mut fds, timeout.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error).context("cannot wait for the nbd driver"),
    }
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
