//! Serves a recorded disk: replies in the order and at the times that a policy chooses.

use std::io::{self, IoSlice, Read, Write};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use mountmark_trace::recording::{Event, Policy, Request};

use super::super::nbd::wire::{self, Command, Header};
use super::Disk;

/// How long `Lifo` waits for more, in nanoseconds.
const LULL: u64 = 1_000_000;
/// Most that `Delayed` waits, in nanoseconds.
const LONGEST: u64 = 20_000_000;
/// How long `Held` waits for a flush, in nanoseconds.
const PATIENCE: u64 = 2_000_000_000;

/// A request that has no reply yet.
struct Waiting {
    /// When to reply, in nanoseconds of the guest's clock.
    due: u64,
    /// Replies that are due at one time go by this.
    order: i64,
    /// Its number in the recording, if it is recorded.
    number: Option<u32>,
    handle: [u8; 8],
    error: u32,
    held: bool,
}

/// Serves the disk that is this part of all until the kernel closes the connection.
pub(super) fn serve(mut socket: UnixStream, disk: &Arc<Mutex<Disk>>, part: Range<u64>) -> Result<()> {
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut arrived = 0;
    loop {
        waiting.sort_by_key(|request| (request.due, request.order));
        let limit = waiting.first().map(|next| next.due.saturating_sub(wire::now()));
        // Where nothing waits, reading the next request waits for it.
        if limit.is_none() || wire::readable(&socket, limit)? {
            let Some(header) = Header::read(&mut socket)? else { return Ok(()) };
            arrived += 1;
            let mut disk = disk.lock().unwrap_or_else(PoisonError::into_inner);
            accept(&mut socket, &mut disk, &part, &header, arrived, &mut waiting)?;
        }
        let now = wire::now();
        waiting.sort_by_key(|request| (request.due, request.order));
        let ready = waiting.iter().take_while(|request| request.due <= now).count();
        for request in waiting.drain(..ready) {
            let mut disk = disk.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(number) = request.number {
                disk.note(Event::Done { number, error: request.error as i32 });
            }
            drop(disk);
            socket.write_all(&wire::reply(request.handle, request.error)).context("cannot answer the nbd driver")?;
        }
    }
}

/// Takes one request with its data. A read is answered at once.
fn accept(
    socket: &mut UnixStream,
    disk: &mut Disk,
    part: &Range<u64>,
    header: &Header,
    arrived: i64,
    waiting: &mut Vec<Waiting>,
) -> Result<()> {
    let Header { length, fua, handle, .. } = *header;
    let offset = part.start + header.offset;
    let mut error = 0;
    let request = match header.command {
        Command::Read => {
            if !disk.layer.holds(offset, length) {
                bail!("a read of {length} bytes at {offset}, beyond the end of the disk");
            }
            disk.read(offset, length);
            return answer(socket, &wire::reply(handle, 0), disk.layer.read(offset, length))
                .context("cannot answer the nbd driver");
        }
        Command::Write => {
            let target = disk.layer.write(offset, length);
            let target = target.with_context(|| format!("a write of {length} bytes at {offset}, beyond the end"))?;
            socket.read_exact(target).context("the nbd driver broke off in a write")?;
            let data = disk.log(offset, length);
            Some(Request::Write { offset, length, fua, data })
        }
        Command::Flush if disk.count > 1 => {
            Some(Request::FlushDisk { offset: part.start, length: part.end - part.start })
        }
        Command::Flush => Some(Request::Flush),
        Command::Trim => {
            // A trimmed range may hold anything. While nothing is recorded it keeps what it holds, so that what mkfs trims
            // is still told from zeros.
            if disk.recording.is_some()
                && let Some(target) = disk.layer.write(offset, length)
            {
                target.fill(0);
            }
            Some(Request::Trim { offset, length })
        }
        Command::Zero => {
            let target = disk.layer.write(offset, length);
            let target = target.with_context(|| format!("zeros for {length} bytes at {offset}, beyond the end"))?;
            target.fill(0);
            Some(Request::Zero { offset, length, fua })
        }
        Command::Unknown => {
            error = libc::EINVAL as u32;
            None
        }
    };
    let number = request.and_then(|request| disk.sent(request));
    if number.is_some() && number == disk.fails {
        error = libc::EIO as u32;
    }
    let now = wire::now();
    let writes = matches!(request, Some(Request::Write { .. }));
    let (due, order, held) = match disk.policy {
        Policy::Lifo => (now + LULL, -arrived, false),
        Policy::Delayed { seed } if writes => (now + drawn(seed, arrived as u64) % LONGEST, arrived, false),
        Policy::Held { every } if writes && arrived % i64::from(every.max(1)) == 0 => (now + PATIENCE, arrived, true),
        _ => (now, arrived, false),
    };
    if matches!(disk.policy, Policy::Lifo) {
        // The lull begins anew with each request.
        waiting.iter_mut().for_each(|request| request.due = due);
    }
    if request.is_some_and(|request| request.is_flush()) {
        waiting.iter_mut().filter(|request| request.held).for_each(|request| request.due = now);
    }
    waiting.push(Waiting { due, order, number, handle, error, held });
    Ok(())
}

/// Sends a reply and its data in one call, which wakes the driver once.
fn answer(socket: &mut UnixStream, reply: &[u8], data: &[u8]) -> io::Result<()> {
    let sent = match socket.write_vectored(&[IoSlice::new(reply), IoSlice::new(data)]) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
        sent => sent?,
    };
    match sent.checked_sub(reply.len()) {
        Some(sent) => socket.write_all(&data[sent..]),
        None => {
            socket.write_all(&reply[sent..])?;
            socket.write_all(data)
        }
    }
}

/// A number drawn for the request `index` (splitmix64).
fn drawn(seed: u64, index: u64) -> u64 {
    let mut mixed = seed.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
