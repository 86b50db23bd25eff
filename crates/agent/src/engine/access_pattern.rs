//! Which block or file comes next: a pattern over items, and the layout of items in files.
//!
//! Pattern and layout are chosen once; a loop then calls one function compiled for both.

use mountmark_model::workload::Pattern;
use mountmark_random::Stream;

use super::permutation::Permutation;
use super::set::Set;
use super::zipf::Zipf;

/// One block of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Index of the file, counted from this thread's first one.
    pub(super) slot: u32,
    /// Bytes from the file's start.
    pub(super) offset: u64,
    /// Bytes; less than a block only at the file's end.
    pub(super) length: usize,
}

/// One thread's share of all items: from, to.
pub(super) fn share(items: u64, thread: u32, threads: u32) -> (u64, u64) {
    let edge = |thread: u32| (u128::from(items) * u128::from(thread) / u128::from(threads)) as u64;
    (edge(thread), edge(thread + 1))
}

/// One thread's way through its items.
#[derive(Clone, Debug)]
pub(super) struct AccessPattern {
    /// First item; items are blocks of files one after another, or files.
    begin: u64,
    end: u64,
    position: u64,
    stride: u64,
    /// First item of the current round of a stride.
    lane: u64,
    stream: Stream,
    zipf: Zipf,
    permutation: Permutation,
    block: u64,
    /// The size of every file, and its blocks, if all are the same.
    size: u64,
    per_file: u64,
    /// If sizes differ: the number of the first block after each file, and the length of its last block.
    ends: Vec<u64>,
    tails: Vec<u32>,
    /// The file of the last block.
    file: usize,
    next_item: fn(&mut AccessPattern) -> u64,
    next_place: fn(&mut AccessPattern) -> Place,
}

/// The range of a course.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) thread: u32,
    pub(super) threads: u32,
    /// Whether all threads share all files.
    pub(super) shared: bool,
    /// The seed of shuffled orders and of the places of likely items: the same for all threads, so that they share
    /// their favourites.
    pub(super) key: u64,
}

impl Part {
    /// The thread's files: from, to.
    pub(super) fn files(self, count: u64) -> (u64, u64) {
        if self.shared { (0, count) } else { share(count, self.thread, self.threads) }
    }
}

impl AccessPattern {
    /// A course over all blocks of the thread's files.
    pub(super) fn blocks(set: &Set, block: u64, pattern: Pattern, part: Part, stream: Stream) -> AccessPattern {
        let (first, last) = part.files(set.count());
        let (mut ends, mut tails) = (Vec::new(), Vec::new());
        let size = set.fixed_size();
        let per_file = size.map_or(1, |size| size.div_ceil(block)).max(1);
        let items = match size {
            Some(size) => (last - first) * size.div_ceil(block),
            None => {
                ends.reserve_exact((last - first) as usize);
                tails.reserve_exact((last - first) as usize);
                let mut end = 0;
                for file in first..last {
                    let size = set.size(file);
                    end += size.div_ceil(block);
                    ends.push(end);
                    tails.push(if size == 0 { 0 } else { ((size - 1) % block + 1) as u32 });
                }
                end
            }
        };
        let mut course = AccessPattern::over(items, pattern, part, stream);
        (course.block, course.size, course.per_file) = (block, size.unwrap_or(0), per_file);
        course.next_place = match (size.is_some(), last - first) {
            (true, 1) => place_function::<OneFile>(pattern),
            (true, _) => place_function::<EvenFiles>(pattern),
            (false, _) => place_function::<UnevenFiles>(pattern),
        };
        (course.ends, course.tails) = (ends, tails);
        course
    }

    /// A course over numbers: those of the thread's files, or of directories.
    pub(super) fn numbers(count: u64, pattern: Pattern, part: Part, stream: Stream) -> AccessPattern {
        let (first, last) = part.files(count);
        let mut course = AccessPattern::over(last - first, pattern, part, stream);
        course.begin += first;
        course.end += first;
        course.restart();
        course
    }

    fn over(items: u64, pattern: Pattern, part: Part, stream: Stream) -> AccessPattern {
        let jumps = matches!(pattern, Pattern::Random | Pattern::Zipf(_) | Pattern::SameRecord);
        let (begin, end) = if part.shared && !jumps { share(items, part.thread, part.threads) } else { (0, items) };
        let theta = if let Pattern::Zipf(theta) = pattern { theta } else { 1.0 };
        let stride = if let Pattern::Strided(stride) = pattern { stride } else { 1 };
        let mut course = AccessPattern {
            begin,
            end,
            position: 0,
            stride,
            lane: 0,
            stream,
            zipf: Zipf::new((end - begin).max(1), theta),
            permutation: Permutation::new((end - begin).max(1), part.key),
            block: 0,
            size: 0,
            per_file: 1,
            ends: Vec::new(),
            tails: Vec::new(),
            file: 0,
            next_item: item_function(pattern),
            next_place: place_function::<OneFile>(pattern),
        };
        course.restart();
        course
    }

    fn restart(&mut self) {
        self.position = self.begin;
        self.lane = self.begin;
    }

