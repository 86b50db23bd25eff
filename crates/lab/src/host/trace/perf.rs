//! Perf events of the two block trace points, one pair and one ring buffer per processor: perf_event_open(2).

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use anyhow::{Context, Result, bail};
use rustix::mount::MountFlags;

use super::event::Layout;

const TYPE_TRACEPOINT: u32 = 2;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_RAW: u64 = 1 << 10;
const FLAG_DISABLED: u64 = 1 << 0;
const FLAG_WATERMARK: u64 = 1 << 14;
const FLAG_USE_CLOCKID: u64 = 1 << 25;
const OPEN_CLOEXEC: libc::c_ulong = 1 << 3;
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;
const SET_OUTPUT: libc::c_ulong = 0x2405;
const SET_FILTER: libc::c_ulong = 0x4008_2406;
const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;
/// Bytes of a processor's ring: some twelve thousand records.
const RING: usize = 1 << 20;
/// Offsets of `data_head` and `data_tail` in `struct perf_event_mmap_page`.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

/// `struct perf_event_attr` of include/uapi/linux/perf_event.h up to its fifth version.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    bp_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clockid: i32,
    sample_regs_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

/// The trace points' layouts, from the tracing file system.
pub(super) struct TracePoints {
    /// A request is passed to the driver.
    pub issue: Layout,
    /// A request, or a part of one, completes.
    pub complete: Layout,
}

impl TracePoints {
    /// Finds the mounted tracing file system, or mounts it on `mount_point`.
    pub(super) fn find(mount_point: &Path) -> Result<TracePoints> {
        let places = [Path::new("/sys/kernel/tracing"), Path::new("/sys/kernel/debug/tracing"), mount_point];
        let mut place = places.into_iter().find(|place| place.join("events/block").is_dir());
        if place.is_none() {
            fs::create_dir_all(mount_point)?;
            rustix::mount::mount("tracefs", mount_point, "tracefs", MountFlags::empty(), None)
                .context("the kernel's tracing file system cannot be mounted")?;
            place = Some(mount_point);
        }
        let events = place.unwrap_or(mount_point).join("events/block");
        let layout = |name: &str| {
            let path = events.join(name).join("format");
            let text = fs::read_to_string(&path).with_context(|| format!("this kernel has no trace point {name}"))?;
            Layout::parse(&text).with_context(|| format!("trace point {name}"))
        };
        Ok(TracePoints { issue: layout("block_rq_issue")?, complete: layout("block_rq_complete")? })
    }
}

/// One processor's ring of records.
struct Ring {
    memory: *mut u8,
    issue: OwnedFd,
    complete: OwnedFd,
}

pub(super) struct Events {
    rings: Vec<Ring>,
}

/// A record of a trace point; `time` is in nanoseconds of CLOCK_MONOTONIC.
pub(super) struct Sample {
    pub time: u64,
    pub bytes: Vec<u8>,
}

impl Events {
    /// Opens the events of requests at the device with this number; they are disabled.
    pub(super) fn open(points: &TracePoints, device: u32) -> Result<Events> {
        let filter = CString::new(format!("dev == {device}"))?;
        let rings: Result<Vec<Ring>> = processors()?.into_iter().map(|cpu| Ring::open(points, &filter, cpu)).collect();
        Ok(Events { rings: rings? })
    }

    /// Starts or stops recording.
    pub(super) fn enable(&self, on: bool) -> Result<()> {
        for event in self.rings.iter().flat_map(|ring| [&ring.issue, &ring.complete]) {
            control(event, if on { ENABLE } else { DISABLE }, 0)?;
        }
        Ok(())
    }

    /// Descriptors to poll: readable when a ring is half full.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = &OwnedFd> {
        self.rings.iter().map(|ring| &ring.issue)
    }

    /// Removes all records, in each processor's own order; returns how many the kernel has lost for lack of room.
    pub(super) fn take(&self, samples: &mut Vec<Sample>) -> u64 {
        self.rings.iter().map(|ring| ring.take(samples)).sum()
    }
}

