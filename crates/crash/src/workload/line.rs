//! Workloads as one line of text: `creat foo; sync | write foo 0+4096; fsync foo`. What is before the bar sets the
//! stage.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::{Device, Fallocation, Op, Renaming, Workload, Writing};

/// A text that is no operation or no workload.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{text:?} is no operation: {reason}")]
pub struct WrongLine {
    text: String,
    reason: String,
}

/// The names of a field's values, the usual one first.
trait Named: Sized + Copy + PartialEq + 'static {
    const NAMES: &'static [(Self, &'static str)];

    fn word(self) -> &'static str {
        Self::NAMES.iter().find(|(value, _)| *value == self).map_or("", |(_, name)| name)
    }
}

impl Named for Device {
    const NAMES: &'static [(Self, &'static str)] = &[(Device::Char, "char"), (Device::Block, "block")];
}

impl Named for Renaming {
    const NAMES: &'static [(Self, &'static str)] = &[
        (Renaming::Plain, "plain"),
        (Renaming::NoReplace, "no-replace"),
        (Renaming::Exchange, "exchange"),
        (Renaming::Whiteout, "whiteout"),
    ];
}

impl Named for Writing {
    const NAMES: &'static [(Self, &'static str)] = &[
        (Writing::Buffered, "buffered"),
        (Writing::Direct, "direct"),
        (Writing::Mmap, "mmap"),
        (Writing::Sync, "sync"),
        (Writing::Dsync, "dsync"),
    ];
}

impl Named for Fallocation {
    const NAMES: &'static [(Self, &'static str)] = &[
        (Fallocation::Extend, "extend"),
        (Fallocation::Keep, "keep"),
        (Fallocation::Zero, "zero"),
        (Fallocation::ZeroKeep, "zero-keep"),
        (Fallocation::Punch, "punch"),
        (Fallocation::Collapse, "collapse"),
        (Fallocation::Insert, "insert"),
    ];
}

/// How each operation is written, for messages.
pub(super) const FORMS: [&str; 26] = [
    "creat PATH",
    "mkdir PATH",
    "symlink TARGET PATH",
    "mkfifo PATH",
    "mknod PATH char|block MAJOR:MINOR",
    "tmpfile FOLDER #HANDLE",
    "open PATH #HANDLE",
    "link FROM TO",
    "unlink PATH",
    "rmdir PATH",
    "rename FROM TO [no-replace|exchange|whiteout]",
    "write PATH OFFSET+LENGTH [direct|mmap|sync|dsync]",
    "empty PATH",
    "truncate PATH SIZE",
    "falloc PATH extend|keep|zero|zero-keep|punch|collapse|insert OFFSET+LENGTH",
    "clone FROM TO",
    "setxattr PATH NAME VALUE",
    "rmxattr PATH NAME",
    "chmod PATH OCTAL",
    "fsync PATH",
    "fdatasync PATH",
    "msync PATH OFFSET+LENGTH",
    "sync",
    "evict",
    "idle SECONDS",
    "lose PATH",
];

impl Op {
    /// Its first word in a line.
    pub fn word(&self) -> &'static str {
        match self {
            Op::Create { .. } => "creat",
            Op::Mkdir { .. } => "mkdir",
            Op::Symlink { .. } => "symlink",
            Op::Mkfifo { .. } => "mkfifo",
            Op::Mknod { .. } => "mknod",
            Op::Tmpfile { .. } => "tmpfile",
            Op::Open { .. } => "open",
            Op::Link { .. } => "link",
            Op::Unlink { .. } => "unlink",
            Op::Rmdir { .. } => "rmdir",
            Op::Rename { .. } => "rename",
            Op::Write { .. } => "write",
            Op::Empty { .. } => "empty",
            Op::Truncate { .. } => "truncate",
            Op::Fallocate { .. } => "falloc",
            Op::Clone { .. } => "clone",
            Op::SetXattr { .. } => "setxattr",
            Op::RemoveXattr { .. } => "rmxattr",
            Op::Chmod { .. } => "chmod",
            Op::Fsync { .. } => "fsync",
            Op::Fdatasync { .. } => "fdatasync",
            Op::Msync { .. } => "msync",
            Op::Sync => "sync",
            Op::Evict => "evict",
            Op::Idle { .. } => "idle",
            Op::Lose { .. } => "lose",
        }
    }
}

