//! The line of a program's output that names why it failed. Most programs print what follows from the cause after it:
//! "Error 1", a usage, a trace, how many bytes were copied.
//!
//! This file runs nothing.

use std::path::Path;

/// Bytes of a line that are looked at: a program may print a megabyte without an end of line.
const MOST_LINE: usize = 4096;
/// Characters of a line that fit into a table's note.
const MOST_SHOWN: usize = 160;

/// What lines that follow from a cause begin with.
const FOLLOWS: [&str; 33] = [
    "+ ",
    "Aborted",
    "BEGIN failed--compilation aborted",
    "Connecting to ",
    "For more information",
    "Killed",
    "Node.js v",
    "Segmentation fault",
    "Terminated",
    "Try '",
    "Usage:",
    "at ",
    "collect2: error: ld returned",
    "compilation terminated",
    "dmesg(1) may have more",
    "error: aborting due to",
    "error: could not compile",
    "fio: failed to load engine",
    "fio: file hash not empty",
    "make: *** Waiting for",
    "make: Leaving",
    "mke2fs 1.",
    "e2fsck 1.",
    "ninja: build stopped",
    "note:",
    "npm ERR! A complete log",
    "rsync error:",
    "stack backtrace:",
    "tar: Child returned status",
    "tar: Error is not recoverable",
    "tar: Exiting with failure status",
    "tar: Removing leading",
    "usage:",
];

/// What else is only in lines that follow from a cause.
const FOLLOWING: [&str; 8] = [
    " dropped",
    " bytes copied",
    " records in",
    " records out",
    "(core dumped)",
    "returned non-zero exit status",
    "warning:",
    ": In function",
];

/// Words of which one is in a line that names an error.
const WORDS: [&str; 47] = [
    "abort", "appears to contain", "assert", "bad ", "busy", "can't", "cannot", "corrupt", "could not", "couldn't",
    "denied", "does not", "doesn't", "double free", "error", "exception", "exists", "exceeded", "expected", "fail",
    "fatal", "illegal", "invalid", "is not ", "mismatch", "missing", "must ", "no space", "no such", "not allowed",
    "not enough", "not found", "not loadable", "not permitted", "not set", "not supported", "out of memory", "panic",
    "read-only", "refused", "too ", "unable", "undefined reference", "unknown", "unrecognized", "unsupported",
    "segmentation fault",
];

/// What the C library says itself before it ends a program.
const LIBRARY: [&str; 5] = ["free(): ", "malloc(): ", "realloc(): ", "corrupted ", "*** "];

/// The line that names why a program failed: what its run-time system says of it, else the first line that names an
/// error, else the last that does not only follow from one, else the last. Standard error comes first, then standard
/// output.
pub(super) fn line(stderr: &str, stdout: &str) -> Option<String> {
    let said = [lines(stderr), lines(stdout)];
    let told = said.iter().find_map(|lines| raised(lines)).or_else(|| {
        let error = said.iter().find_map(|lines| lines.iter().find(|line| is_error(line)));
        let last = || said.iter().find_map(|lines| lines.iter().rfind(|line| !follows(line)));
        let line = error.or_else(last).or_else(|| said.iter().find_map(|lines| lines.last()))?;
        Some(line.clone())
    })?;
    Some(clip(told.trim()))
}

/// Like [`line`], of a program that a signal ended: `None` if there is only the shell's word for the signal.
pub(super) fn before_signal(stderr: &str, stdout: &str) -> Option<String> {
    let lines = [lines(stderr), lines(stdout)].concat();
    let told = raised(&lines).or_else(|| lines.iter().find(|line| is_error(line)).cloned())?;
    Some(clip(told.trim()))
}

/// What mount(8) says of a failure that only the kernel can explain.
const UNEXPLAINED: [&str; 3] = ["wrong fs type, bad option", "can't read superblock", "mount(2) system call failed"];

/// What calls on a damaged file system end with, in the words of errno(3).
const DAMAGED: [&str; 4] =
    ["Input/output error", "Structure needs cleaning", "Invalid argument", "Read-only file system"];

/// What the kernel's log, which is read for these alone, says of a mount that failed, or of damage to what is on the device,
/// for that reason.
pub(super) fn of_kernel(reason: &str, device: &Path, log: impl FnOnce() -> String) -> Option<String> {
    let has = |words: &[&str]| words.iter().any(|words| reason.contains(words));
    if has(&UNEXPLAINED) {
        of_mount(&log())
    } else if has(&DAMAGED) {
        let name = device.file_name()?.to_str()?;
        let log = log();
        let lines = lines(&log);
        let mut told = lines.iter().rev().filter_map(|line| message(line));
        let (_, _, text) = told.find(|(level, _, text)| *level <= ERROR && text.contains(name))?;
        Some(clip(text))
    } else {
        None
    }
}

/// The kernel's own line about a mount that has just failed: the first that names an error, of those of the same second
/// after the last mount that succeeded.
fn of_mount(log: &str) -> Option<String> {
    const DONE: [&str; 4] = ["mounted filesystem", "mounting filesystem", "Ending clean mount", "Unmounting"];
    let all = lines(log);
    let after = all.iter().rposition(|line| DONE.iter().any(|text| line.contains(text))).map_or(0, |at| at + 1);
    let errors: Vec<(f64, &str)> = all[after..].iter().filter_map(|line| serious(line)).collect();
    let last = errors.last()?.0;
    let (_, error) = errors.iter().find(|(time, _)| *time > last - 1.0)?;
    Some(clip(error))
}