impl Ring {
    fn open(points: &TracePoints, filter: &CString, cpu: i32) -> Result<Ring> {
        let (issue, complete) = (open(points.issue.id, cpu)?, open(points.complete.id, cpu)?);
        for event in [&issue, &complete] {
            control(event, SET_FILTER, filter.as_ptr() as libc::c_ulong)?;
        }
        // SAFETY: a new mapping at an address the kernel chooses; it stays until the process ends.
        let memory = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(ptr::null_mut(), 4096 + RING, access, libc::MAP_SHARED, issue.as_raw_fd(), 0)
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error()).context("there is no memory for the kernel's records");
        }
        control(&complete, SET_OUTPUT, issue.as_raw_fd() as libc::c_ulong)?;
        Ok(Ring { memory: memory.cast(), issue, complete })
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: aligned words of the first page of the mapping, which the kernel writes atomically.
        unsafe { &*self.memory.add(offset).cast::<AtomicU64>() }
    }

    fn take(&self, samples: &mut Vec<Sample>) -> u64 {
        let head = self.position(HEAD).load(Ordering::Acquire);
        let mut tail = self.position(TAIL).load(Ordering::Relaxed);
        let mut lost = 0;
        while tail < head {
            let header = self.copy(tail, 8);
            let kind = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
            let size = u64::from(u16::from_le_bytes([header[6], header[7]]));
            if size < 8 {
                break;
            }
            let body = self.copy(tail + 8, size as usize - 8);
            let word = |at: usize| body.get(at..at + 8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes")));
            match kind {
                RECORD_LOST => lost += word(8).unwrap_or(0),
                RECORD_SAMPLE => {
                    if let (Some(time), Some(raw)) = (word(0), body.get(12..)) {
                        samples.push(Sample { time, bytes: raw.to_vec() });
                    }
                }
                _ => {}
            }
            tail += size;
        }
        fence(Ordering::SeqCst);
        self.position(TAIL).store(head, Ordering::Release);
        lost
    }

    /// Bytes from a position on, wrapping at the ring's end.
    fn copy(&self, position: u64, length: usize) -> Vec<u8> {
        let start = position as usize % RING;
        let first = length.min(RING - start);
        let mut out = vec![0; length];
        // SAFETY: both parts lie in the ring behind the first page, and the kernel does not write between tail and
        // head.
        unsafe {
            let ring = self.memory.add(4096);
            ptr::copy_nonoverlapping(ring.add(start), out.as_mut_ptr(), first);
            ptr::copy_nonoverlapping(ring, out.as_mut_ptr().add(first), length - first);
        }
        out
    }
}

fn open(trace_point: u16, cpu: i32) -> Result<OwnedFd> {
    let attributes = Attributes {
        kind: TYPE_TRACEPOINT,
        size: size_of::<Attributes>() as u32,
        config: trace_point.into(),
        sample_period: 1,
        sample_type: SAMPLE_TIME | SAMPLE_RAW,
        flags: FLAG_DISABLED | FLAG_WATERMARK | FLAG_USE_CLOCKID,
        wakeup_watermark: RING as u32 / 2,
        clockid: libc::CLOCK_MONOTONIC,
        ..Attributes::default()
    };
    // SAFETY: the attributes outlive the call; the other arguments are numbers (all processes, this processor, no
    // group).
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attributes, -1, cpu, -1, OPEN_CLOEXEC) as libc::c_int
    };
    if fd < 0 {
        return Err(io::Error::last_os_error()).context("the kernel refuses perf events");
    }
    // SAFETY: the descriptor is new and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn control(event: &OwnedFd, request: libc::c_ulong, argument: libc::c_ulong) -> Result<()> {
    // SAFETY: these requests take a number, or a string that outlives the call.
    if unsafe { libc::ioctl(event.as_raw_fd(), request, argument) } < 0 {
        bail!("perf ioctl {request:#x} failed: {}", io::Error::last_os_error());
    }
    Ok(())
}

/// The processors online, from a list such as `0-3,6`.
fn processors() -> Result<Vec<i32>> {
    let path = "/sys/devices/system/cpu/online";
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    parse_list(text.trim()).with_context(|| format!("{path} holds {text:?}"))
}

fn parse_list(text: &str) -> Option<Vec<i32>> {
    let mut out = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        out.extend(first.parse::<i32>().ok()?..=last.parse::<i32>().ok()?);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_read() {
        assert_eq!(parse_list("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!((parse_list("7"), parse_list("")), (Some(vec![7]), None));
        assert_eq!(size_of::<Attributes>(), 112, "PERF_ATTR_SIZE_VER5");
    }
}
