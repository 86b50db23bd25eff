//! What a command prints that is not read for figures: it goes through a pipe, and of a long text the first and the last
//! part are kept.
//!
//! The agent has no second thread for it. A command that prints nothing wakes nobody, and one that prints wakes the agent
//! a few hundred times a second at most: [`PAUSE`] is what it may be left alone for, as the pipe holds [`HOLDS`].

use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use anyhow::{Context, Result};

/// Bytes of a stream that are kept, half of them from its begin.
pub const MOST_KEPT: usize = 32 << 10;
const HALF: usize = MOST_KEPT / 2;
/// Bytes that the pipe holds.
const HOLDS: usize = 1 << 20;
/// After something was read, how long nothing is read.
pub const PAUSE: Duration = Duration::from_millis(5);
/// Beyond so many bytes at once a command prints faster than pauses allow.
const FLOOD: usize = HOLDS / 4;

/// A command's standard output.
pub struct Printed {
    pipe: PipeReader,
    /// The command's end. It stays open here, so that its end alone is no reason to look.
    held: PipeWriter,
    ends: Ends,
}

impl Printed {
    pub fn new() -> Result<Printed> {
        let (pipe, held) = std::io::pipe().context("cannot make a pipe")?;
        rustix::io::ioctl_fionbio(&pipe, true).context("cannot read a pipe without waiting")?;
        // It works with any size, at more cost.
        let _ = rustix::pipe::fcntl_setpipe_size(&held, HOLDS);
        Ok(Printed { pipe, held, ends: Ends::default() })
    }

    /// Where the command prints.
    pub fn end(&self) -> BorrowedFd<'_> {
        self.held.as_fd()
    }

    /// Readable when something was printed.
    pub fn source(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Reads what is there, at most as much as the pipe holds; whether that was little.
    pub fn read(&mut self) -> bool {
        let mut buffer = [0; 1 << 16];
        let mut all = 0;
        while all < HOLDS {
            match self.pipe.read(&mut buffer) {
                Ok(read) if read > 0 => {
                    self.ends.add(&buffer[..read]);
                    all += read;
                }
                _ => break,
            }
        }
        all < FLOOD
    }

    /// What was printed.
    pub fn text(&self) -> String {
        self.ends.text()
    }
}

/// The first and the last bytes of what comes.
#[derive(Default)]
struct Ends {
    first: Vec<u8>,
    last: Vec<u8>,
    all: u64,
}

impl Ends {
    fn add(&mut self, bytes: &[u8]) {
        self.all += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(HALF - self.first.len()));
        self.first.extend(first);
        self.last.extend(&rest[rest.len().saturating_sub(HALF)..]);
        self.last.drain(..self.last.len().saturating_sub(HALF));
    }

    /// As text, with a sentence in place of what is left out. Characters that were cut apart are left out, too.
    fn text(&self) -> String {
        let is_whole = self.all == (self.first.len() + self.last.len()) as u64;
        if is_whole {
            return String::from_utf8_lossy(&[&self.first[..], &self.last].concat()).into_owned();
        }
        let first = &self.first[..self.first.len() - cut_off(&self.first)];
        let is_inner = |byte: &u8| (0x80..0xc0).contains(byte);
        let last = &self.last[self.last.iter().take(3).take_while(|byte| is_inner(byte)).count()..];
        let left_out = self.all - (first.len() + last.len()) as u64;
        without_middle(&String::from_utf8_lossy(first), left_out, &String::from_utf8_lossy(last))
    }
}

/// How many bytes at the end begin a character that is not whole.
fn cut_off(bytes: &[u8]) -> usize {
    let begins = bytes.iter().rev().take(3).position(|byte| *byte >= 0xc0);
    let length = |byte: u8| {
        if byte >= 0xf0 {
            4
        } else if byte >= 0xe0 {
            3
        } else {
            2
        }
    };
    begins.map(|at| at + 1).filter(|there| *there < length(bytes[bytes.len() - there])).unwrap_or(0)
}

/// A text whose middle is left out.
pub fn without_middle(first: &str, left_out: u64, last: &str) -> String {
    format!("{first}\n[{left_out} bytes are left out]\n{last}")
}

/// The same of what a file holds.
pub fn ends_of(file: &mut File) -> Result<String> {
    let all = file.seek(SeekFrom::End(0))?;
    let mut ends = Ends::default();
    let last = all.saturating_sub(HALF as u64);
    for (from, to) in [(0, all.min(HALF as u64)), (last.max(HALF as u64), all)] {
        if from < to {
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(from))?;
            file.take(to - from).read_to_end(&mut bytes)?;
            ends.add(&bytes);
        }
    }
    ends.all = all;
    Ok(ends.text())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn ends(parts: &[&[u8]]) -> String {
        let mut ends = Ends::default();
        parts.iter().for_each(|part| ends.add(part));
        ends.text()
    }

    #[test]
    fn a_long_text_loses_its_middle_however_it_comes() {
        let all: Vec<u8> = (0..40_000).flat_map(|number: u32| format!("{number}\n").into_bytes()).collect();
        let wanted = ends(&[&all]);
        assert!(wanted.starts_with("0\n1\n") && wanted.ends_with("39998\n39999\n"));
        assert!(wanted.contains(&format!("\n[{} bytes are left out]\n", all.len() - MOST_KEPT)), "{}", wanted.len());
        for size in [1, 1000, HALF, HALF + 1, MOST_KEPT] {
            assert_eq!(ends(&all.chunks(size).collect::<Vec<_>>()), wanted, "{size}");
        }
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&all).unwrap();
        assert_eq!(ends_of(&mut file).unwrap(), wanted);
        for short in [0, 1, HALF, HALF + 1, MOST_KEPT] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&all[..short]).unwrap();
            assert_eq!(ends_of(&mut file).unwrap().as_bytes(), &all[..short]);
            assert_eq!(ends(&[&all[..short]]).as_bytes(), &all[..short]);
        }
    }

    #[test]
    fn bytes_that_are_no_text_become_one() {
        assert_eq!(ends(&[b"a\0b\xffc"]), "a\0b\u{fffd}c");
        for letter in ["\u{e4}", "\u{20ac}", "\u{1f4be}"] {
            for shift in 0..4 {
                let text = format!("{}{}", "x".repeat(shift), letter.repeat(MOST_KEPT));
                let kept = ends(&[text.as_bytes()]);
                assert!(!kept.contains('\u{fffd}'), "{letter} {shift}");
                let (told, left) = kept.split_once("\n[").unwrap();
                let (count, rest) = left.split_once(" bytes are left out]\n").unwrap();
                assert_eq!(told.len() + rest.len() + count.parse::<usize>().unwrap(), text.len());
            }
        }
    }
}
