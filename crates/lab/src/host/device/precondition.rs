//! Brings a flash disk into steady state, after SNIA's Solid State Storage Performance Test Specification 2.0.1: it is
//! discarded, written twice from end to end, and then written at random until rounds of that are alike.
//!
//! A fresh or discarded drive writes faster than one that has to free blocks first, and becomes slower within minutes: a
//! file system measured early would look better than one measured late.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mountmark_model::{Bytes, Precondition, Preconditioned, Window, format_count};
use mountmark_random::SplitMix64;

use super::erase;

/// Requests under way at a time: SNIA's two threads with sixteen each are as many as most drives serve side by side, and
/// half of them keep any drive busy.
const OUTSTANDING: u64 = 16;
/// Direct I/O wants its buffers aligned to a device's logical blocks, which are at most a page.
const PAGE: usize = 4096;
/// How often the user hears of it.
const TOLD_EVERY: Duration = Duration::from_secs(10);
/// How soon an interrupt is noticed between requests.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Preconditions an open device of `size` bytes, which nobody else may have. `tell` gets lines about how far it is.
///
/// # Errors
/// A device that cannot be written, and `stop`.
pub(super) fn precondition(
    device: &File,
    disk: &str,
    size: u64,
    how: Precondition,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<Preconditioned> {
    let purged = erase::discard(device, size);
    // The very device that is open, whatever its path leads to by now.
    let same = format!("/proc/self/fd/{}", device.as_raw_fd());
    let file = OpenOptions::new().write(true).custom_flags(libc::O_DIRECT | libc::O_NONBLOCK).open(same);
    let file = file.with_context(|| format!("cannot open {disk} for direct I/O"))?;
    let size = size / Precondition::RANDOM * Precondition::RANDOM;
    if size == 0 {
        bail!("{disk} is too small to be preconditioned");
    }
    let writer = Writer { file, size, stop, seed: seed() };
    writer.sequential(disk, tell)?;
    let mut rounds: Vec<f64> = Vec::new();
    let mut window = None;
    while rounds.len() < Precondition::MOST_ROUNDS {
        rounds.push(writer.random(rounds.len() as u64, Duration::from_secs(how.round_seconds.into()))?);
        window = Window::last(&rounds);
        tell(&format!("{disk}: {}", round(&rounds, window.as_ref(), how)));
        if window.is_some_and(|window| window.is_steady()) {
            break;
        }
    }
    writer.file.sync_all()?;
    let (disk, round_seconds) = (disk.to_owned(), how.round_seconds);
    Ok(Preconditioned { disk, purged, size: Bytes(size), round_seconds, rounds, window })
}

/// What the last of some rounds says.
fn round(rounds: &[f64], window: Option<&Window>, how: Precondition) -> String {
    let most = Precondition::MOST_ROUNDS;
    let rate = format_count(rounds.last().copied().unwrap_or(0.0).round());
    let left = (most - rounds.len()) as u64 * u64::from(how.round_seconds);
    let rest = match window {
        Some(window) if window.is_steady() => "steady".to_owned(),
        _ if left == 0 => "not in steady state".to_owned(),
        _ => format!("not yet steady, at most {} left", time(left as f64)),
    };
    format!("round {} of at most {most}: {rate} random writes a second, {rest}", rounds.len())
}

fn time(seconds: f64) -> String {
    if seconds < 90.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}

/// A start for random data that is another one each time: a drive must not know them.
fn seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |passed| passed.as_nanos() as u64) ^ u64::from(std::process::id())
}

struct Writer<'a> {
    file: File,
    /// Whole blocks of [`Precondition::RANDOM`].
    size: u64,
    stop: &'a AtomicBool,
    seed: u64,
}

impl Writer<'_> {
    /// Writes all of it in order, as often as it is to be.
    fn sequential(&self, disk: &str, tell: &mut dyn FnMut(&str)) -> Result<()> {
        let all = Precondition::PASSES * self.size;
        let (next, written) = (AtomicU64::new(0), AtomicU64::new(0));
        let begin = Instant::now();
        let mut told = begin;
        let chunks = self.size.div_ceil(Precondition::SEQUENTIAL);
        let step = |buffer: &mut Buffer| {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= chunks * Precondition::PASSES {
                return Ok(false);
            }
            let offset = at % chunks * Precondition::SEQUENTIAL;
            let length = Precondition::SEQUENTIAL.min(self.size - offset);
            self.file.write_all_at(buffer.fresh(length as usize), offset)?;
            written.fetch_add(length, Ordering::Relaxed);
            Ok(true)
        };
        self.side_by_side(0, &step, &mut || {
            if told.elapsed() < TOLD_EVERY {
                return;
            }
            told = Instant::now();
            let done = written.load(Ordering::Relaxed);
            let left = begin.elapsed().as_secs_f64() * (all - done) as f64 / done.max(1) as f64;
            let left = if done == 0 { String::new() } else { format!(", about {} left", time(left)) };
            tell(&format!("{disk}: {} of {} written{left}, then rounds", Bytes(done), Bytes(all)));
        })
        .with_context(|| format!("cannot write {disk}"))?;
        self.file.sync_all()?;
        tell(&format!("{disk}: {} written in {}", Bytes(all), time(begin.elapsed().as_secs_f64())));
        Ok(())
    }

    /// Writes at random for so long; returns the number of writes a second.
    fn random(&self, round: u64, length: Duration) -> Result<f64> {
        let blocks = self.size / Precondition::RANDOM;
        let (written, ended) = (AtomicU64::new(0), AtomicU64::new(1));
        let begin = Instant::now();
        let step = |buffer: &mut Buffer| {
            let passed = begin.elapsed();
            if passed >= length {
                ended.fetch_max(passed.as_nanos() as u64, Ordering::Relaxed);
                return Ok(false);
            }
            let at = buffer.random.next() % blocks;
            self.file.write_all_at(buffer.fresh(Precondition::RANDOM as usize), at * Precondition::RANDOM)?;
            written.fetch_add(1, Ordering::Relaxed);
            Ok(true)
        };
        self.side_by_side(round + 1, &step, &mut || {})?;
        Ok(written.load(Ordering::Relaxed) as f64 * 1e9 / ended.load(Ordering::Relaxed) as f64)
    }

    /// Calls `step` in threads until it returns false, and `look` meanwhile.
    fn side_by_side(
        &self,
        part: u64,
        step: &(dyn Fn(&mut Buffer) -> io::Result<bool> + Sync),
        look: &mut dyn FnMut(),
    ) -> Result<()> {
        let failed: Mutex<Option<io::Error>> = Mutex::default();
        let is_over = AtomicBool::new(false);
        let must_end = || is_over.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..OUTSTANDING)
                .map(|thread| {
                    let (failed, is_over) = (&failed, &is_over);
                    scope.spawn(move || {
                        let mut buffer = Buffer::new(self.seed ^ (part * OUTSTANDING + thread).rotate_right(16));
                        while !must_end() {
                            match step(&mut buffer) {
                                Ok(true) => {}
                                Ok(false) => break,
                                Err(error) => {
                                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                                    is_over.store(true, Ordering::Relaxed);
                                }
                            }
                        }
                    })
                })
                .collect();
            while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
                thread::sleep(LOOK_EVERY);
                look();
            }
        });
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error.into());
        }
        if self.stop.load(Ordering::Relaxed) {
            bail!("preconditioning was interrupted");
        }
        Ok(())
    }
}

