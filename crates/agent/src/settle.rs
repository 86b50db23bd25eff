//! Waits until the machine has finished all work that the last task caused.

use std::fs;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use mountmark_job::Device;

use super::probes::{Counters, DeviceCounters, now};

/// The machine must be idle for this long to count as settled.
pub const QUIET: Duration = Duration::from_secs(1);
/// After this time the next task starts anyway, and the record notes it.
pub const LIMIT: Duration = Duration::from_secs(600);
/// Between two polls.
const INTERVAL: Duration = Duration::from_millis(100);
/// Kernel threads that work for a file system at intervals longer than [`QUIET`] until they are done.
const WORKERS: [&str; 1] = ["ext4lazyinit"];

pub struct Settled {
    /// Nanoseconds from the call until the last sign of work.
    pub took: u64,
    /// Counters afterwards.
    pub counters: Counters,
    /// [`work_of`] the devices at rest; `None` if they were not, or that is not known.
    pub rest: Option<Vec<[u64; 4]>>,
    /// Work still going on when the limit passed.
    pub unfinished: Option<String>,
}

/// Waits until nothing is dirty, under write-back or in flight, no worker is left, and the device has been idle for
/// [`QUIET`]. `exclusive`: dirty pages and kernel threads all belong to the cell.
///
/// Some file systems dirty pages again while they are synced (jfs), or keep pages dirty that only their journal may
/// write (reiserfs). So if everything else is idle and pages are still dirty, they are synced once more; pages that
/// stay dirty even then will not be written, and do not count.
pub fn settle(devices: &[&Device], servers: &[u32], exclusive: bool) -> Result<Settled> {
    let begin = now();
    let mut last_sign = begin;
    let mut before = read_all(devices)?;
    let mut pinned = 0;
    let mut unfinished = None;
    while now() - last_sign < QUIET.as_nanos() as u64 {
        thread::sleep(INTERVAL);
        let counters = read_all(devices)?;
        let time = now();
        let sign = if before != counters {
            Some("requests at the device".to_owned())
        } else if counters.iter().any(|counters| counters.in_flight > 0) {
            Some("requests in flight".to_owned())
        } else if time - last_sign < QUIET.as_nanos() as u64 {
            None
        } else {
            // The expensive checks run only when the device has been idle for long enough.
            let worker = || exclusive.then(worker).flatten().map(|name| format!("the kernel thread {name}"));
            dirty_sign(exclusive, &mut pinned).or_else(worker)
        };
        before = counters;
        if sign.is_some() {
            last_sign = time;
            if time - begin > LIMIT.as_nanos() as u64 {
                unfinished = sign;
                break;
            }
        }
    }
    // In a guest waiting once more costs nothing.
    let rest = if exclusive || unfinished.is_some() { None } else { work_in(devices, &before) };
    Ok(Settled { took: last_sign - begin, counters: Counters::read(devices[0], servers)?, rest, unfinished })
}

/// Syncs dirty pages beyond those that an earlier sync left; a sign of work if there were any.
fn dirty_sign(exclusive: bool, pinned: &mut u64) -> Option<String> {
    let dirty = if exclusive { dirty_kib() } else { 0 };
    if dirty <= *pinned {
        return None;
    }
    rustix::fs::sync();
    let left = dirty_kib();
    *pinned = if left >= dirty { left } else { 0 };
    Some(format!("{dirty} KiB of dirty pages"))
}

/// What the devices have done so far; `None` if the kernel does not count what one does.
pub fn work_of(devices: &[&Device]) -> Result<Option<Vec<[u64; 4]>>> {
    Ok(work_in(devices, &read_all(devices)?))
}

fn work_in(devices: &[&Device], counters: &[DeviceCounters]) -> Option<Vec<[u64; 4]>> {
    let work: Vec<_> = counters.iter().map(DeviceCounters::work).collect();
    let is_counted = |(device, work): (&&Device, &[u64; 4])| *work != [0; 4] && is_counting(&device.name);
    devices.iter().zip(&work).all(is_counted).then_some(work)
}

/// Whether `queue/iostats` of a device, or of the disk that a partition is of, is on.
fn is_counting(name: &str) -> bool {
    let read = |folder: &str| fs::read_to_string(format!("/sys/class/block/{name}/{folder}queue/iostats"));
    read("").or_else(|_| read("../")).is_ok_and(|text| text.trim() == "1")
}

fn read_all(devices: &[&Device]) -> Result<Vec<DeviceCounters>> {
    devices.iter().map(|device| DeviceCounters::read(&device.name)).collect()
}

/// Dirty pages and pages under write-back, in KiB.
fn dirty_kib() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let fields = text.lines().filter(|line| {
        line.starts_with("Dirty:") || line.starts_with("Writeback:") || line.starts_with("WritebackTmp:")
    });
    fields.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).sum()
}

fn worker() -> Option<String> {
    let processes = fs::read_dir("/proc").ok()?;
    processes.flatten().find_map(|entry| {
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let comm = fs::read_to_string(entry.path().join("comm")).ok()?;
        WORKERS.contains(&comm.trim()).then(|| comm.trim().to_owned())
    })
}