/// The last word is left out where it says what is usual.
fn unless_usual<T: Named>(value: T) -> String {
    match T::NAMES.first() {
        Some((usual, _)) if *usual == value => String::new(),
        _ => format!(" {}", value.word()),
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self {
            Op::Create { path }
            | Op::Mkdir { path }
            | Op::Mkfifo { path }
            | Op::Unlink { path }
            | Op::Rmdir { path }
            | Op::Empty { path }
            | Op::Fsync { path }
            | Op::Fdatasync { path }
            | Op::Lose { path } => write!(f, " {path}"),
            Op::Symlink { target, path } => write!(f, " {target} {path}"),
            Op::Mknod { path, device, major, minor } => write!(f, " {path} {} {major}:{minor}", device.word()),
            Op::Tmpfile { folder, handle } => write!(f, " {folder} {handle}"),
            Op::Open { path, handle } => write!(f, " {path} {handle}"),
            Op::Link { from, to } | Op::Clone { from, to } => write!(f, " {from} {to}"),
            Op::Rename { from, to, how } => write!(f, " {from} {to}{}", unless_usual(*how)),
            Op::Write { path, offset, length, how } => write!(f, " {path} {offset}+{length}{}", unless_usual(*how)),
            Op::Truncate { path, size } => write!(f, " {path} {size}"),
            Op::Fallocate { path, mode, offset, length } => write!(f, " {path} {} {offset}+{length}", mode.word()),
            Op::SetXattr { path, name, value } => write!(f, " {path} {name} {value}"),
            Op::RemoveXattr { path, name } => write!(f, " {path} {name}"),
            Op::Chmod { path, mode } => write!(f, " {path} {mode:04o}"),
            Op::Msync { path, offset, length } => write!(f, " {path} {offset}+{length}"),
            Op::Sync | Op::Evict => Ok(()),
            Op::Idle { seconds } => write!(f, " {seconds}"),
        }
    }
}

impl FromStr for Op {
    type Err = WrongLine;

    fn from_str(text: &str) -> Result<Op, WrongLine> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let wrong = |reason: String| WrongLine { text: shortened(text), reason };
        parse(&words).map_err(wrong)
    }
}

fn parse(words: &[&str]) -> Result<Op, String> {
    let own = |text: &str| text.to_owned();
    Ok(match *words {
        ["creat", path] => Op::Create { path: own(path) },
        ["mkdir", path] => Op::Mkdir { path: own(path) },
        ["symlink", target, path] => Op::Symlink { target: own(target), path: own(path) },
        ["mkfifo", path] => Op::Mkfifo { path: own(path) },
        ["mknod", path, device, numbers] => {
            let (major, minor) = device_numbers(numbers)?;
            Op::Mknod { path: own(path), device: named(device)?, major, minor }
        }
        ["tmpfile", folder, handle] => Op::Tmpfile { folder: own(folder), handle: own(handle) },
        ["open", path, handle] => Op::Open { path: own(path), handle: own(handle) },
        ["link", from, to] => Op::Link { from: own(from), to: own(to) },
        ["unlink", path] => Op::Unlink { path: own(path) },
        ["rmdir", path] => Op::Rmdir { path: own(path) },
        ["rename", from, to] => Op::Rename { from: own(from), to: own(to), how: Renaming::Plain },
        ["rename", from, to, how] => Op::Rename { from: own(from), to: own(to), how: named(how)? },
        ["write", path, range, ref how @ ..] if how.len() < 2 => {
            let (offset, length) = parse_range(range)?;
            let how = how.first().map_or(Ok(Writing::Buffered), |how| named(how))?;
            Op::Write { path: own(path), offset, length, how }
        }
        ["empty", path] => Op::Empty { path: own(path) },
        ["truncate", path, size] => Op::Truncate { path: own(path), size: number(size)? },
        ["falloc", path, mode, range] => {
            let (offset, length) = parse_range(range)?;
            Op::Fallocate { path: own(path), mode: named(mode)?, offset, length }
        }
        ["clone", from, to] => Op::Clone { from: own(from), to: own(to) },
        ["setxattr", path, name, value] => Op::SetXattr { path: own(path), name: own(name), value: own(value) },
        ["rmxattr", path, name] => Op::RemoveXattr { path: own(path), name: own(name) },
        ["chmod", path, mode] => {
            let mode =
                u32::from_str_radix(mode, 8).map_err(|_| format!("{mode:?} is no octal number, such as 0640"))?;
            Op::Chmod { path: own(path), mode }
        }
        ["fsync", path] => Op::Fsync { path: own(path) },
        ["fdatasync", path] => Op::Fdatasync { path: own(path) },
        ["msync", path, range] => {
            let (offset, length) = parse_range(range)?;
            Op::Msync { path: own(path), offset, length }
        }
        ["sync"] => Op::Sync,
        ["evict"] => Op::Evict,
        ["idle", seconds] => {
            let seconds = number(seconds)?;
            Op::Idle { seconds: u32::try_from(seconds).map_err(|_| format!("{seconds} seconds are too many"))? }
        }
        ["lose", path] => Op::Lose { path: own(path) },
        [] => return Err("it is empty; leave it out".to_owned()),
        [first, ..] => return Err(how_it_is_written(first)),
    })
}

