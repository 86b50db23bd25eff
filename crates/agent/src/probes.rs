//! The kernel's counters: time, processor, device.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use mountmark_job::Device;
use mountmark_model::Metric;

/// CLOCK_MONOTONIC of this kernel in nanoseconds.
pub fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[derive(Clone, Debug)]
pub struct Counters {
    /// Nanoseconds of processor time of everything but the disks' servers.
    pub busy: u64,
    pub device: DeviceCounters,
}

/// `/sys/class/block/NAME/stat` (Documentation/block/stat.rst); sectors are 512 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    pub reads: u64,
    pub read_sectors: u64,
    /// Sum over reads, in milliseconds.
    pub read_time: u64,
    pub writes: u64,
    pub written_sectors: u64,
    /// Sum over writes, in milliseconds.
    pub write_time: u64,
    pub in_flight: u64,
    /// Milliseconds with requests in flight.
    pub busy_time: u64,
    /// Sum over all requests, in milliseconds.
    pub queue_time: u64,
    pub discards: u64,
    pub discarded_sectors: u64,
    /// Sum over discards, in milliseconds.
    pub discard_time: u64,
    pub flushes: u64,
    /// Sum over flushes, in milliseconds.
    pub flush_time: u64,
}

impl Counters {
    /// Reads all counters now; `servers` are processes that stand for hardware.
    pub fn read(device: &Device, servers: &[u32]) -> Result<Counters> {
        let served: u64 = servers.iter().map(|process| process_time(*process)).sum();
        Ok(Counters { busy: machine_time()?.saturating_sub(served), device: DeviceCounters::read(&device.name)? })
    }

    /// The differences from `self` to `later`, by metric, for the time until a task was durable.
    pub fn until(&self, later: &Counters, values: &mut BTreeMap<String, f64>) {
        let (a, b) = (&self.device, &later.device);
        let mut put = |metric: Metric, value: f64| values.insert(metric.id.to_owned(), value);
        put(Metric::BUSY, seconds(later.busy.saturating_sub(self.busy)));
        put(Metric::READ_REQUESTS, (b.reads - a.reads) as f64);
        put(Metric::READ_BYTES, ((b.read_sectors - a.read_sectors) * 512) as f64);
        put(Metric::WRITE_REQUESTS, (b.writes - a.writes) as f64);
        put(Metric::WRITTEN_BYTES, ((b.written_sectors - a.written_sectors) * 512) as f64);
        put(Metric::DISCARDED_BYTES, ((b.discarded_sectors - a.discarded_sectors) * 512) as f64);
        put(Metric::FLUSHES, (b.flushes - a.flushes) as f64);
    }
}

impl DeviceCounters {
    /// Sectors read, written and discarded, and requests in flight. A flush, which each sync may send, moves none; some
    /// kernels count it as a write.
    pub fn work(&self) -> [u64; 4] {
        [self.read_sectors, self.written_sectors, self.discarded_sectors, self.in_flight]
    }

    /// Adds those of another disk of the same file system.
    pub fn add(&mut self, other: &DeviceCounters) {
        for (own, other) in [
            (&mut self.reads, other.reads),
            (&mut self.read_sectors, other.read_sectors),
            (&mut self.read_time, other.read_time),
            (&mut self.writes, other.writes),
            (&mut self.written_sectors, other.written_sectors),
            (&mut self.write_time, other.write_time),
            (&mut self.in_flight, other.in_flight),
            (&mut self.busy_time, other.busy_time),
            (&mut self.queue_time, other.queue_time),
            (&mut self.discards, other.discards),
            (&mut self.discarded_sectors, other.discarded_sectors),
            (&mut self.discard_time, other.discard_time),
            (&mut self.flushes, other.flushes),
            (&mut self.flush_time, other.flush_time),
        ] {
            *own += other;
        }
    }

    /// The counters of a device; nothing of a file system without one, such as a server's.
    pub fn read(name: &str) -> Result<DeviceCounters> {
        if name.is_empty() {
            return Ok(DeviceCounters::default());
        }
        let path = format!("/sys/class/block/{name}/stat");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        DeviceCounters::parse(&text).with_context(|| format!("{path} holds {text:?}"))
    }