    /// Number of items in one pass of this thread.
    pub(super) fn length(&self) -> u64 {
        self.end - self.begin
    }

    /// The next block. Requires [`AccessPattern::length`] above 0.
    #[inline(always)]
    pub(super) fn place(&mut self) -> Place {
        (self.next_place)(self)
    }

    /// The next number. Requires [`AccessPattern::length`] above 0.
    #[inline(always)]
    pub(super) fn number(&mut self) -> u64 {
        (self.next_item)(self)
    }
}

/// A pattern as a type.
trait Order {
    fn next(course: &mut AccessPattern) -> u64;
}

struct Sequential;
struct Backward;
struct Strided;
struct Random;
struct Shuffled;
struct Zipfian;
struct Same;

impl Order for Sequential {
    #[inline(always)]
    fn next(course: &mut AccessPattern) -> u64 {
        let item = course.position;
        course.position = if item + 1 == course.end { course.begin } else { item + 1 };
        item
    }
}

impl Order for Backward {
    #[inline(always)]
    fn next(course: &mut AccessPattern) -> u64 {
        course.position = if course.position == course.begin { course.end } else { course.position } - 1;
        course.position
    }
}

impl Order for Strided {
    #[inline(always)]
    fn next(course: &mut AccessPattern) -> u64 {
        let item = course.position;
        course.position = item.saturating_add(course.stride);
        if course.position >= course.end {
            course.lane += 1;
            if course.lane - course.begin >= course.stride || course.lane >= course.end {
                course.lane = course.begin;
            }
            course.position = course.lane;
        }
        item
    }
}

impl Order for Random {
    #[inline(always)]
    fn next(course: &mut AccessPattern) -> u64 {
        course.begin + course.stream.below(course.end - course.begin)
    }
}

impl Order for Shuffled {
    #[inline(always)]
    fn next(course: &mut AccessPattern) -> u64 {
        let item = Sequential::next(course);
        course.begin + course.permutation.apply(item - course.begin)
    }
}

impl Order for Zipfian {
    #[inline(always)]
    fn next(course: &mut AccessPattern) -> u64 {
        let rank = course.zipf.draw(&mut course.stream);
        course.begin + course.permutation.apply(rank - 1)
    }
}

impl Order for Same {
    #[inline(always)]
    fn next(course: &mut AccessPattern) -> u64 {
        course.begin
    }
}

/// The layout of blocks in files as a type.
trait Layout {
    fn place(course: &mut AccessPattern, item: u64) -> Place;
}

struct OneFile;
struct EvenFiles;
struct UnevenFiles;

impl Layout for OneFile {
    #[inline(always)]
    fn place(course: &mut AccessPattern, item: u64) -> Place {
        let offset = item * course.block;
        Place { slot: 0, offset, length: course.block.min(course.size - offset) as usize }
    }
}

impl Layout for EvenFiles {
    #[inline(always)]
    fn place(course: &mut AccessPattern, item: u64) -> Place {
        let (file, block) = (item / course.per_file, item % course.per_file);
        let offset = block * course.block;
        Place { slot: file as u32, offset, length: course.block.min(course.size - offset) as usize }
    }
}

impl Layout for UnevenFiles {
    #[inline]
    fn place(course: &mut AccessPattern, item: u64) -> Place {
        let start = |file: usize| if file == 0 { 0 } else { course.ends[file - 1] };
        // Mostly the same file as before; the search also skips files without a block.
        let mut file = course.file;
        if item < start(file) || item >= course.ends[file] {
            file = course.ends.partition_point(|end| *end <= item);
        }
        let block = item - start(file);
        let last = item + 1 == course.ends[file];
        let length = if last { course.tails[file] as usize } else { course.block as usize };
        course.file = file;
        Place { slot: file as u32, offset: block * course.block, length }
    }
}

fn item_function(pattern: Pattern) -> fn(&mut AccessPattern) -> u64 {
    match pattern {
        Pattern::Sequential | Pattern::Append | Pattern::PerCharacter | Pattern::Listed => Sequential::next,
        Pattern::Backward => Backward::next,
        Pattern::Strided(_) => Strided::next,
        Pattern::Random => Random::next,
        Pattern::Shuffled => Shuffled::next,
        Pattern::Zipf(_) => Zipfian::next,
        Pattern::SameRecord => Same::next,
    }
}

fn place_function<L: Layout>(pattern: Pattern) -> fn(&mut AccessPattern) -> Place {
    fn next<O: Order, L: Layout>(course: &mut AccessPattern) -> Place {
        let item = O::next(course);
        L::place(course, item)
    }
    match pattern {
        Pattern::Sequential | Pattern::Append | Pattern::PerCharacter | Pattern::Listed => next::<Sequential, L>,
        Pattern::Backward => next::<Backward, L>,
        Pattern::Strided(_) => next::<Strided, L>,
        Pattern::Random => next::<Random, L>,
        Pattern::Shuffled => next::<Shuffled, L>,
        Pattern::Zipf(_) => next::<Zipfian, L>,
        Pattern::SameRecord => next::<Same, L>,
    }
}

#[cfg(test)]
mod tests;
