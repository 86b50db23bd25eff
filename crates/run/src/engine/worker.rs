//! What one thread has at hand while it works: its files, buffers, courses and contents.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::sync::atomic::AtomicBool;

use mountmark_corpus::Stream;
use mountmark_model::workload::{OpenSync, Operation, Pattern};

use super::buffer::{Aligned, Pool};
use super::course::{Course, Part};
use super::error::EngineError;
use super::io::Engine;
use super::permutation::mix;
use super::population::Population;
use super::recorder::Tally;
use super::resolve::Work;
use super::set::Set;
use super::step::Listing;
use super::sys::{self, Name};
use super::tags::{Generations, Mismatch, Tags};

/// Error sentences that a thread keeps.
pub(super) const SENTENCES: usize = 16;

/// An operation that moved fewer bytes than it should.
pub(super) const SHORT: i64 = -(1 << 32);
/// An operation that read wrong bytes.
pub(super) const WRONG: i64 = SHORT - 1;
/// A mix that has no file left to remove or to work on, or none left to make.
pub(super) const NO_FILE: i64 = SHORT - 2;

/// A thread's state, without its engine.
pub(super) struct Core<'a> {
    pub(super) work: &'a Work,
    pub(super) set: &'a Set,
    pub(super) part: Part,
    /// The number of the thread's first file.
    pub(super) first: u64,
    /// Over blocks, for operations on open files.
    pub(super) blocks: Course,
    /// Over files (or directories), for the others.
    pub(super) numbers: Course,
    pub(super) population: Option<Population>,
    /// Open files by slot; -1 where it is not open.
    slots: Vec<c_int>,
    /// Slots in the order they were opened, where not all can be open at once.
    opened: VecDeque<u32>,
    capacity: usize,
    pub(super) flags: c_int,
    pub(super) writable: bool,
    /// `depth` buffers of a block each.
    pub(super) buffers: Aligned,
    /// From one buffer to the next.
    pub(super) step: usize,
    pub(super) pool: Pool,
    /// Room for directory entries: the C library, too, reads 32 KiB at a time.
    pub(super) entries: Aligned,
    pub(super) listing: Listing,
    pub(super) tags: Tags,
    /// What this phase writes, and what it may find.
    pub(super) generation: u32,
    pub(super) generations: Generations,
    pub(super) name: Name,
    pub(super) other: Name,
    /// Nanoseconds within the present operation that are the engine's own (making and checking tags).
    pub(super) aside: u64,
    /// The slot worked on last.
    pub(super) slot: u32,
    pub(super) verified: u64,
    /// Syncs that the policy asked for.
    pub(super) syncs: Tally,
    pub(super) sentences: Vec<String>,
    pub(super) notes: Vec<String>,
    /// Set when all that the phase runs beside is over, where that is its end.
    pub(super) over: Option<&'a AtomicBool>,
}

/// A thread with its engine.
pub(super) struct Worker<'a, E> {
    pub(super) core: Core<'a>,
    pub(super) engine: E,
}