/// Levels of the kernel's messages (syslog(2)).
const ERROR: u32 = 3;
const WARNING: u32 = 4;

/// The time and the text of a message of the kernel that names an error, and is a warning or worse.
fn serious(line: &str) -> Option<(f64, &str)> {
    let (level, time, text) = message(line)?;
    (level <= WARNING && is_error(text)).then_some((time, text))
}

/// Level, time and text of a message of the kernel: `<4>[    1.5] text`.
fn message(line: &str) -> Option<(u32, f64, &str)> {
    let (level, rest) = line.strip_prefix('<')?.split_once(">[")?;
    let (time, text) = rest.split_once("] ")?;
    Some((level.parse::<u32>().ok()? % 8, time.trim().parse().ok()?, text.trim()))
}

/// The lines of a text as a terminal would leave them, without colours; empty ones are left out.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(plain).filter(|line| !line.trim().is_empty()).collect()
}

fn plain(line: &str) -> String {
    let mut end = line.len().min(MOST_LINE);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    // A progress bar overwrites its line.
    let line = line[..end].trim_end_matches('\r');
    let line = line.rsplit('\r').next().unwrap_or(line);
    let mut out = String::new();
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\x1b' => {
                if characters.next_if_eq(&'[').is_some() {
                    while characters.next().is_some_and(|character| !matches!(character, '@'..='~')) {}
                }
            }
            '\t' => out.push(' '),
            other if other.is_control() => {}
            other => out.push(other),
        }
    }
    out
}

/// What a language's run-time system says of the error that ended a program.
fn raised(lines: &[String]) -> Option<String> {
    let is_plain = |line: &&String| !line.starts_with(' ');
    let after = |at: usize| lines.get(at + 1..).unwrap_or_default();
    let position = |is: &dyn Fn(&str) -> bool| lines.iter().rposition(|line| is(line));
    // Java: the innermost cause comes last.
    if let Some(at) = position(&|line| line.starts_with("Caused by: ")) {
        return Some(lines[at].clone());
    }
    if let Some(at) = position(&|line| line.starts_with("Exception in thread ")) {
        return Some(lines[at].clone());
    }
    if let Some(at) = position(&|line| line.starts_with("thread '") && line.contains("panicked at ")) {
        let message = after(at).first().filter(|_| lines[at].ends_with(':'));
        return Some(message.map_or_else(|| lines[at].clone(), |message| format!("{} {}", lines[at], message.trim())));
    }
    if let Some(at) = position(&|line| line.starts_with("panic: ")) {
        return Some(lines[at].clone());
    }
    if let Some(at) = position(&|line| line.starts_with("terminate called after throwing")) {
        let message = after(at).first().filter(|line| line.contains("what():"));
        return Some(message.map_or_else(|| lines[at].clone(), |message| format!("{}: {}", lines[at], message.trim())));
    }
    if let Some(at) = position(&|line| line.starts_with("Fatal Python error: ")) {
        return after(at).iter().find(|line| is_exception(line)).or(Some(&lines[at])).cloned();
    }
    if let Some(at) = position(&|line| line.starts_with("Traceback (most recent call last)")) {
        let raised = after(at).iter().find(is_plain);
        return raised.filter(|line| !follows(line)).cloned();
    }
    let library = |line: &str| LIBRARY.iter().any(|text| line.starts_with(text));
    lines.iter().find(|line| is_exception(line) || library(line)).filter(|line| !follows(line)).cloned()
}

/// `Error: no such file`, `java.io.IOException: ...`, `TypeError [ERR_X]: ...`: the name of a class, and a colon.
fn is_exception(line: &str) -> bool {
    let Some((name, _)) = line.split_once(": ") else { return false };
    let name = name.split_once(" [").map_or(name, |(name, _)| name);
    let is_name = name.chars().all(|character| character.is_alphanumeric() || "._$".contains(character));
    is_name && ["Error", "Exception"].iter().any(|ending| name.ends_with(ending))
}

/// Whether a line says only that there was an error, or something else.
fn follows(line: &str) -> bool {
    let line = line.trim();
    let is_make = line.starts_with("make") && line.contains("] Error ");
    is_make
        || FOLLOWS.iter().any(|text| line.starts_with(text))
        || FOLLOWING.iter().any(|text| line.contains(text))
        || line
            .strip_suffix(" error")
            .or(line.strip_suffix(" errors"))
            .is_some_and(|count| count.parse::<u32>().is_ok())
}

/// Whether a line names an error. Lines of JSON do not, nor do indented ones, which explain one above.
fn is_error(line: &str) -> bool {
    let is_data = line.starts_with([' ', '"', '{', '}', '[', ']', ',']);
    let small = line.to_lowercase();
    !is_data && !follows(line) && WORDS.iter().any(|word| small.contains(word))
}

/// The part of a line that fits into a table's note.
fn clip(line: &str) -> String {
    mountmark_model::shortened(line, MOST_SHOWN)
}

#[cfg(test)]
mod tests;
