//! Workloads: what Mountmark's own engine does in a folder, phase by phase, and what it says about it.
//!
//! A workload is data, written in TOML under a suite's task. Its numbers may name parameters of the suite
//! ([`Quantity`]), so that `--scale` shrinks it. Nothing here knows how an operation is done or a file is named.
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

/// Phases that are done one after another in one folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The files of every phase that does not name its own.
    #[serde(default)]
    pub files: FileSet,
    /// In their order. At least one.
    pub phases: Vec<Phase>,
}

/// One kind of work, or one mix, done by a number of threads until its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Short, unique in the workload: `put_block`.
    pub name: String,
    /// The operation (`what = "read"`), or a mix with weights (`what = { read = 7, write = 3 }`).
    pub what: Mix,
    /// The files, where they are not the workload's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FileSet>,
    /// How data is read and written.
    #[serde(default)]
    pub engine: Engine,
    /// The size of an operation on data. Whole-file operations move their files in such pieces.
    #[serde(default = "four_kib")]
    pub block: Quantity,
    /// Which block, or for operations on names which file, comes next.
    #[serde(default)]
    pub pattern: Pattern,
    /// Threads, or processes.
    #[serde(default = "one")]
    pub threads: Quantity,
    /// Whether each of them is a process of its own.
    #[serde(default)]
    pub processes: bool,
    /// Whether all threads work on all files. Otherwise each has its own files, in the order of their numbers, and
    /// there must be at least as many files as threads. What has a course (sequential, backward, strided, shuffled)
    /// is divided among the threads in either case, so that together they do everything once.
    #[serde(default)]
    pub shared: bool,
    /// Operations in flight in each thread; more than 1 needs the engine `uring`.
    #[serde(default = "one")]
    pub queue_depth: Quantity,
    /// Past the page cache (O_DIRECT).
    #[serde(default)]
    pub direct: bool,
    /// When written data is made durable.
    #[serde(default)]
    pub sync: SyncPolicy,
    /// Operations a second of all threads together; as fast as they go where absent. Latency then counts from the time
    /// at which an operation was due, so that a stall is felt by all that waited behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Quantity>,
    /// When the phase ends.
    #[serde(default)]
    pub run: Run,
    /// Seconds of work at the start that are left out of all figures.
    #[serde(default)]
    pub warm_up: f64,
    /// Whether written blocks carry tags (file, offset, generation, seed, checksum) and every byte read is checked
    /// against them. Needs blocks of whole 512 bytes. What is read must have been written with `verify`, too.
    #[serde(default)]
    pub verify: bool,
    /// What is written.
    #[serde(default)]
    pub data: Data,
    /// Whether every operation's latency is kept. Without it the clock is not read in the loop, so there is no course
    /// over time either.
    #[serde(default = "yes")]
    pub latency: bool,
    /// Whether the files' pages are written back and dropped from the page cache before the phase, untimed. What the
    /// file system keeps of names stays cached: a task's own `cold` unmounts.
    #[serde(default)]
    pub cold: bool,
    /// Whether the phase's files are removed before it, untimed, so that they are made anew each time it is done.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fresh: bool,
    /// Whether the phase runs at the same time as the one before it: a group of threads of its own, with its own files,
    /// blocks, rate and policy. Several in a row all run together. Its figures are its own.
    #[serde(default, skip_serializing_if = "is_false")]
    pub beside: bool,
    /// Whether the phase only prepares others: it is done, and its figures are marked as no result.
    #[serde(default)]
    pub setup: bool,
    /// The first letters of the new names that rename, link, symlink, copy-file and reflink-file make.
    #[serde(default = "target")]
    pub target: String,
}

/// Operations with weights: each next operation is drawn, with a chance in proportion to its weight.
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

/// How data is read and written. Operations on names are system calls with each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// pread and pwrite.
    #[default]
    Psync,
    /// io_uring, with registered files and buffers.
    Uring,
    /// Copies from and to a mapping of the file; durable by msync.
    Mmap,
    /// fread and fwrite of the C library (fgetc and fputc with `pattern = "per-character"`).
    Stdio,
    /// Nothing is done: the engine's own cost.
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

/// Which block of which file, or which file, comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// One after another, file after file.
    #[default]
    Sequential,
    /// Each equally likely each time: some come twice and some never.
    Random,
    /// Each exactly once, in a random order.
    Shuffled,
    /// Some are much more likely than others: the k-th most likely in proportion to k^-theta (Zipf's law). The likely
    /// ones are spread over all files. `pattern = { zipf = 0.99 }`; theta above 0 and at most 10.
    Zipf(f64),
    /// Every n-th block, then again from the start with the next one, until each came once (`{ strided = 17 }`, with
    /// IOzone's factor).
    Strided(u64),
    /// From the last to the first.
    Backward,
    /// In the order in which directories list their entries, which are read inside the operations, in batches; what is
    /// not of the set is passed over. Only for `stat` and `unlink`, by one thread.
    Listed,
    /// At the end of the file, which grows (O_APPEND). Only for `write`.
    Append,
    /// Sequential, and each byte of a block by a call of its own: one system call with `psync`, fgetc or fputc with
    /// `stdio`. An operation is still one block.
    PerCharacter,
    /// The first block of the file, again and again (IOzone's record rewrite).
    SameRecord,
}

/// When written data is made durable; all parts that are asked for are done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyncPolicy {
    /// After every so many operations that write, in each thread. 0: not.
    #[serde(default)]
    pub every: Quantity,
    /// Every file once at the end, inside the phase's time.
    #[serde(default)]
    pub end: bool,
    /// By fdatasync instead of fsync.
    #[serde(default)]
    pub data_only: bool,
    /// `every` syncs all open files of the thread and not only the one written last (sysbench's way).
    #[serde(default)]
    pub all_files: bool,
    /// `every` counts all operations and not only those that write (sysbench's way).
    #[serde(default, skip_serializing_if = "is_false")]
    pub all_operations: bool,
    /// By each write itself.
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
    /// When everything came once: as many operations as there are blocks or files.
    #[default]
    Once,
    /// After as many operations of all threads together.
    Operations(Quantity),
    /// After as many seconds of the lab's clock. What has a course begins again at its end.
    Seconds(f64),
    /// When everything came so many times.
    Passes(Quantity),
    /// When all phases that it runs beside have ended: what goes on in the background.
    Beside,
}

/// What is written where tags do not stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// Bytes that do not compress.
    #[default]
    Random,
    /// Zeroes.
    Zero,
    /// Random bytes and zeroes in turn within each 512 bytes, so that they compress by about this ratio, 1 to 100:
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
