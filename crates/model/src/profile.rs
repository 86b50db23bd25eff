//! Where the time of a measured interval went, by the path of calls.

use std::collections::BTreeMap;

use crate::device::DeviceOperation;

/// A part of a task's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interval {
    /// From before the command was started until it had ended.
    Returned,
    /// Until its data were durable, after that.
    Sync,
}

impl Interval {
    pub const ALL: [Interval; 2] = [Interval::Returned, Interval::Sync];

    /// Its number in a mark of the guest.
    pub const fn number(self) -> u64 {
        match self {
            Interval::Returned => 1,
            Interval::Sync => 2,
        }
    }
}

/// What a path of calls ran and waited for. Times are nanoseconds of the guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathTime {
    /// While its instructions were executed.
    pub running: u64,
    /// While the processor was idle and this path was the last to sleep, by the request that the disk would answer next:
    /// `None` if it had nothing to do.
    pub waiting: BTreeMap<Option<Awaited>, u64>,
}

/// A request that was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Awaited {
    pub operation: DeviceOperation,
    /// Where it began; `None` of a flush, of another disk than the one under test, and where nobody looked.
    pub part: Option<Part>,
}

/// What a part of a disk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Superblock,
    /// Descriptors of block groups, headers of allocation groups.
    Groups,
    /// Which blocks and inodes are free: bitmaps, trees.
    FreeSpace,
    Inodes,
    Directories,
    /// Where a file's blocks lie: indirect blocks, extents outside the inode.
    Mapping,
    Attributes,
    /// Also a log, or a tree that serves as one.
    Journal,
    Checksums,
    /// A tree that holds inodes, names and mappings alike.
    FileTree,
    OtherTrees,
    Data,
    /// No file, and nothing of the file system's own.
    Unused,
    /// A sixteenth of the disk, from 0 on, of a file system that nobody here can read.
    Sixteenth(u8),
}

impl Part {
    /// All kinds, in the order of their numbers in stores, which stay.
    pub const ALL: [Part; 13] = [
        Part::Superblock,
        Part::Groups,
        Part::FreeSpace,
        Part::Inodes,
        Part::Directories,
        Part::Mapping,
        Part::Attributes,
        Part::Journal,
        Part::Checksums,
        Part::FileTree,
        Part::OtherTrees,
        Part::Data,
        Part::Unused,
    ];
    const FIRST_SIXTEENTH: u8 = 64;

    /// In exports: `superblock`, `free_space`, `sixteenth_1`.
    pub fn name(self) -> String {
        match self {
            Part::Superblock => "superblock",
            Part::Groups => "groups",
            Part::FreeSpace => "free_space",
            Part::Inodes => "inodes",
            Part::Directories => "directories",
            Part::Mapping => "mapping",
            Part::Attributes => "attributes",
            Part::Journal => "journal",
            Part::Checksums => "checksums",
            Part::FileTree => "file_tree",
            Part::OtherTrees => "other_trees",
            Part::Data => "data",
            Part::Unused => "unused",
            Part::Sixteenth(at) => return format!("sixteenth_{}", at + 1),
        }
        .to_owned()
    }

    /// Its number in stores; never 0.
    pub fn number(self) -> u8 {
        match self {
            Part::Sixteenth(part) => Part::FIRST_SIXTEENTH + part,
            named => Part::ALL.iter().position(|part| *part == named).map_or(0, |at| at as u8 + 1),
        }
    }

    /// The part with this number.
    pub fn of_number(number: u8) -> Option<Part> {
        match number.checked_sub(Part::FIRST_SIXTEENTH) {
            Some(part) => (part < 16).then_some(Part::Sixteenth(part)),
            None => Part::ALL.get(usize::from(number.checked_sub(1)?)).copied(),
        }
    }
}

/// An interval of one task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// By path: the program, then the kernel's functions from the outermost on (`module:function` for those of modules), or
    /// code of its own ([`program::Code`]).
    pub paths: BTreeMap<Vec<String>, PathTime>,
    /// What of their running was iterations of string instructions, which copy and clear; `None` in profiles of before they
    /// were told apart.
    pub strings: Option<BTreeMap<Vec<String>, u64>>,
    /// How often system calls were entered, by the path to their first function; empty in profiles without callers.
    pub entries: BTreeMap<Vec<String>, u64>,
}

/// Where the time of one task went, the time `iteration` that it ran (from 0).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskProfile {
    pub task: String,
    pub iteration: u32,
    pub returned: Profile,
    /// After that.
    pub sync: Profile,
}

/// Programs that are none of the task's, as the first element of paths; and code of programs, as the second one.
pub mod program {
    /// Code outside the kernel.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Code<'a> {
        /// In the guest: `/usr/lib/libc.so.6`.
        pub file: &'a str,
        /// `None` where the file's symbols do not say.
        pub function: Option<&'a str>,
    }

    /// Code outside the kernel by its name in a path, the file or `FILE:FUNCTION`; `None` of the kernel's functions.
    pub fn code(name: &str) -> Option<Code<'_>> {
        let is_file = name.starts_with('/');
        // No function that is told has a slash.
        let parts = name.rsplit_once(':').filter(|(_, function)| !function.contains('/'));
        let (file, function) = parts.map_or((name, None), |(file, function)| (file, Some(function)));
        is_file.then_some(Code { file, function })
    }

    /// The processes that stand for the disks.
    pub const DISK_SERVER: &str = "disk server";
    /// What interrupts do, whoever they interrupt.
    pub const INTERRUPTS: &str = "interrupts";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_programs_has_a_file() {
        let code = |name| program::code(name).map(|code| (code.file, code.function));
        assert_eq!(code("/usr/lib/libc.so.6:read"), Some(("/usr/lib/libc.so.6", Some("read"))));
        assert_eq!(code("/usr/bin/a:b/c"), Some(("/usr/bin/a:b/c", None)));
        assert_eq!([code("ext4:ext4_match"), code("cp")], [None; 2]);
    }

    #[test]
    fn a_part_comes_back_from_its_number() {
        let parts = (0..16).map(Part::Sixteenth);
        for part in Part::ALL.into_iter().chain(parts) {
            assert_eq!(Part::of_number(part.number()), Some(part));
        }
        assert_eq!([0, 14, 63, 80, 255].map(Part::of_number), [None; 5]);
    }
}
