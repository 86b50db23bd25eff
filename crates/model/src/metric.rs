//! Metrics. Each is one definition here; samples are rows (cell, task, metric, value).

use crate::quantity::{format_bytes, format_count, format_rate, format_seconds};

/// The unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Bytes,
    Percent,
    Count,
    Ratio,
    /// 1024 bytes per second: what the classic programs print as K/sec or kB/sec.
    KibPerSecond,
    PerSecond,
    /// A number whose unit the task's title says.
    Number,
    /// [`Unit::KibPerSecond`] for tasks that move data, otherwise [`Unit::PerSecond`].
    Throughput,
}

/// The direction that a verdict prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
}

/// Something that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// In files, options and exports.
    pub id: &'static str,
    /// In heads of tables.
    pub title: &'static str,
    pub unit: Unit,
    pub better: Better,
    /// One sentence.
    pub about: &'static str,
}

macro_rules! metrics {
    ($($name:ident $id:literal $title:literal $unit:ident $better:ident $about:literal;)*) => {
        impl Metric {
            $(#[doc = $about] pub const $name: Metric = Metric {
                id: $id, title: $title, unit: Unit::$unit, better: Better::$better, about: $about,
            };)*
            /// All metrics, in the order of reports.
            pub const ALL: &'static [Metric] = &[$(Metric::$name),*];
        }
    };
}