/// What a thread is told beyond the phase itself.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Orders {
    pub(super) thread: u32,
    pub(super) seed: u64,
    pub(super) generation: u32,
    /// The oldest generation that may be found.
    pub(super) oldest: u32,
    /// Files that this thread may have open.
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
        // One pattern, but operations on names of a mix walk over files and the others over blocks.
        let on_directories = work.has(|o| o == Operation::Readdir) && work.mix.len() == 1;
        let numbered = if on_directories { set.directories().max(1) } else { set.count() };
        let shares_directories = on_directories && numbered < u64::from(work.threads);
        let number_part = if shares_directories { Part { shared: true, threads: 1, thread: 0, ..part } } else { part };
        let blocks = match work.on_blocks() {
            true => Course::blocks(set, work.block, work.pattern, part, stream("engine blocks")),
            false => Course::numbers(0, Pattern::Sequential, part, stream("engine blocks")),
        };
        let writable = work.has(|o| !matches!(o, Operation::Read | Operation::Fsync));
        let block = work.block as usize;
        let step = block.next_multiple_of(4096);
        let slots = if work.on_blocks() { (last - first) as usize } else { 0 };
        let capacity = (orders.capacity as usize).max(1);
        Core {
            work,
            set,
            part,
            first,
            blocks,
            numbers: Course::numbers(numbered, work.pattern, number_part, stream("engine files")),
            population: work.changes_population().then(|| Population::new(last - first, stream("engine population"))),
            slots: vec![-1; slots],
            opened: VecDeque::with_capacity(if slots > capacity { capacity } else { 0 }),
            capacity,
            flags: flags(work, writable),
            writable,
            buffers: Aligned::new(step * work.depth as usize),
            step,
            pool: Pool::new(block, work.data, &mut stream("engine contents")),
            entries: Aligned::new(1 << 15),
            listing: Listing::default(),
            tags: Tags::new(orders.seed, work.data),
            generation: orders.generation,
            generations: Generations { first: orders.oldest, last: orders.generation },
            name: Name::new(),
            other: Name::new(),
            aside: 0,
            slot: 0,
            verified: 0,
            syncs: Tally::new(Operation::Fsync),
            sentences: Vec::with_capacity(SENTENCES),
            notes: Vec::new(),
            over: None,
        }
    }

    /// Sets the name to that of the file of `slot`.
    pub(super) fn name_slot(&mut self, slot: u32) {
        self.set.name(self.set.prefix(), self.first + u64::from(slot), &mut self.name);
    }

    /// Which files are there now, for mixes that make and remove.
    pub(super) fn survey(&mut self) {
        let Some(population) = &mut self.population else { return };
        let (first, last) = self.part.files(self.set.count());
        for file in first..last {
            self.set.name(self.set.prefix(), file, &mut self.name);
            if sys::stat(self.set.folder(), &self.name) >= 0 {
                population.insert(file - first);
            }
        }
    }

    /// Keeps a sentence about an operation that failed.
    #[cold]
    pub(super) fn explain(&mut self, operation: Operation, answer: i64) {
        if self.sentences.len() >= SENTENCES {
            return;
        }
        if operation.works_on_blocks() {
            self.name_slot(self.slot);
        }
        let path = self.set.full_path(&self.name);
        let (what, path) = (operation.name(), path.display());
        self.sentences.push(match answer {
            // The wrong byte was told where it was found.
            WRONG => return,
            SHORT => format!("{what} of {path}: fewer bytes than asked for; the file is shorter, or the disk full"),
            NO_FILE => format!("{what}: no file is left for it; the mix makes and removes more than the set holds"),
            answer => format!("{what} of {path}: {}", sys::error(answer)),
        });
    }

    /// Checks what was read. The number of bytes, or [`WRONG`].
    pub(super) fn check(&mut self, buffer: &[u8], slot: u32, offset: u64) -> i64 {
        let file = self.first + u64::from(slot);
        match self.tags.check(buffer, file, offset, self.generations) {
            Ok(()) => {
                self.verified += buffer.len() as u64;
                buffer.len() as i64
            }
            Err(mismatch) => self.report(file, mismatch),
        }
    }

    #[cold]
    fn report(&mut self, file: u64, wrong: Mismatch) -> i64 {
        if self.sentences.len() < SENTENCES {
            self.set.name(self.set.prefix(), file, &mut self.name);
            let path = self.set.full_path(&self.name);
            self.sentences.push(format!(
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

/// With what the files of a phase are opened.
pub(super) fn flags(work: &Work, writable: bool) -> c_int {
    let mut flags = if writable { libc::O_RDWR } else { libc::O_RDONLY };
    if work.has(|o| matches!(o, Operation::Write | Operation::Fallocate)) {
        flags |= libc::O_CREAT;
    }
    if work.direct {
        flags |= libc::O_DIRECT;
    }
    if work.pattern == Pattern::Append {
        flags |= libc::O_APPEND;
    }
    flags
        | match work.sync.open {
            OpenSync::None => 0,
            OpenSync::Dsync => libc::O_DSYNC,
            OpenSync::Sync => libc::O_SYNC,
        }
}

impl<E: Engine> Worker<'_, E> {
    /// The open file of a slot, or a negative error number.
    #[inline(always)]
    pub(super) fn file(&mut self, slot: u32) -> i64 {
        self.core.slot = slot;
        let file = self.core.slots[slot as usize];
        if file >= 0 { i64::from(file) } else { self.open(slot) }
    }

    /// Opens all files of the thread, as many as may be open. Untimed.
    ///
    /// # Errors
    /// The first file that cannot be opened, or that is too short for what will be read from it.
    pub(super) fn open_all(&mut self) -> Result<(), EngineError> {
        let slots = self.core.slots.len();
        let reads_only = self.core.work.has(|o| matches!(o, Operation::Read | Operation::Rewrite))
            && !self.core.work.has(|o| o == Operation::Write);
        for slot in 0..slots.min(self.core.capacity) as u32 {
            let file = self.open(slot);
            let io = |doing, answer| {
                let path = self.core.set.full_path(&self.core.name);
                EngineError::io(doing, path)(sys::error(answer))
            };
            if file < 0 {
                return Err(io("cannot open", file));
            }
            let needed = self.core.set.size(self.core.first + u64::from(slot));
            let there = sys::size(file as c_int);
            if reads_only && there >= 0 && (there as u64) < needed {
                let path = self.core.set.full_path(&self.core.name);
                let reason = format!(
                    "{} has {there} bytes and {needed} are to be read: let a phase before this one write it",
                    path.display()
                );
                return Err(EngineError::cannot_run(&self.core.work.name, reason));
            }
        }
        if slots > self.core.capacity {
            self.core.notes.push(format!(
                "{slots} files and room for {} open ones: the others are opened when they are needed, inside the time",
                self.core.capacity
            ));
        }
        Ok(())
    }

    /// Stands in for opening where nothing will be done to files.
    ///
    /// # Errors
    /// None; it is an alternative to [`Worker::open_all`].
    pub(super) fn pretend(&mut self) -> Result<(), EngineError> {
        // A number that no process has as a file: closing it does nothing.
        self.core.slots.fill(c_int::MAX);
        Ok(())
    }

    #[cold]
    fn open(&mut self, slot: u32) -> i64 {
        let core = &mut self.core;
        if core.opened.len() >= core.capacity
            && let Some(oldest) = core.opened.pop_front()
        {
            let closed = self.close(oldest);
            if closed < 0 {
                return closed;
            }
        }
        let core = &mut self.core;
        core.name_slot(slot);
        let file = sys::openat(core.set.folder(), &core.name, core.flags);
        if file < 0 {
            return file;
        }
        let size = core.set.size(core.first + u64::from(slot));
        let ready = self.engine.opened(slot, file as c_int, size, core.writable);
        if ready < 0 {
            sys::close(file as c_int);
            return ready;
        }
        core.slots[slot as usize] = file as c_int;
        if core.slots.len() > core.capacity {
            core.opened.push_back(slot);
        }
        file
    }

    fn close(&mut self, slot: u32) -> i64 {
        let file = std::mem::replace(&mut self.core.slots[slot as usize], -1);
        if file < 0 {
            return 0;
        }
        let mut answer = self.engine.closing(slot);
        // What the policy promises for the end is due when a file is closed before it.
        if self.core.work.sync.end && self.core.writable && answer >= 0 {
            answer = if self.core.work.sync.data_only { sys::fdatasync(file) } else { sys::fsync(file) };
        }
        let closed = sys::close(file);
        if answer < 0 { answer } else { closed }
    }

    /// Closes all files; the first error, or 0. Untimed, after what the phase promised was made durable.
    pub(super) fn close_all(&mut self) -> i64 {
        let mut answer = 0;
        let pretended = self.core.slots.first() == Some(&c_int::MAX);
        for slot in 0..if pretended { 0 } else { self.core.slots.len() as u32 } {
            let file = std::mem::replace(&mut self.core.slots[slot as usize], -1);
            if file >= 0 {
                let flushed = self.engine.closing(slot);
                let closed = sys::close(file);
                answer = [answer, flushed, closed].into_iter().find(|answer| *answer < 0).unwrap_or(0);
            }
        }
        answer
    }

    /// How many slots there are.
    pub(super) fn slots(&self) -> u32 {
        self.core.slots.len() as u32
    }

    /// The file of a slot, if it is open.
    pub(super) fn open_file(&self, slot: u32) -> Option<c_int> {
        self.core.slots.get(slot as usize).copied().filter(|file| *file >= 0)
    }
}
