//! System calls for the engine: no allocation, and the kernel's own form of result, a count or the negative error
//! number.

use std::ffi::c_int;
use std::io;

/// A path relative to a set's folder, always terminated by a zero byte.
pub(super) struct Name {
    bytes: Box<[u8; Name::LENGTH]>,
    length: usize,
}

impl Name {
    /// PATH_MAX and the zero.
    const LENGTH: usize = 4097;

    pub(super) fn new() -> Name {
        Name { bytes: Box::new([0; Name::LENGTH]), length: 0 }
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.length = 0;
        self.bytes[0] = 0;
    }

    /// Appends; a name beyond PATH_MAX is cut, and the kernel then refuses it as too long.
    #[inline]
    pub(super) fn push(&mut self, text: &[u8]) {
        let end = (self.length + text.len()).min(Name::LENGTH - 1);
        let taken = end - self.length;
        self.bytes[self.length..end].copy_from_slice(&text[..taken]);
        self.length = end;
        self.bytes[end] = 0;
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    #[inline(always)]
    fn pointer(&self) -> *const libc::c_char {
        self.bytes.as_ptr().cast()
    }
}

/// The error of a negative result.
pub(super) fn error(answer: i64) -> io::Error {
    io::Error::from_raw_os_error(i32::try_from(-answer).unwrap_or(libc::EIO))
}

#[inline(always)]
fn answer(result: isize) -> i64 {
    if result < 0 { last_error() } else { result as i64 }
}

#[cold]
fn last_error() -> i64 {
    // SAFETY: the location is this thread's own and always exists.
    -i64::from(unsafe { *libc::__errno_location() })
}

#[inline(always)]
pub(super) fn pread(file: c_int, buffer: &mut [u8], offset: u64) -> i64 {
    // SAFETY: the pointer and length are of one live, writable slice.
    answer(unsafe { libc::pread(file, buffer.as_mut_ptr().cast(), buffer.len(), offset as libc::off_t) })
}

#[inline(always)]
pub(super) fn pwrite(file: c_int, buffer: &[u8], offset: u64) -> i64 {
    // SAFETY: the pointer and length are of one live slice.
    answer(unsafe { libc::pwrite(file, buffer.as_ptr().cast(), buffer.len(), offset as libc::off_t) })
}

#[inline(always)]
pub(super) fn read(file: c_int, buffer: &mut [u8]) -> i64 {
    // SAFETY: the pointer and length are of one live, writable slice.
    answer(unsafe { libc::read(file, buffer.as_mut_ptr().cast(), buffer.len()) })
}

#[inline(always)]
pub(super) fn write(file: c_int, buffer: &[u8]) -> i64 {
    // SAFETY: the pointer and length are of one live slice.
    answer(unsafe { libc::write(file, buffer.as_ptr().cast(), buffer.len()) })
}

/// Returns the descriptor, or a negative error number.
#[inline(always)]
pub(super) fn openat(folder: c_int, name: &Name, flags: c_int) -> i64 {
    // SAFETY: a `Name` ends with a zero byte; the mode is passed as the variadic argument that O_CREAT reads.
    answer(unsafe { libc::openat(folder, name.pointer(), flags | libc::O_CLOEXEC, 0o644 as libc::c_uint) } as isize)
}

#[inline(always)]
pub(super) fn close(file: c_int) -> i64 {
    // SAFETY: closing a number does not touch memory; callers own the file.
    answer(unsafe { libc::close(file) } as isize)
}

pub(super) fn fsync(file: c_int) -> i64 {
    // SAFETY: no memory is passed.
    answer(unsafe { libc::fsync(file) } as isize)
}

pub(super) fn fdatasync(file: c_int) -> i64 {
    // SAFETY: no memory is passed.
    answer(unsafe { libc::fdatasync(file) } as isize)
}

pub(super) fn fallocate(file: c_int, offset: u64, length: u64) -> i64 {
    // SAFETY: no memory is passed.
    answer(unsafe { libc::fallocate(file, 0, offset as libc::off_t, length as libc::off_t) } as isize)
}

pub(super) fn ftruncate(file: c_int, length: u64) -> i64 {
    // SAFETY: no memory is passed.
    answer(unsafe { libc::ftruncate(file, length as libc::off_t) } as isize)
}

/// Drops a file's clean pages from the page cache.
pub(super) fn drop_pages(file: c_int) -> i64 {
    // SAFETY: no memory is passed. The call returns the error number itself.
    -i64::from(unsafe { libc::posix_fadvise(file, 0, 0, libc::POSIX_FADV_DONTNEED) })
}

/// In bytes.
pub(super) fn size(file: c_int) -> i64 {
    // SAFETY: a zeroed stat is a valid one.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a stat of this frame.
    let answered = answer(unsafe { libc::fstat(file, &mut stat) } as isize);
    if answered < 0 { answered } else { stat.st_size }
}

/// Reads a file's attributes by name; returns its size in bytes.
#[inline(always)]
pub(super) fn stat(folder: c_int, name: &Name) -> i64 {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the name ends with a zero byte, and the pointer is to memory as large as a stat.
    let answered =
        answer(unsafe { libc::fstatat(folder, name.pointer(), stat.as_mut_ptr(), libc::AT_SYMLINK_NOFOLLOW) } as isize);
    if answered < 0 {
        return answered;
    }
    // SAFETY: the kernel has filled it, as the call succeeded.
    unsafe { stat.assume_init() }.st_size
}

pub(super) fn rename(folder: c_int, old: &Name, new: &Name) -> i64 {
    // SAFETY: both names end with a zero byte.
    answer(unsafe { libc::renameat(folder, old.pointer(), folder, new.pointer()) } as isize)
}

pub(super) fn link(folder: c_int, old: &Name, new: &Name) -> i64 {
    // SAFETY: both names end with a zero byte.
    answer(unsafe { libc::linkat(folder, old.pointer(), folder, new.pointer(), 0) } as isize)
}

pub(super) fn symlink(folder: c_int, target: &Name, new: &Name) -> i64 {
    // SAFETY: both names end with a zero byte.
    answer(unsafe { libc::symlinkat(target.pointer(), folder, new.pointer()) } as isize)
}

pub(super) fn chmod(folder: c_int, name: &Name, mode: u32) -> i64 {
    // SAFETY: the name ends with a zero byte.
    answer(unsafe { libc::fchmodat(folder, name.pointer(), mode, 0) } as isize)
}

pub(super) fn unlink(folder: c_int, name: &Name) -> i64 {
    // SAFETY: the name ends with a zero byte.
    answer(unsafe { libc::unlinkat(folder, name.pointer(), 0) } as isize)
}

pub(super) fn mkdir(folder: c_int, name: &Name) -> i64 {
    // SAFETY: the name ends with a zero byte.
    answer(unsafe { libc::mkdirat(folder, name.pointer(), 0o755) } as isize)
}

pub(super) fn rmdir(folder: c_int, name: &Name) -> i64 {
    // SAFETY: the name ends with a zero byte.
    answer(unsafe { libc::unlinkat(folder, name.pointer(), libc::AT_REMOVEDIR) } as isize)
}

const ATTRIBUTE: &std::ffi::CStr = c"user.mountmark";

/// By absolute path: no call that takes a folder exists on all supported kernels.
pub(super) fn setxattr(path: &Name, value: &[u8]) -> i64 {
    // SAFETY: both names end with a zero byte; the pointer and length are of one live slice.
    answer(unsafe { libc::setxattr(path.pointer(), ATTRIBUTE.as_ptr(), value.as_ptr().cast(), value.len(), 0) } as isize)
}

/// Returns the value's length.
pub(super) fn getxattr(path: &Name, value: &mut [u8]) -> i64 {
    // SAFETY: both names end with a zero byte; the pointer and length are of one live, writable slice.
    answer(unsafe { libc::getxattr(path.pointer(), ATTRIBUTE.as_ptr(), value.as_mut_ptr().cast(), value.len()) })
}

/// Reads entries of an open directory into `buffer`; returns bytes read, 0 at the end.
pub(super) fn getdents(directory: c_int, buffer: &mut [u8]) -> i64 {
    // SAFETY: the pointer and length are of one live, writable slice.
    let result = unsafe { libc::syscall(libc::SYS_getdents64, directory, buffer.as_mut_ptr(), buffer.len()) };
    answer(result as isize)
}

/// Copies up to `length` bytes within the kernel, from and to the files' current positions; returns bytes copied.
pub(super) fn copy_file_range(from: c_int, to: c_int, length: usize) -> i64 {
    let here = std::ptr::null_mut();
    // SAFETY: null offsets mean the files' own positions.
    answer(unsafe { libc::copy_file_range(from, here, to, here, length, 0) })
}

/// Lets `to` share all of `from`'s blocks.
pub(super) fn reflink(from: c_int, to: c_int) -> i64 {
    // SAFETY: FICLONE takes the other file's number and no memory.
    answer(unsafe { libc::ioctl(to, libc::FICLONE as _, from) } as isize)
}

/// This thread's processor time in user space and in the kernel, in seconds.
pub(super) fn processor_time() -> (f64, f64) {
    // SAFETY: a zeroed rusage is a valid one.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a rusage of this frame.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime), seconds(usage.ru_stime))
}

/// Limit of this process's open files; raises the soft limit to the hard one first.
pub(super) fn descriptor_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to an rlimit of this frame.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    if limit.rlim_cur < limit.rlim_max {
        let raised = libc::rlimit { rlim_cur: limit.rlim_max, rlim_max: limit.rlim_max };
        // SAFETY: the pointer is to an rlimit of this frame.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raised) } == 0 {
            limit = raised;
        }
    }
    limit.rlim_cur
}