    fn parse(text: &str) -> Option<DeviceCounters> {
        let fields: Vec<u64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let get = |at: usize| fields.get(at).copied();
        Some(DeviceCounters {
            reads: get(0)?,
            read_sectors: get(2)?,
            read_time: get(3)?,
            writes: get(4)?,
            written_sectors: get(6)?,
            write_time: get(7)?,
            in_flight: get(8)?,
            busy_time: get(9)?,
            queue_time: get(10)?,
            discards: get(11).unwrap_or(0),
            discarded_sectors: get(13).unwrap_or(0),
            discard_time: get(14).unwrap_or(0),
            flushes: get(15).unwrap_or(0),
            flush_time: get(16).unwrap_or(0),
        })
    }
}

/// Nanoseconds that all processors ran tasks: `rq_cpu_time` of /proc/schedstat
/// (Documentation/scheduler/sched-stats.rst); if the kernel lacks it, from /proc/stat, in hundredths of seconds.
fn machine_time() -> Result<u64> {
    if let Ok(text) = fs::read_to_string("/proc/schedstat") {
        return parse_schedstat(&text).context("/proc/schedstat is of an unknown form");
    }
    let text = fs::read_to_string("/proc/stat").context("cannot read /proc/stat")?;
    let fields: Vec<u64> =
        text.lines().next().unwrap_or("").split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    // user, nice, system, then idle and iowait, then irq, softirq, steal.
    let busy: u64 =
        fields.iter().enumerate().filter(|(at, _)| !matches!(at, 3 | 4)).take(6).map(|(_, ticks)| ticks).sum();
    Ok(busy * 10_000_000)
}

fn parse_schedstat(text: &str) -> Option<u64> {
    let processors = text.lines().filter(|line| line.starts_with("cpu"));
    processors.map(|line| line.split_whitespace().nth(7)?.parse::<u64>().ok()).sum()
}

/// Nanoseconds that a process's first thread ran.
fn process_time(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/schedstat")).unwrap_or_default();
    text.split_whitespace().next().and_then(|field| field.parse().ok()).unwrap_or(0)
}

/// Processes killed by the OOM killer since boot.
pub fn memory_kills() -> u64 {
    let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

pub fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_files_are_read() {
        let stat = "     118        0     4096        2      999       12    81920       40        1       44       42      7        0      640        1       55        3\n";
        let counters = DeviceCounters::parse(stat).unwrap();
        assert_eq!(
            (counters.reads, counters.read_sectors, counters.writes, counters.written_sectors),
            (118, 4096, 999, 81920)
        );
        assert_eq!((counters.in_flight, counters.discarded_sectors, counters.flushes), (1, 640, 55));
        assert_eq!(
            (counters.read_time, counters.write_time, counters.discard_time, counters.flush_time),
            (2, 40, 1, 3)
        );
        assert_eq!((counters.busy_time, counters.queue_time, counters.discards), (44, 42, 7));
        // Linux 4.19 and older have eleven fields.
        let old = "118 0 4096 2 999 12 81920 40 0 44 42";
        assert_eq!(DeviceCounters::parse(old).unwrap().flushes, 0);
        assert_eq!(DeviceCounters::parse("118 x"), None);
        // A sync with nothing to write: a flush, counted as a write too.
        let synced = stat.replace("  999 ", " 1000 ").replace(" 44 ", " 45 ").replace(" 55 ", " 56 ");
        let synced = DeviceCounters::parse(&synced).unwrap();
        assert!(synced != counters && synced.work() == counters.work());
        let wrote = DeviceCounters::parse(&stat.replace("81920", "81928")).unwrap();
        assert_ne!(wrote.work(), counters.work());
        let schedstat = "version 15\ntimestamp 4294893\ncpu0 0 0 0 0 0 0 123456789 1000 42\ncpu1 0 0 0 0 0 0 11 1 2\n";
        assert_eq!(parse_schedstat(schedstat), Some(123_456_800));
        assert_eq!(parse_schedstat("cpu0 1 2"), None);
    }
}