metrics! {
    ELAPSED "elapsed" "returned" Seconds Lower "Time until the command returned, as GNU time sees it: the figure of the old studies.";
    DURABLE "durable" "durable" Seconds Lower "Time until the command had returned and syncfs after it too: its data is on the medium.";
    SYNC "sync" "sync" Seconds Lower "Time of the syncfs after the command.";
    USER "user" "user CPU" Seconds Lower "Processor time of the command and its children in user space.";
    SYSTEM "system" "system CPU" Seconds Lower "Processor time of the command and its children in the kernel.";
    PROCESSOR "processor" "user + system CPU" Seconds Lower "Processor time of the command and its children: computed from user and system time.";
    CPU_PERCENT "cpu_percent" "CPU" Percent Lower "User and system time over elapsed time.";
    BUSY "busy" "machine CPU" Seconds Lower "Processor time of everything that ran until durable, kernel threads included, the disk model's server not.";
    SETTLE "settle" "settle" Seconds Lower "Time from durable until nothing was dirty, under write-back or in flight.";
    SETTLE_BUSY "settle_busy" "settle CPU" Seconds Lower "Processor time of everything that ran while settling, the disk model's server not.";
    MINOR_FAULTS "minor_faults" "minor faults" Count Lower "Page faults served without I/O.";
    MAJOR_FAULTS "major_faults" "major faults" Count Lower "Page faults that needed I/O.";
    VOLUNTARY_SWITCHES "voluntary_switches" "vol. switches" Count Lower "Times the command gave up the processor to wait.";
    INVOLUNTARY_SWITCHES "involuntary_switches" "invol. switches" Count Lower "Times the command lost the processor to another.";
    PEAK_MEMORY "peak_memory" "peak memory" Bytes Lower "Largest resident set of any one process of the command.";
    READ_BYTES "read_bytes" "read" Bytes Lower "Bytes read from the device until durable.";
    READ_REQUESTS "read_requests" "reads" Count Lower "Read requests at the device until durable.";
    WRITTEN_BYTES "written_bytes" "written" Bytes Lower "Bytes written to the device until durable.";
    WRITE_REQUESTS "write_requests" "writes" Count Lower "Write requests at the device until durable.";
    SETTLE_WRITTEN_BYTES "settle_written_bytes" "settle written" Bytes Lower "Bytes written to the device while settling.";
    DISCARDED_BYTES "discarded_bytes" "discarded" Bytes Lower "Bytes that the device was told to forget, until durable.";
    FLUSHES "flushes" "flushes" Count Lower "Cache flushes at the device until durable.";
    FUA_WRITES "fua_writes" "FUA writes" Count Lower "Writes with FUA at the device, settling included: each is durable when it is replied to, without a flush.";
    LAYOUT_SCORE "layout_score" "layout score" Percent Higher "Dynamic layout score: reads at the device that begin where the one before ended, of all but the first, settling included.";
    LOST "lost" "files lost" Count Lower "Files that a returned fsync covered and that were not whole when the machine was up again.";
    TASK_WRITTEN_BYTES "task_written_bytes" "task wrote" Bytes Lower "Bytes that the command passed to write(2) and its like, or that the operations of a workload wrote.";
    WRITE_AMPLIFICATION "write_amplification" "amplification" Ratio Lower "Bytes written to the device, settling included, over bytes that the command wrote.";
    RATE "rate" "rate" Throughput Higher "What a task does in a second, as benchmark programs count it: KiB of data where it moves data, operations where it does not (seeks, creates, deletes). A task that has it is judged by it.";
    READ_RATE "read_rate" "read rate" KibPerSecond Higher "Data that a task reads in a second.";
    WRITE_RATE "write_rate" "write rate" KibPerSecond Higher "Data that a task writes in a second.";
    PARENT_RATE "parent_rate" "parent rate" KibPerSecond Higher "IOzone's throughput as the parent sees it: all data over the time from the first process's start until the last one's end.";
    PROCESS_RATE_MIN "process_rate_min" "slowest process" KibPerSecond Higher "Throughput of the slowest process.";
    PROCESS_RATE_MEAN "process_rate_mean" "mean process" KibPerSecond Higher "Mean throughput of the processes.";
    PROCESS_RATE_MAX "process_rate_max" "fastest process" KibPerSecond Higher "Throughput of the fastest process.";
    PROCESS_BYTES_MIN "process_bytes_min" "least moved" Bytes Higher "Data that the last process had moved when the first one ended.";
    OPERATION_RATE "operation_rate" "operations" PerSecond Higher "Operations of the measured kind in a second.";
    OPERATIONS "operations" "operations" Count Higher "Operations of the measured kind.";
    READ_OPERATIONS "read_operations" "read ops" Count Higher "Read operations among them.";
    WRITE_OPERATIONS "write_operations" "write ops" Count Higher "Write operations among them.";
    SYNC_OPERATIONS "sync_operations" "sync ops" Count Higher "fsync, fdatasync and the like among them.";
    MEASURED "measured" "measured" Seconds Lower "The part of a benchmark program's time that its rate is about.";
    SYNC_LATENCY_MEAN "sync_latency_mean" "mean sync" Seconds Lower "Mean time of an fsync, fdatasync or the like.";
    SYNC_LATENCY_P50 "sync_latency_p50" "sync p50" Seconds Lower "Time that half of the syncs do not exceed.";
    SYNC_LATENCY_P95 "sync_latency_p95" "sync p95" Seconds Lower "Time that 95 % of the syncs do not exceed.";
    SYNC_LATENCY_P99 "sync_latency_p99" "sync p99" Seconds Lower "Time that 99 % of the syncs do not exceed.";
    SYNC_LATENCY_P99_9 "sync_latency_p99_9" "sync p99.9" Seconds Lower "Time that 99.9 % of the syncs do not exceed.";
    SYNC_LATENCY_MAX "sync_latency_max" "sync max" Seconds Lower "Time of the slowest sync.";
    LATENCY_MIN "latency_min" "least latency" Seconds Lower "Time of the fastest operation, without an fsync or fdatasync after it (sync_latency_*); a write through O_SYNC and a file that is synced before it is closed have it in theirs.";
    LATENCY_MEAN "latency_mean" "mean latency" Seconds Lower "Mean time of an operation, without syncs after it, as latency_min.";
    LATENCY_P50 "latency_p50" "latency p50" Seconds Lower "Time that half of the operations do not exceed, without syncs after them, as latency_min.";
    LATENCY_P90 "latency_p90" "latency p90" Seconds Lower "Time that 90 % of the operations do not exceed, without syncs after them, as latency_min.";
    LATENCY_P95 "latency_p95" "latency p95" Seconds Lower "Time that 95 % of the operations do not exceed, without syncs after them, as latency_min.";
    LATENCY_P99 "latency_p99" "latency p99" Seconds Lower "Time that 99 % of the operations do not exceed, without syncs after them, as latency_min.";
    LATENCY_P99_9 "latency_p99_9" "latency p99.9" Seconds Lower "Time that 99.9 % of the operations do not exceed, without syncs after them, as latency_min.";
    LATENCY_MAX "latency_max" "latency max" Seconds Lower "Time of the slowest operation, without syncs after it, as latency_min.";
    FIGURE "figure" "printed" Number Higher "A number that the command printed, of which more is better. Such a task is judged by it.";
    FIGURE_LESS "figure_less" "printed" Number Lower "A number that the command printed, of which less is better. Such a task is judged by it.";
    CAPACITY_BYTES "capacity_bytes" "usable" Bytes Higher "Bytes that an ordinary user can fill right after mkfs and mount.";
    CAPACITY "capacity" "usable" Percent Higher "Available over total blocks right after mkfs and mount, as df sees them.";
    CAPACITY_FILLED "capacity_filled" "filled" Percent Lower "Used over used and available space when the tasks begin, as df sees it, where something fills the file system before.";
    CAPACITY_RESIDUAL "capacity_residual" "residual" Percent Higher "Available over total blocks after all files were removed.";
    CAPACITY_DEVICE "capacity_device" "of device" Percent Higher "Bytes that an ordinary user can fill over the size of the device.";
}

