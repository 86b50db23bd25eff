//! Whether a workload can run: its size, its paths, and a dry run.

use std::fmt;

use super::{Op, Workload, last_name};
use crate::model::{Model, ROOT};
use crate::tree::words::WORD;

/// Maximum number of operations.
pub const MOST_OPS: usize = 200;
/// Maximum number of bytes that all operations together write, allocate or reach.
pub const MOST_BYTES: u64 = 64 << 20;
/// Maximum number of bytes of a path, of a name in it, and of a value of an attribute.
const LONGEST_PATH: usize = 1000;
const LONGEST_NAME: usize = 250;
/// Maximum number of seconds that a workload waits.
const LONGEST_PAUSE: u64 = 600;
/// The largest numbers that every file system stores: those of the kernel's old format.
const MOST_MAJOR: u32 = 255;
const MOST_MINOR: u32 = 255;
/// A name of so many bytes is on the disk because somebody wrote it.
const RARE: usize = 8;

/// An operation that cannot work, or must not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// `None` if it is the workload as a whole.
    pub op: Option<u16>,
    text: String,
    reason: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.op {
            Some(op) => write!(f, "op {op}, {}: {}", self.text, self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl std::error::Error for Fault {}

/// Whether every operation is within bounds and works on an empty file system.
///
/// # Errors
/// The first that is not, and why.
pub fn check(workload: &Workload) -> Result<(), Fault> {
    let whole = |reason: String| Err(Fault { op: None, text: String::new(), reason });
    let count = workload.ops.len();
    if count > MOST_OPS {
        return whole(format!("the workload has {count} operations, and {MOST_OPS} are the most"));
    }
    if usize::from(workload.recorded) >= count {
        return whole("the workload has no operation to record: add one after what sets the stage".to_owned());
    }
    if workload.staging().is_some_and(|sync| workload.ops[usize::from(sync)] != Op::Sync) {
        return whole("what sets the stage does not end with sync: add one".to_owned());
    }
    let (mut model, mut bytes, mut seconds) = (Model::default(), 0u64, 0u64);
    for (number, op) in (0u16..).zip(&workload.ops) {
        let wrong = |reason: String| Fault { op: Some(number), text: op.to_string(), reason };
        fields(op).map_err(wrong)?;
        if matches!(op, Op::Lose { .. }) && usize::from(number) + 1 < count {
            return Err(wrong("the file system is unmounted by it: make it the last operation".to_owned()));
        }
        let (reach, written) = reach(op);
        if reach.is_none_or(|end| end > MOST_BYTES) {
            return Err(wrong(format!(
                "it reaches beyond {MOST_BYTES} bytes, the most: take a smaller offset or length"
            )));
        }
        bytes = bytes.saturating_add(written);
        if bytes > MOST_BYTES {
            return Err(wrong(format!(
                "with it the workload writes more than {MOST_BYTES} bytes, the most: write less"
            )));
        }
        if let Op::Idle { seconds: more } = op {
            seconds += u64::from(*more);
        }
        if seconds > LONGEST_PAUSE {
            return Err(wrong(format!(
                "with it the workload waits for {seconds} seconds, and {LONGEST_PAUSE} are the most"
            )));
        }
        model.apply(number, op).map_err(|refusal| Fault {
            op: Some(number),
            text: op.word().to_owned() + " " + &refusal.path,
            reason: refusal.reason.to_string(),
        })?;
    }
    Ok(())
}

/// The end of the range that an operation is about (`None` if that is no number), and the bytes that it writes.
fn reach(op: &Op) -> (Option<u64>, u64) {
    match op {
        Op::Write { offset, length, .. } | Op::Fallocate { offset, length, .. } => {
            (offset.checked_add(*length), *length)
        }
        Op::Msync { offset, length, .. } => (offset.checked_add(*length), 0),
        Op::Truncate { size, .. } => (Some(*size), 0),
        _ => (Some(0), 0),
    }
}

fn fields(op: &Op) -> Result<(), String> {
    match op {
        Op::Create { path }
        | Op::Mkdir { path }
        | Op::Mkfifo { path }
        | Op::Unlink { path }
        | Op::Rmdir { path }
        | Op::Empty { path }
        | Op::Fsync { path }
        | Op::Fdatasync { path } => check_path(path),
        Op::Lose { path } => {
            check_path(path)?;
            rare(last_name(path))
        }
        Op::Symlink { target, path } => {
            check_path(path)?;
            check_text("the target", target)
        }
        Op::Mknod { path, major, minor, .. } => {
            check_path(path)?;
            let fits = *major <= MOST_MAJOR && *minor <= MOST_MINOR;
            fits.then_some(()).ok_or_else(|| format!("the device {major}:{minor} is beyond {MOST_MAJOR}:{MOST_MINOR}"))
        }
        Op::Tmpfile { folder: path, handle } | Op::Open { path, handle } => {
            check_path(path)?;
            check_path(handle)
        }
        Op::Link { from, to } | Op::Rename { from, to, .. } | Op::Clone { from, to } => {
            check_path(from)?;
            check_path(to)
        }
        Op::Write { path, offset, length, .. }
        | Op::Fallocate { path, offset, length, .. }
        | Op::Msync { path, offset, length } => {
            check_path(path)?;
            whole_words(*offset)?;
            whole_words(*length)?;
            if *length == 0 { Err("the length is 0: leave the operation out".to_owned()) } else { Ok(()) }
        }
        Op::Truncate { path, size } => {
            check_path(path)?;
            whole_words(*size)
        }
        Op::SetXattr { path, name, value } => {
            check_path(path)?;
            check_text("the attribute's name", name)?;
            check_text("the attribute's value", value)
        }
        Op::RemoveXattr { path, name } => {
            check_path(path)?;
            check_text("the attribute's name", name)
        }
        Op::Chmod { path, mode } => {
            check_path(path)?;
            if *mode > 0o777 { Err("permissions are at most 0777".to_owned()) } else { Ok(()) }
        }
        Op::Sync | Op::Evict | Op::Idle { .. } => Ok(()),
    }
}

/// Whether a name can be looked for on a disk.
fn rare(name: &str) -> Result<(), String> {
    let is_rare = name.len() >= RARE && name.is_ascii();
    is_rare
        .then_some(())
        .ok_or_else(|| format!("{name} may be on the disk by chance: take a name of {RARE} or more letters and digits"))
}

fn whole_words(value: u64) -> Result<(), String> {
    let nearest = value / WORD * WORD;
    match value % WORD {
        0 => Ok(()),
        _ => Err(format!("{value} is no multiple of {WORD}: take {nearest}")),
    }
}

fn check_path(path: &str) -> Result<(), String> {
    if path == ROOT {
        return Ok(());
    }
    let shown: String = path.chars().take(40).collect();
    let wrong = |reason: &str| Err(format!("the path {shown:?} {reason}"));
    if path.len() > LONGEST_PATH {
        return wrong(&format!("has {} bytes, and {LONGEST_PATH} are the most", path.len()));
    }
    if path.starts_with('/') {
        return wrong("must be relative: leave out the first /");
    }
    for name in path.split('/') {
        if name.is_empty() || name == "." || name == ".." {
            return wrong("must not have empty names, . or ..");
        }
        if name.len() > LONGEST_NAME {
            return wrong(&format!("has a name of {} bytes, and {LONGEST_NAME} are the most", name.len()));
        }
    }
    check_text("the path", path)
}

/// A text that is one word of a line.
fn check_text(what: &str, text: &str) -> Result<(), String> {
    let odd = text.chars().find(|c| c.is_whitespace() || c.is_control() || matches!(c, ';' | '|'));
    match odd {
        _ if text.is_empty() => Err(format!("{what} is empty")),
        _ if text.len() > LONGEST_PATH => {
            Err(format!("{what} has {} bytes, and {LONGEST_PATH} are the most", text.len()))
        }
        Some(odd) => Err(format!("{what} has the character {odd:?}: take letters, digits and -._+,:")),
        None => Ok(()),
    }
}
