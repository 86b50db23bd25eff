//! Workloads: the work of Mountmark's own engine in a folder, phase by phase, and its results.
//!
//! A workload is data, written in TOML under a suite's task. Its numbers may name parameters of the suite
//! ([`Quantity`]), so that `--scale` shrinks it. This file does not know how an operation is done or a file is named.
//!
//! ```toml
//! [workload]
//! files = { count = 1, size = "$BIG_MIB * 1 MiB" }
//!
//! [[workload.phases]]
//! name = "put_block"
//! what = "write"
//! block = "8 KiB"
//!
//! [[workload.phases]]
//! name = "seeks"
//! what = { read = 9, rewrite = 1 }
//! pattern = "random"
//! block = "8 KiB"
//! threads = 3
//! processes = true
//! shared = true
//! run = { operations = "$SEEKS" }
//! ```

mod files;
mod operation;
mod quantity;
mod result;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

pub use files::{FileSet, NameOrder, Sizes};
pub use operation::Operation;
pub use quantity::{Quantity, QuantityError};
pub use result::{Latency, OperationResult, PhaseResult, Series, SeriesPoint, ThreadResult, WorkloadResult, value_at};

/// Phases that run one after another in one folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The files of every phase that does not name its own.
    #[serde(default)]
    pub files: FileSet,
    /// In order; at least one.
    pub phases: Vec<Phase>,
}

/// One kind of work, or one mix, done by a number of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Short and unique in the workload: `put_block`.
    pub name: String,
    /// The operation (`what = "read"`), or a mix with weights (`what = { read = 7, write = 3 }`).
    pub what: Mix,
    /// The files, if not the workload's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FileSet>,
    /// How data is read and written.
    #[serde(default)]
    pub engine: Engine,
    /// The size of an operation on data. Whole-file operations use pieces of this size.
    #[serde(default = "four_kib")]
    pub block: Quantity,
    /// Selects the next block, or the next file for operations on names.
    #[serde(default)]
    pub pattern: Pattern,
    /// Number of threads, or processes.
    #[serde(default = "one")]
    pub threads: Quantity,
    /// Whether each thread is a separate process.
    #[serde(default)]
    pub processes: bool,
    /// Whether all threads work on all files. Otherwise each has its own files, in the order of their numbers, and
    /// there must be at least as many files as threads. Patterns that visit everything once (sequential, backward,
    /// strided, shuffled) are divided among the threads in either case.
    #[serde(default)]
    pub shared: bool,
    /// Operations in flight in each thread; more than 1 needs the engine `uring`.
    #[serde(default = "one")]
    pub queue_depth: Quantity,
    /// Bypasses the page cache (O_DIRECT).
    #[serde(default)]
    pub direct: bool,
    /// When written data is made durable.
    #[serde(default)]
    pub sync: SyncPolicy,
    /// Operations per second of all threads together; unlimited if absent. Latency is then measured from the time at
    /// which an operation was due, so that a stall delays all operations waiting behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Quantity>,
    /// When the phase ends.
    #[serde(default)]
    pub run: Run,
    /// Seconds of work at the start that are excluded from all figures.
    #[serde(default)]
    pub warm_up: f64,
    /// Whether written blocks carry tags (file, offset, generation, seed, checksum) and every byte read is checked
    /// against them. Needs blocks of whole 512 bytes. Data read must have been written with `verify`, too, and no
    /// block may be read while another thread or request writes it.
    #[serde(default)]
    pub verify: bool,
    /// Contents of writes.
    #[serde(default)]
    pub data: Data,
    /// Whether every operation's latency is recorded. Without it the loop does not read the clock, so there is no time
    /// series either.
    #[serde(default = "yes")]
    pub latency: bool,
    /// Whether the files' pages are written back and dropped from the page cache before the phase, untimed. Names stay
    /// cached by the file system: a task's own `cold` unmounts.
    #[serde(default)]
    pub cold: bool,
    /// Whether the phase's files are removed before it, untimed, so that they are created anew each time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fresh: bool,
    /// Whether the phase runs at the same time as the one before it: a separate group of threads with its own files,
    /// blocks, rate and policy. Several in a row all run together. Its figures are separate.
    #[serde(default, skip_serializing_if = "is_false")]
    pub beside: bool,
    /// Whether the phase only prepares others: its figures are marked as no result.
    #[serde(default)]
    pub setup: bool,
    /// Prefix of the new names that rename, link, symlink, copy-file and reflink-file create.
    #[serde(default = "target")]
    pub target: String,
}