/// The form of the operation whose first word this is, or the first words that there are.
fn how_it_is_written(first: &str) -> String {
    let word = |form: &&'static str| form.split(' ').next();
    match FORMS.iter().find(|form| word(form) == Some(first)) {
        Some(form) => format!("it is written {form}"),
        None => {
            format!("its first word must be one of {}", FORMS.iter().filter_map(word).collect::<Vec<_>>().join(", "))
        }
    }
}

fn named<T: Named>(word: &str) -> Result<T, String> {
    T::NAMES.iter().find(|(_, name)| *name == word).map(|(value, _)| *value).ok_or_else(|| {
        let all: Vec<&str> = T::NAMES.iter().map(|(_, name)| *name).collect();
        format!("{:?} is none of {}", shortened(word), all.join(", "))
    })
}

fn number(word: &str) -> Result<u64, String> {
    let plain = word.bytes().all(|byte| byte.is_ascii_digit());
    let number = word.parse().ok().filter(|_| plain);
    number.ok_or_else(|| format!("{:?} is no number of bytes or seconds", shortened(word)))
}

fn parse_range(word: &str) -> Result<(u64, u64), String> {
    let (offset, length) =
        word.split_once('+').ok_or_else(|| format!("{:?} is no range, such as 4096+512", shortened(word)))?;
    Ok((number(offset)?, number(length)?))
}

fn device_numbers(word: &str) -> Result<(u32, u32), String> {
    let one = |number: &str| number.parse().ok().filter(|_| number.bytes().all(|byte| byte.is_ascii_digit()));
    let numbers = word.split_once(':').and_then(|(major, minor)| Some((one(major)?, one(minor)?)));
    numbers.ok_or_else(|| format!("{:?} are no numbers of a device, such as 1:3", shortened(word)))
}

/// As much of a foreign text as a message needs.
fn shortened(text: &str) -> String {
    mountmark_model::shortened(text.trim(), 80)
}

impl fmt::Display for Workload {
    /// Operations without their name; an application or a log by its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.has_model() {
            return f.write_str(&self.name);
        }
        let all: Vec<String> = self.ops.iter().map(ToString::to_string).collect();
        let (setup, recorded) = all.split_at(usize::from(self.recorded).min(all.len()));
        match setup {
            [] => f.write_str(&recorded.join("; ")),
            setup => write!(f, "{} | {}", setup.join("; "), recorded.join("; ")),
        }
    }
}

impl FromStr for Workload {
    type Err = WrongLine;

    /// It has no name, and is not checked. A sync before the bar is added where there is none.
    fn from_str(text: &str) -> Result<Workload, WrongLine> {
        let mut parts = text.split('|');
        let (first, second) = (parts.next().unwrap_or_default(), parts.next());
        if parts.next().is_some() {
            let reason = "a workload has one |, between what sets the stage and what is recorded".to_owned();
            return Err(WrongLine { text: shortened(text), reason });
        }
        let ops = |part: &str| -> Result<Vec<Op>, WrongLine> {
            part.split(';').filter(|op| !op.trim().is_empty()).map(str::parse).collect()
        };
        let (setup, recorded) = match second {
            Some(second) => (ops(first)?, ops(second)?),
            None => (Vec::new(), ops(first)?),
        };
        Ok(Workload::new(String::new(), setup, recorded))
    }
}

#[cfg(test)]
mod tests;
