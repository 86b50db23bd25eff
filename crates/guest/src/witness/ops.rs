//! Runs the operations of a workload, each by the system calls that its name stands for.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mountmark_crash::tree::words;
use mountmark_crash::workload::{Device, Fallocation, Op, Renaming, Writing};
use rustix::fs::{AtFlags, CWD, FallocateFlags, FileType, Mode, OFlags, RenameFlags, XattrFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, MsyncFlags, ProtFlags};

/// O_DIRECT wants its memory aligned to this, in bytes.
const ALIGNED: usize = 4096;

/// A workload under way.
pub(super) struct Runner {
    root: PathBuf,
    /// Files that are kept open, by handle.
    open: HashMap<String, OwnedFd>,
}

impl Runner {
    pub fn new(root: &Path) -> Runner {
        Runner { root: root.to_owned(), open: HashMap::new() }
    }

    /// Runs the operation with this number.
    pub fn run(&mut self, number: u16, op: &Op) -> Result<(), Errno> {
        let at = |path: &str| self.root.join(path);
        match op {
            Op::Create { path } => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
                rustix::fs::open(at(path), flags, Mode::from_raw_mode(0o644)).map(drop)
            }
            Op::Mkdir { path } => rustix::fs::mkdir(at(path), Mode::from_raw_mode(0o755)),
            Op::Symlink { target, path } => rustix::fs::symlink(target.as_str(), at(path)),
            Op::Mkfifo { path } => self.node(path, FileType::Fifo, (0, 0)),
            Op::Mknod { path, device: Device::Char, major, minor } => {
                self.node(path, FileType::CharacterDevice, (*major, *minor))
            }
            Op::Mknod { path, device: Device::Block, major, minor } => {
                self.node(path, FileType::BlockDevice, (*major, *minor))
            }
            Op::Tmpfile { folder, handle } => {
                let flags = OFlags::TMPFILE | OFlags::RDWR;
                let file = rustix::fs::open(at(folder), flags, Mode::from_raw_mode(0o644))?;
                self.open.insert(handle.clone(), file);
                Ok(())
            }
            Op::Open { path, handle } => {
                let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK;
                self.open.insert(handle.clone(), rustix::fs::open(at(path), flags, Mode::empty())?);
                Ok(())
            }
            Op::Link { from, to } => match self.open.get(from) {
                Some(file) => {
                    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file));
                    rustix::fs::linkat(CWD, path.as_str(), CWD, at(to), AtFlags::SYMLINK_FOLLOW)
                }
                None => rustix::fs::linkat(CWD, at(from), CWD, at(to), AtFlags::empty()),
            },
            Op::Unlink { path } => rustix::fs::unlink(at(path)),
            Op::Rmdir { path } => rustix::fs::rmdir(at(path)),
            Op::Rename { from, to, how } => {
                let flags = match how {
                    Renaming::Plain => RenameFlags::empty(),
                    Renaming::NoReplace => RenameFlags::NOREPLACE,
                    Renaming::Exchange => RenameFlags::EXCHANGE,
                    Renaming::Whiteout => RenameFlags::WHITEOUT,
                };
                rustix::fs::renameat_with(CWD, at(from), CWD, at(to), flags)
            }
            Op::Write { path, offset, length, how } => self.write(number, path, *offset, *length, *how),
            Op::Empty { path } => rustix::fs::open(at(path), OFlags::TRUNC | OFlags::WRONLY, Mode::empty()).map(drop),
            Op::Truncate { path, size } => self.with(path, OFlags::WRONLY, |file| rustix::fs::ftruncate(file, *size)),
            Op::Fallocate { path, mode, offset, length } => {
                let flags = flags(*mode);
                self.with(path, OFlags::WRONLY, |file| rustix::fs::fallocate(file, flags, *offset, *length))
            }
            Op::Clone { from, to } => self.with(from, OFlags::RDONLY, |source| {
                self.with(to, OFlags::WRONLY, |target| rustix::fs::ioctl_ficlone(target, source))
            }),
            Op::SetXattr { path, name, value } => {
                rustix::fs::setxattr(at(path), format!("user.{name}"), value.as_bytes(), XattrFlags::empty())
            }
            Op::RemoveXattr { path, name } => rustix::fs::removexattr(at(path), format!("user.{name}")),
            Op::Chmod { path, mode } => rustix::fs::chmod(at(path), Mode::from_raw_mode(*mode)),
            Op::Fsync { path } => self.with(path, OFlags::RDONLY, |file| rustix::fs::fsync(file)),
            Op::Fdatasync { path } => self.with(path, OFlags::RDONLY, |file| rustix::fs::fdatasync(file)),
            Op::Msync { path, offset, length } => self.msync(path, *offset, *length),
            Op::Sync => {
                rustix::fs::sync();
                Ok(())
            }
            Op::Evict => std::fs::write("/proc/sys/vm/drop_caches", "3").map_err(|error| errno(&error)),
            // The medium does it, once the file system is unmounted.
            Op::Lose { .. } => Err(Errno::NOSYS),
            Op::Idle { seconds } => {
                std::thread::sleep(Duration::from_secs((*seconds).into()));
                Ok(())
            }
        }
    }

    fn node(&self, path: &str, kind: FileType, (major, minor): (u32, u32)) -> Result<(), Errno> {
        let mode = Mode::from_raw_mode(0o644);
        rustix::fs::mknodat(CWD, self.root.join(path), kind, mode, rustix::fs::makedev(major, minor))
    }

    /// Does something with an open file: a handle, or a path that is opened for it.
    fn with<T>(
        &self,
        path: &str,
        flags: OFlags,
        act: impl FnOnce(std::os::fd::BorrowedFd) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        match self.open.get(path) {
            Some(file) if !flags.intersects(OFlags::DIRECT | OFlags::SYNC | OFlags::DSYNC) => act(file.as_fd()),
            Some(file) => {
                // Another open file of the same inode.
                let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file));
                act(rustix::fs::open(path, flags, Mode::empty())?.as_fd())
            }
            // Where an earlier operation failed a FIFO may be there instead, and nobody is at its other end.
            None => {
                act(rustix::fs::open(self.root.join(path), flags | OFlags::NOFOLLOW | OFlags::NONBLOCK, Mode::empty())?
                    .as_fd())
            }
        }
    }

    fn write(&self, number: u16, path: &str, offset: u64, length: u64, how: Writing) -> Result<(), Errno> {
        let extra = match how {
            Writing::Buffered => OFlags::empty(),
            Writing::Direct => OFlags::DIRECT,
            Writing::Sync => OFlags::SYNC,
            Writing::Dsync => OFlags::DSYNC,
            Writing::Mmap => return self.store(number, path, offset, length),
        };
        let bytes = Aligned::new(number, offset, length);
        self.with(path, OFlags::WRONLY | extra, |file| {
            let mut done = 0;
            while done < length {
                done += rustix::io::pwrite(file, &bytes.get()[done as usize..], offset + done)? as u64;
            }
            Ok(())
        })
    }

    /// Writes by a shared mapping; extends the file first where it is too short.
    fn store(&self, number: u16, path: &str, offset: u64, length: u64) -> Result<(), Errno> {
        let bytes = Aligned::new(number, offset, length);
        self.mapped(path, offset, length, true, |target| {
            target.copy_from_slice(bytes.get());
            Ok(())
        })
    }

    fn msync(&self, path: &str, offset: u64, length: u64) -> Result<(), Errno> {
        self.mapped(path, offset, length, false, |target| {
            let start = target.as_mut_ptr() as usize / ALIGNED * ALIGNED;
            let length = target.as_ptr() as usize + target.len() - start;
            // SAFETY: the range lies in a mapping that lasts for the call.
            unsafe { rustix::mm::msync(start as *mut _, length, MsyncFlags::SYNC) }
        })
    }

    /// Maps a part of a file for the time of `act`.
    fn mapped(
        &self,
        path: &str,
        offset: u64,
        length: u64,
        extend: bool,
        act: impl FnOnce(&mut [u8]) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        self.with(path, OFlags::RDWR, |file| {
            let end = offset + length;
            if extend && (rustix::fs::fstat(file)?.st_size as u64) < end {
                rustix::fs::ftruncate(file, end)?;
            }
            let start = offset / ALIGNED as u64 * ALIGNED as u64;
            let size = (end - start) as usize;
            // SAFETY: a new mapping at an address that the kernel chooses.
            let map = unsafe {
                rustix::mm::mmap(
                    std::ptr::null_mut(),
                    size,
                    ProtFlags::READ | ProtFlags::WRITE,
                    MapFlags::SHARED,
                    file,
                    start,
                )?
            };
            // SAFETY: the part lies in the mapping, which nothing else uses, and the file is as long.
            let part = unsafe {
                std::slice::from_raw_parts_mut(map.cast::<u8>().add((offset - start) as usize), length as usize)
            };
            let result = act(part);
            // SAFETY: the mapping made above, which `part` does not outlive.
            unsafe { rustix::mm::munmap(map, size)? };
            result
        })
    }
}

fn flags(mode: Fallocation) -> FallocateFlags {
    match mode {
        Fallocation::Extend => FallocateFlags::empty(),
        Fallocation::Keep => FallocateFlags::KEEP_SIZE,
        Fallocation::Zero => FallocateFlags::ZERO_RANGE,
        Fallocation::ZeroKeep => FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE,
        Fallocation::Punch => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
        Fallocation::Collapse => FallocateFlags::COLLAPSE_RANGE,
        Fallocation::Insert => FallocateFlags::INSERT_RANGE,
    }
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// The words that an operation writes, in memory that O_DIRECT takes.
struct Aligned {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    fn new(number: u16, offset: u64, length: u64) -> Aligned {
        let length = length as usize;
        let mut memory = vec![0; length + ALIGNED];
        let start = memory.as_ptr().align_offset(ALIGNED);
        for (word, index) in memory[start..start + length].chunks_mut(words::WORD as usize).zip(offset / words::WORD..)
        {
            let bytes = words::written(number, index as u32).to_le_bytes();
            word.copy_from_slice(&bytes[..word.len()]);
        }
        Aligned { memory, start, length }
    }

    fn get(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }
}