/// Operations with weights: each next operation is drawn with a probability proportional to its weight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Mix(pub BTreeMap<Operation, u32>);

impl<'de> Deserialize<'de> for Mix {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MixVisitor;
        impl<'de> Visitor<'de> for MixVisitor {
            type Value = Mix;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an operation such as \"read\", or a mix such as { read = 7, write = 3 }")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Mix, E> {
                let operation = Operation::deserialize(text.into_deserializer())?;
                Ok(Mix(BTreeMap::from([(operation, 1)])))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Mix, A::Error> {
                BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(Mix)
            }
        }
        deserializer.deserialize_any(MixVisitor)
    }
}

/// How data is read and written. Operations on names are system calls with every engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// pread and pwrite.
    #[default]
    Psync,
    /// io_uring, with registered files and buffers.
    Uring,
    /// Copies from and to a mapping of the file; made durable by msync.
    Mmap,
    /// fread and fwrite of the C library (fgetc and fputc with `pattern = "per-character"`).
    Stdio,
    /// Does nothing: measures the engine's own cost.
    Null,
}

impl Engine {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Psync => "psync",
            Engine::Uring => "uring",
            Engine::Mmap => "mmap",
            Engine::Stdio => "stdio",
            Engine::Null => "null",
        }
    }
}

/// Selects the next block, or the next file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// One after another, file after file.
    #[default]
    Sequential,
    /// Each equally likely each time: some are repeated and some never selected.
    Random,
    /// Each exactly once, in a random order.
    Shuffled,
    /// Some are much more likely than others: the k-th most likely in proportion to k^-theta (Zipf's law). The likely
    /// ones are spread over all files. `pattern = { zipf = 0.99 }`; theta above 0 and at most 10.
    Zipf(f64),
    /// Every n-th block, then again from the start with the next one, until each was selected once (`{ strided = 17 }`,
    /// with IOzone's factor).
    Strided(u64),
    /// From the last to the first.
    Backward,
    /// In the order in which directories list their entries, which are read inside the operations, in batches; skips
    /// files outside the set. Only for `stat` and `unlink`, by one thread.
    Listed,
    /// At the end of the file, which grows (O_APPEND). Only for `write`.
    Append,
    /// Sequential, with one call per byte of a block: one system call with `psync`, fgetc or fputc with `stdio`. An
    /// operation is still one block.
    PerCharacter,
    /// The first block of the file, repeatedly (IOzone's record rewrite).
    SameRecord,
}

/// When written data is made durable; all parts that are set are done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyncPolicy {
    /// After this many operations that write, in each thread. Without it, which jobs write as 0, never; a suite that says 0
    /// is refused.
    #[serde(default)]
    pub every: Quantity,
    /// Every file once at the end, inside the phase's time.
    #[serde(default)]
    pub end: bool,
    /// Uses fdatasync instead of fsync.
    #[serde(default)]
    pub data_only: bool,
    /// `every` syncs all open files of the thread, not only the one written last (as sysbench does).
    #[serde(default)]
    pub all_files: bool,
    /// `every` counts all operations, not only those that write (as sysbench does).
    #[serde(default, skip_serializing_if = "is_false")]
    pub all_operations: bool,
    /// Made durable by each write itself.
    #[serde(default)]
    pub open: OpenSync,
}

/// A flag with which files are opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpenSync {
    /// Writes return when the kernel has the data.
    #[default]
    None,
    /// O_DSYNC: when the data is durable.
    Dsync,
    /// O_SYNC: when data and attributes are.
    Sync,
}

/// When a phase ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Run {
    /// When everything was done once: as many operations as there are blocks or files.
    #[default]
    Once,
    /// After this many operations of all threads together.
    Operations(Quantity),
    /// After this many seconds of the lab's clock. Finite patterns start again at their end.
    Seconds(f64),
    /// When everything was done this many times.
    Passes(Quantity),
    /// When all phases that it runs beside have ended: for background work.
    Beside,
}

/// Contents of writes, except tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// Incompressible bytes.
    #[default]
    Random,
    /// Zero bytes.
    Zero,
    /// Alternating random bytes and zeroes within each 512 bytes, so that they compress by about this ratio, 1 to 100:
    /// `data = { compressible = 4.0 }`.
    Compressible(f64),
}

fn one() -> Quantity {
    Quantity::number(1)
}

fn four_kib() -> Quantity {
    Quantity::number(4096)
}

fn yes() -> bool {
    true
}

fn is_false(value: &bool) -> bool {
    !value
}

fn target() -> String {
    "t".to_owned()
}

#[cfg(test)]
mod tests;
