//! A thread's state while it works: its files, buffers, courses and contents.

use std::sync::atomic::AtomicBool;

use mountmark_model::workload::{Operation, Pattern};
use mountmark_random::{Stream, mix};

use super::access_pattern::{AccessPattern, Part};
use super::buffer::{Aligned, Pool};
use super::open::OpenFiles;
use super::population::Population;
use super::recorder::Tally;
use super::resolve::Work;
use super::set::Set;
use super::step::Listing;
use super::sys::{self, Name};
use super::tags::{Generations, Mismatch, Tags};

/// Limit of error sentences that a thread keeps.
pub(super) const SENTENCES: usize = 16;

/// An operation that moved fewer bytes than it should.
pub(super) const SHORT: i64 = -(1 << 32);
/// An operation that read wrong bytes.
pub(super) const WRONG: i64 = SHORT - 1;
/// An operation of a mix without a file to remove or work on, or without a name left to create.
pub(super) const NO_FILE: i64 = SHORT - 2;

/// A thread's state, without its engine.
pub(super) struct Core<'a> {
    pub(super) work: &'a Work,
    pub(super) set: &'a Set,
    pub(super) walk: Walk,
    pub(super) open: OpenFiles,
    pub(super) memory: Memory,
    pub(super) contents: Contents,
    pub(super) findings: Findings,
    pub(super) listing: Listing,
    pub(super) name: Name,
    pub(super) other: Name,
    /// Nanoseconds of the current operation spent by the engine itself (making and checking tags).
    pub(super) aside: u64,
    pub(super) slot: u32,
    /// Set when all phases that this one runs beside have ended, if it ends with them.
    pub(super) over: Option<&'a AtomicBool>,
}

pub(super) struct Walk {
    pub(super) part: Part,
    /// The number of the thread's first file.
    pub(super) first: u64,
    /// For operations on open files.
    pub(super) blocks: AccessPattern,
    /// For operations on names or directories.
    pub(super) numbers: AccessPattern,
    pub(super) population: Option<Population>,
}

pub(super) struct Memory {
    /// `depth` buffers of a block each.
    pub(super) buffers: Aligned,
    /// Bytes from one buffer to the next.
    pub(super) step: usize,
    pub(super) pool: Pool,
    /// A buffer for directory entries: 32 KiB, as in the C library.
    pub(super) entries: Aligned,
}

pub(super) struct Contents {
    pub(super) tags: Tags,
    /// The generation that this phase writes, and those that it may find.
    pub(super) generation: u32,
    pub(super) generations: Generations,
}

/// A thread's results other than times.
pub(super) struct Findings {
    /// Bytes.
    pub(super) verified: u64,
    pub(super) syncs: Tally,
    pub(super) sentences: Vec<String>,
    pub(super) notes: Vec<String>,
}

pub(super) struct Worker<'a, E> {
    pub(super) core: Core<'a>,
    pub(super) engine: E,
}

/// A thread's part of the phase.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Orders {
    pub(super) thread: u32,
    pub(super) seed: u64,
    pub(super) generation: u32,
    /// The oldest generation that files may hold.
    pub(super) oldest: u32,
    /// Limit of the thread's open files.
    pub(super) capacity: u64,
}