impl Metric {
    /// [`Metric::RATE`] of a task that moves data: KiB per second.
    pub const RATE_OF_DATA: Metric = Metric { unit: Unit::KibPerSecond, ..Metric::RATE };
    /// [`Metric::RATE`] of other tasks: operations per second.
    pub const RATE_OF_OPERATIONS: Metric = Metric { unit: Unit::PerSecond, ..Metric::RATE };

    pub fn find(id: &str) -> Option<&'static Metric> {
        Metric::ALL.iter().find(|metric| metric.id == id)
    }

    /// The two metrics that this one is the sum of; `None` if it is measured itself.
    pub fn sum_of(&self) -> Option<[Metric; 2]> {
        (self.id == Self::PROCESSOR.id).then_some([Self::USER, Self::SYSTEM])
    }

    /// The variant of this metric in a unit, as [`Metric::unit_text`] names it; itself if it has no such variant.
    pub fn in_unit(&'static self, unit: &str) -> &'static Metric {
        let variants = [&Metric::RATE_OF_DATA, &Metric::RATE_OF_OPERATIONS].into_iter();
        variants.filter(|_| self.id == Metric::RATE.id).find(|metric| metric.unit_text() == unit).unwrap_or(self)
    }

    /// Whether it is about the time of single operations or syncs.
    pub fn is_latency(&self) -> bool {
        self.id.starts_with("latency_") || self.id.starts_with("sync_latency_")
    }

    /// Whether a sum over tasks is meaningful.
    pub fn adds_up(&self) -> bool {
        match self.unit {
            // A share of the operations of one task is not one of all.
            Unit::Seconds => !self.is_latency(),
            Unit::Count => true,
            // The largest, the least and the room of one task are not those of all.
            Unit::Bytes => {
                ![Metric::PEAK_MEMORY.id, Metric::CAPACITY_BYTES.id, Metric::PROCESS_BYTES_MIN.id].contains(&self.id)
            }
            Unit::Percent | Unit::Ratio | Unit::KibPerSecond | Unit::PerSecond | Unit::Number | Unit::Throughput => {
                false
            }
        }
    }

    /// The unit for heads of tables: `s`, `%`, empty for counts.
    pub fn unit_text(&self) -> &'static str {
        match self.unit {
            Unit::Seconds => "s",
            Unit::Bytes => "bytes",
            Unit::Percent => "%",
            Unit::Count => "count",
            Unit::Ratio => "ratio",
            Unit::KibPerSecond => "KiB/s",
            Unit::PerSecond => "1/s",
            Unit::Number => "number",
            Unit::Throughput => "KiB/s or 1/s",
        }
    }

    /// A value for people, without the unit if the head has it.
    pub fn format(&self, value: f64) -> String {
        match self.unit {
            Unit::Seconds => format_seconds(value),
            Unit::Bytes if value >= 0.0 && value.is_finite() => format_bytes(value as u64),
            Unit::Bytes => format!("{value}"),
            Unit::Percent => format!("{value:.2}"),
            Unit::Count => format_count(value),
            Unit::Ratio => format!("{value:.3}"),
            Unit::KibPerSecond | Unit::PerSecond | Unit::Number | Unit::Throughput => format_rate(value),
        }
    }
}