/// Random data, which no drive can compress, with a beginning of each page that was not there before, so that no drive
/// can keep one copy of many.
struct Buffer {
    bytes: Vec<u8>,
    /// Of the first byte that is aligned.
    start: usize,
    random: SplitMix64,
}

impl Buffer {
    fn new(seed: u64) -> Buffer {
        let mut random = SplitMix64(seed);
        let length = Precondition::SEQUENTIAL as usize + PAGE;
        let bytes: Vec<u8> =
            std::iter::repeat_with(|| random.next().to_le_bytes()).take(length / 8).flatten().collect();
        let start = bytes.as_ptr().align_offset(PAGE);
        Buffer { bytes, start, random }
    }

    fn fresh(&mut self, length: usize) -> &[u8] {
        let data = &mut self.bytes[self.start..self.start + length];
        for page in data.chunks_mut(PAGE) {
            for word in page[..16].chunks_exact_mut(8) {
                word.copy_from_slice(&self.random.next().to_le_bytes());
            }
        }
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(size: u64) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        file.as_file().set_len(size).unwrap();
        file
    }

    const SHORT: Precondition = Precondition { round_seconds: 1 };

    #[test]
    fn all_of_it_is_written_and_rounds_are_counted() {
        // No multiple of the writes' length.
        let size = (3 << 20) + 12_288;
        let disk = file(size);
        let mut said = Vec::new();
        let mut tell = |line: &str| said.push(line.to_owned());
        let never = AtomicBool::new(false);
        let done = match precondition(disk.as_file(), "disk", size + 100, SHORT, &never, &mut tell) {
            Err(error) if format!("{error:#}").contains("direct I/O") => return eprintln!("skipped: {error:#}"),
            done => done.unwrap(),
        };
        assert!(!done.purged, "a file cannot be discarded like a disk");
        assert_eq!((done.size, done.window), (Bytes(size), Window::last(&done.rounds)));
        assert!((Window::ROUNDS..=Precondition::MOST_ROUNDS).contains(&done.rounds.len()), "{done:?}");
        assert!(done.rounds.iter().all(|rate| *rate > 0.0), "{done:?}");
        let bytes = std::fs::read(disk.path()).unwrap();
        let pages: std::collections::HashSet<&[u8]> = bytes.chunks(PAGE).map(|page| &page[..16]).collect();
        assert_eq!(pages.len(), bytes.len() / PAGE, "each page is another one, and none is empty");
        assert!(said[0].contains("6.02 MiB written in") && said[1].contains("round 1 of at most 25"), "{said:?}");
    }

    #[test]
    fn an_interrupt_ends_it_soon() {
        let disk = file(1 << 20);
        let stop = AtomicBool::new(false);
        let begin = Instant::now();
        let hour = Precondition { round_seconds: 3600 };
        let ended = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(500));
                stop.store(true, Ordering::Relaxed);
            });
            precondition(disk.as_file(), "disk", 1 << 20, hour, &stop, &mut |_| {})
        });
        assert!(ended.is_err() && begin.elapsed() < Duration::from_secs(10), "{ended:?}");
    }

    #[test]
    fn a_round_says_what_it_found() {
        let how = Precondition { round_seconds: 60 };
        let said = |rounds: &[f64]| round(rounds, Window::last(rounds).as_ref(), how);
        assert_eq!(
            said(&[12_300.4]),
            "round 1 of at most 25: 12,300 random writes a second, not yet steady, at most 24 min left"
        );
        assert!(said(&[100.0; 7]).ends_with("100 random writes a second, steady"));
        let falling: Vec<f64> = (1..=25).rev().map(f64::from).collect();
        assert!(said(&falling).ends_with("not in steady state"));
    }
}