impl<'a> Core<'a> {
    pub(super) fn new(work: &'a Work, set: &'a Set, orders: Orders) -> Core<'a> {
        let phase = work.name.bytes().fold(0u64, |sum, byte| mix(sum ^ u64::from(byte)));
        let stream = |label: &str| Stream::numbered(orders.seed ^ phase, label, u64::from(orders.thread));
        let part = Part {
            thread: orders.thread,
            threads: work.threads,
            shared: work.shared,
            key: mix(orders.seed ^ mix(phase)),
        };
        let (first, last) = part.files(set.count());
        // There is one pattern, but in a mix operations on names walk over files and the others over blocks.
        let on_directories = work.has(|o| o == Operation::Readdir) && work.mix.len() == 1;
        let numbered = if on_directories { set.directories().max(1) } else { set.count() };
        let shares_directories = on_directories && numbered < u64::from(work.threads);
        let number_part = if shares_directories { Part { shared: true, threads: 1, thread: 0, ..part } } else { part };
        let blocks = match work.on_blocks() {
            true => AccessPattern::blocks(set, work.block, work.pattern, part, stream("engine blocks")),
            false => AccessPattern::numbers(0, Pattern::Sequential, part, stream("engine blocks")),
        };
        let block = work.block as usize;
        let step = block.next_multiple_of(4096);
        let slots = if work.on_blocks() { (last - first) as usize } else { 0 };
        Core {
            work,
            set,
            walk: Walk {
                part,
                first,
                blocks,
                numbers: AccessPattern::numbers(numbered, work.pattern, number_part, stream("engine files")),
                population: work
                    .changes_population()
                    .then(|| Population::new(last - first, stream("engine population"))),
            },
            open: OpenFiles::new(work, slots, orders.capacity),
            memory: Memory {
                buffers: Aligned::new(step * work.depth as usize),
                step,
                pool: Pool::new(block, work.data, &mut stream("engine contents")),
                entries: Aligned::new(1 << 15),
            },
            contents: Contents {
                tags: Tags::new(orders.seed, work.data),
                generation: orders.generation,
                generations: Generations { first: orders.oldest, last: orders.generation },
            },
            findings: Findings {
                verified: 0,
                syncs: Tally::new(Operation::Fsync),
                sentences: Vec::with_capacity(SENTENCES),
                notes: Vec::new(),
            },
            listing: Listing::default(),
            name: Name::new(),
            other: Name::new(),
            aside: 0,
            slot: 0,
            over: None,
        }
    }

    /// Sets the name to the path of the file of `slot`.
    pub(super) fn name_slot(&mut self, slot: u32) {
        self.set.name(self.set.prefix(), self.walk.first + u64::from(slot), &mut self.name);
    }

    /// Finds out which files exist, for mixes that create and remove them.
    pub(super) fn survey(&mut self) {
        let Some(population) = &mut self.walk.population else { return };
        let (first, last) = self.walk.part.files(self.set.count());
        for file in first..last {
            self.set.name(self.set.prefix(), file, &mut self.name);
            if sys::stat(self.set.folder(), &self.name) >= 0 {
                population.insert(file - first);
            }
        }
    }

    /// Keeps a sentence about a failed operation.
    #[cold]
    pub(super) fn explain(&mut self, operation: Operation, answer: i64) {
        if self.findings.sentences.len() >= SENTENCES {
            return;
        }
        if operation.works_on_blocks() {
            self.name_slot(self.slot);
        }
        let path = self.set.full_path(&self.name);
        let (what, path) = (operation.name(), path.display());
        self.findings.sentences.push(match answer {
            // The check has already recorded the wrong byte.
            WRONG => return,
            SHORT => format!("{what} of {path}: fewer bytes than asked for; the file is shorter, or the disk full"),
            NO_FILE => format!("{what}: no file is left for it; the mix makes and removes more than the set holds"),
            answer => format!("{what} of {path}: {}", sys::error(answer)),
        });
    }

    /// Checks a buffer that was read. Returns its length, or [`WRONG`].
    pub(super) fn check(&mut self, buffer: &[u8], slot: u32, offset: u64) -> i64 {
        let file = self.walk.first + u64::from(slot);
        match self.contents.tags.check(buffer, file, offset, self.contents.generations) {
            Ok(()) => {
                self.findings.verified += buffer.len() as u64;
                buffer.len() as i64
            }
            Err(mismatch) => self.report(file, mismatch),
        }
    }

    #[cold]
    fn report(&mut self, file: u64, wrong: Mismatch) -> i64 {
        if self.findings.sentences.len() < SENTENCES {
            self.set.name(self.set.prefix(), file, &mut self.name);
            let path = self.set.full_path(&self.name);
            self.findings.sentences.push(format!(
                "wrong data in {} at byte {}: expected 0x{:02x}, found 0x{:02x}",
                path.display(),
                wrong.position,
                wrong.expected,
                wrong.found
            ));
        }
        WRONG
    }
}