/// Finds metrics by id in samples, whose tasks mostly have the same metrics in the same order: the next one is the one
/// after the last.
#[derive(Debug, Default)]
pub struct MetricFinder<'a> {
    /// Ids as they came, with their positions in [`Metric::ALL`].
    seen: Vec<(&'a str, Option<usize>)>,
    next: usize,
}

impl<'a> MetricFinder<'a> {
    /// Position in [`Metric::ALL`]; `None` if there is no such metric.
    pub fn position(&mut self, id: &'a str) -> Option<usize> {
        if self.seen.get(self.next).is_none_or(|(seen, _)| *seen != id) {
            self.next = self.seen.iter().position(|(seen, _)| *seen == id).unwrap_or(self.seen.len());
        }
        if self.next == self.seen.len() {
            self.seen.push((id, Metric::ALL.iter().position(|metric| metric.id == id)));
        }
        self.next += 1;
        self.seen[self.next - 1].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_found_in_any_order() {
        let mut finder = MetricFinder::default();
        for id in ["elapsed", "durable", "x", "elapsed", "durable", "x", "durable", "x", "elapsed", "rate", "elapsed"] {
            assert_eq!(finder.position(id).map(|at| &Metric::ALL[at]), Metric::find(id), "{id}");
        }
    }

    /// Every metric is in one of the two lists, so that a new one is put into the right one.
    #[test]
    fn only_amounts_add_up() {
        let amounts = [
            "elapsed durable sync user system processor busy settle settle_busy measured",
            "minor_faults major_faults voluntary_switches involuntary_switches",
            "read_bytes read_requests written_bytes write_requests settle_written_bytes discarded_bytes flushes",
            "fua_writes lost task_written_bytes operations read_operations write_operations sync_operations",
        ];
        let others = [
            "cpu_percent peak_memory write_amplification process_bytes_min",
            "rate read_rate write_rate parent_rate process_rate_min process_rate_mean process_rate_max operation_rate",
            "sync_latency_mean sync_latency_p50 sync_latency_p95 sync_latency_p99 sync_latency_p99_9 sync_latency_max",
            "latency_min latency_mean latency_p50 latency_p90 latency_p95 latency_p99 latency_p99_9 latency_max",
            "layout_score capacity_bytes capacity capacity_filled capacity_residual capacity_device figure figure_less",
        ];
        let has = |list: &[&str], id: &str| list.iter().any(|line| line.split(' ').any(|known| known == id));
        for metric in Metric::ALL {
            let (adds_up, does_not) = (has(&amounts, metric.id), has(&others, metric.id));
            assert!(adds_up != does_not, "{}", metric.id);
            assert_eq!(metric.adds_up(), adds_up, "{}", metric.id);
        }
    }

    #[test]
    fn ids_are_unique_and_found() {
        for (index, metric) in Metric::ALL.iter().enumerate() {
            assert_eq!(Metric::find(metric.id), Some(metric));
            assert!(Metric::ALL[index + 1..].iter().all(|other| other.id != metric.id), "{}", metric.id);
        }
    }
}
