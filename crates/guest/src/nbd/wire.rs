//! The nbd driver's messages: the kernel's include/uapi/linux/nbd.h.

use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::super::netlink;

const FLAG_HAS_FLAGS: u64 = 1 << 0;
const FLAG_SEND_FLUSH: u64 = 1 << 2;
const FLAG_SEND_FUA: u64 = 1 << 3;
const FLAG_SEND_TRIM: u64 = 1 << 5;
/// Linux before 6.12 has no such request, and ignores the flag.
const FLAG_SEND_WRITE_ZEROES: u64 = 1 << 6;

const REQUEST_MAGIC: u32 = 0x2560_9513;
const REPLY_MAGIC: u32 = 0x6744_6698;
const COMMAND_FUA: u32 = 1 << 16;
/// Size of a reply without data, in bytes.
pub(crate) const REPLY: usize = 16;

const SECTOR: u64 = 512;

/// Requests that a disk takes beyond reads and writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    /// Flushes and FUA: whether it says that it has a volatile cache.
    pub flushes: bool,
    pub trims: bool,
    pub zeros: bool,
}

/// Hands one end of a socket pair to the device /dev/nbd`index` and returns the other. The device lasts as long as
/// both; no process holds it open.
pub(crate) fn attach(index: u32, size: u64, offer: Offer) -> Result<UnixStream> {
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
    let offered = [
        (offer.flushes, FLAG_SEND_FLUSH | FLAG_SEND_FUA),
        (offer.trims, FLAG_SEND_TRIM),
        (offer.zeros, FLAG_SEND_WRITE_ZEROES),
    ];
    let offered = offered.iter().filter(|(is_offered, _)| *is_offered);
    let flags = offered.fold(FLAG_HAS_FLAGS, |flags, (_, flag)| flags | flag);
    let socket = kernel_end.as_fd();
    netlink::connect(&netlink::Connection { index, size, block_size: SECTOR, flags, socket })
        .with_context(|| format!("cannot make /dev/nbd{index}"))?;
    Ok(server_end)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Read,
    Write,
    Flush,
    Trim,
    /// Fills a range with zeros.
    Zero,
    /// One that we did not offer.
    Unknown,
}

/// A request without its data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub command: Command,
    pub fua: bool,
    /// Bytes from the start of the disk.
    pub offset: u64,
    /// In bytes.
    pub length: u64,
    /// The driver's name for the request.
    pub handle: [u8; 8],
}

impl Header {
    /// The next request; `None` if the kernel has closed the connection.
    pub fn read(socket: &mut UnixStream) -> Result<Option<Header>> {
        let mut header = [0; 28];
        match socket.read_exact(&mut header) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error).context("cannot read from the nbd driver"),
        }
        let word = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().expect("four bytes"));
        if word(0) != REQUEST_MAGIC {
            bail!("the nbd driver sent {:#x} where a request should begin", word(0));
        }
        let flags = word(4);
        let command = match flags & 0xffff {
            0 => Command::Read,
            1 => Command::Write,
            2 => return Ok(None),
            3 => Command::Flush,
            4 => Command::Trim,
            6 => Command::Zero,
            _ => Command::Unknown,
        };
        Ok(Some(Header {
            command,
            fua: flags & COMMAND_FUA != 0,
            offset: u64::from_be_bytes(header[16..24].try_into().expect("eight bytes")),
            length: u64::from(word(24)),
            handle: header[8..16].try_into().expect("eight bytes"),
        }))
    }
}

/// The reply to the request `handle`: 0 or an errno. The data of a read follow.
pub(crate) fn reply(handle: [u8; 8], error: u32) -> [u8; REPLY] {
    let mut header = [0; REPLY];
    header[..4].copy_from_slice(&REPLY_MAGIC.to_be_bytes());
    header[4..8].copy_from_slice(&error.to_be_bytes());
    header[8..].copy_from_slice(&handle);
    header
}

/// CLOCK_MONOTONIC of the guest in nanoseconds.
pub(crate) fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Waits until the socket is readable or `nanoseconds` have passed.
pub(crate) fn readable(socket: &UnixStream, nanoseconds: Option<u64>) -> Result<bool> {
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
