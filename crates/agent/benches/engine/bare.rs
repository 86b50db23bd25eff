//! The same work as bare loops of system calls.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

use super::Seen;
use super::ours::NAMES;

/// This thread's processor time in seconds.
fn busy() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of this frame.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// pread of random blocks; reads the clock every 4096 of them.
pub fn reads(path: &Path) -> Option<Seen> {
    let file = File::open(path).ok()?;
    let blocks = file.metadata().ok()?.len() / 4096;
    let mut buffer = vec![0u8; 4096];
    let mut state = 88_172_645_463_325_252u64;
    let (begin, busy, mut done) = (Instant::now(), busy(), 0u64);
    while begin.elapsed() < Duration::from_secs(1) {
        for _ in 0..4096 {
            // Marsaglia's xorshift64: three shifts, the cheapest generator in use.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let block = ((u128::from(state) * u128::from(blocks)) >> 64) as i64;
            // SAFETY: the pointer and length are of one live buffer.
            let read = unsafe { libc::pread(file.as_raw_fd(), buffer.as_mut_ptr().cast(), 4096, block * 4096) };
            if read != 4096 {
                return None;
            }
        }
        done += 4096;
    }
    let cpu = Some((self::busy() - busy) * 1e9 / done as f64);
    Some(Seen { rate: done as f64 / begin.elapsed().as_secs_f64(), cpu })
}

/// One of create, stat and unlink, with names written into one buffer.
pub fn names(folder: &Path, what: &str) -> Option<Seen> {
    let directory = folder.join("bare");
    std::fs::create_dir(&directory).ok()?;
    let opened = File::open(&directory).ok()?;
    let took = match what {
        "create" => pass(&opened, create),
        "stat" => pass(&opened, create).and_then(|_| pass(&opened, stat)),
        _ => pass(&opened, create).and_then(|_| pass(&opened, unlink)),
    };
    std::fs::remove_dir_all(&directory).ok()?;
    took.map(|(took, busy)| Seen {
        rate: f64::from(NAMES) / took.as_secs_f64(),
        cpu: Some(busy * 1e9 / f64::from(NAMES)),
    })
}

fn pass(directory: &File, act: fn(i32, *const libc::c_char) -> bool) -> Option<(Duration, f64)> {
    let mut name = [0u8; 32];
    let (begin, busy) = (Instant::now(), busy());
    for number in 0..NAMES {
        let mut rest = &mut name[..];
        write!(rest, "f{number:08}\0").ok()?;
        if !act(directory.as_raw_fd(), name.as_ptr().cast()) {
            return None;
        }
    }
    Some((begin.elapsed(), self::busy() - busy))
}

fn create(directory: i32, name: *const libc::c_char) -> bool {
    // SAFETY: the name ends with a zero byte.
    let file = unsafe { libc::openat(directory, name, libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY, 0o644) };
    // SAFETY: no memory is passed.
    file >= 0 && unsafe { libc::close(file) } == 0
}

fn stat(directory: i32, name: *const libc::c_char) -> bool {
    // SAFETY: a zeroed stat is a valid one.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the name ends with a zero byte, and the pointer is to a stat of this frame.
    unsafe { libc::fstatat(directory, name, &mut stat, libc::AT_SYMLINK_NOFOLLOW) == 0 }
}

fn unlink(directory: i32, name: *const libc::c_char) -> bool {
    // SAFETY: the name ends with a zero byte.
    unsafe { libc::unlinkat(directory, name, 0) == 0 }
}
