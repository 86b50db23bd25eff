//! Runs a command as GNU time would: how long until it returned, and what it used.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, pidfd_open, waitid};

use super::probes::now;

/// A command that has ended.
pub struct Finished {
    /// Nanoseconds from before the fork until it had ended.
    pub elapsed: u64,
    /// How it ended.
    pub status: ExitStatus,
    /// What it and its children used.
    pub usage: libc::rusage,
    /// Bytes that it and its children passed to write(2) and its like.
    pub written: Option<u64>,
    /// What it printed on stderr: all of it where it was to be kept, else the last.
    pub stderr: String,
    /// What it printed on stdout, where that was to be kept.
    pub stdout: String,
    /// The limit in seconds, if it was ended for reaching it.
    pub timed_out: Option<f64>,
}

impl Finished {
    /// Nothing if it succeeded; else a sentence about `what`.
    pub fn failure(&self, what: &str) -> Option<String> {
        if let Some(limit) = self.timed_out {
            return Some(format!("{what} was ended at its limit of {limit} s"));
        }
        match (self.status.code(), self.status.signal()) {
            (Some(0), _) => None,
            (Some(127), _) => Some(format!(
                "{what} needs a program that is not in the lab: {}; name its Debian package under `packages` and itself under `tools` in the suite",
                self.stderr.lines().next_back().unwrap_or("the shell does not say which")
            )),
            // What a shell says of a program that a signal ended.
            (Some(code @ 129..=192), _) => Some(format!("{what} was killed by {}", signal_name(code - 128))),
            (Some(code), _) => Some(match self.stderr.lines().map(str::trim).rfind(|line| !line.is_empty()) {
                Some(said) => format!("{what} ended with exit code {code}: {}", clip(said)),
                None => format!("{what} ended with exit code {code}"),
            }),
            (None, signal) => Some(format!("{what} was killed by {}", signal_name(signal.unwrap_or(0)))),
        }
    }
}

/// As much of a line as a table's note has room for.
fn clip(line: &str) -> String {
    const MOST: usize = 160;
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGILL => "SIGILL",
        libc::SIGINT => "SIGINT",
        libc::SIGKILL => "SIGKILL",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGTERM => "SIGTERM",
        other => return format!("signal {other}"),
    };
    format!("signal {signal} ({name})")
}

/// What becomes of what a command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The last of stderr, for a failure's detail.
    Tail,
    /// Everything, up to [`MOST_KEPT`] of each stream.
    All,
}

/// Bytes of a stream that are read back at most: a program that prints without end must not fill the memory twice.
const MOST_KEPT: u64 = 8 << 20;
/// Bytes of stderr that a failure's detail has.
const TAIL: u64 = 4096;

/// Runs `command` to its end, or ends it and its children after `limit` seconds of this kernel's clock.
pub fn run(command: &mut Command, scratch: &Path, limit: f64, keep: Keep) -> Result<Finished> {
    let open = |name: &str| File::options().read(true).write(true).create(true).truncate(true).open(scratch.join(name));
    let mut stderr = open("stderr")?;
    let mut stdout = if keep == Keep::All { Some(open("stdout")?) } else { None };
    let out = match &stdout {
        Some(file) => Stdio::from(file.try_clone()?),
        None => Stdio::null(),
    };
    command.stdin(Stdio::null()).stdout(out).stderr(stderr.try_clone()?).process_group(0);
    let before = children();
    let begin = now();
    let child = command.spawn().with_context(|| format!("cannot start {}", command.get_program().to_string_lossy()))?;
    let pid = Pid::from_child(&child);
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).context("cannot watch a process")?;
    let timed_out = if ended_within(&pidfd, limit)? { None } else { Some(limit) };
    if timed_out.is_some() {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        // A process stuck in the kernel does not even heed SIGKILL.
        if !ended_within(&pidfd, 60.0)? {
            anyhow::bail!("a command of process {} cannot be killed: it hangs in the kernel", child.id());
        }
    }
    let elapsed = now() - begin;
    // A process that has ended keeps its I/O figures until it is waited for.
    let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
    let written = fs::read_to_string(format!("/proc/{}/io", child.id())).ok().and_then(|text| {
        text.lines().find_map(|line| line.strip_prefix("wchar: ")).and_then(|value| value.trim().parse().ok())
    });
    let (status, usage) = wait4(child.id())?;
    // What a killed or careless command left behind must not run beside the next task.
    let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    end_orphans(&before);
    let (stderr, stdout) = match &mut stdout {
        Some(stdout) => (last(&mut stderr, MOST_KEPT)?, last(stdout, MOST_KEPT)?),
        None => (last(&mut stderr, TAIL)?.trim().to_owned(), String::new()),
    };
    Ok(Finished { elapsed, status, usage, written, stderr, stdout, timed_out })
}

/// Ends what a command left behind outside its group (fio gives each of its jobs a session of its own): the agent is the
/// first process of its lab, so that all orphans are its children.
fn end_orphans(before: &BTreeSet<libc::pid_t>) {
    /// Each look may find the children of those that were ended by the one before.
    const LOOKS: usize = 100;
    for _ in 0..LOOKS {
        let orphans: Vec<libc::pid_t> = children().difference(before).copied().collect();
        if orphans.is_empty() {
            return;
        }
        for pid in orphans.into_iter().filter_map(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
        }
    }
}

/// The children of this process. None where the kernel does not list them (CONFIG_PROC_CHILDREN).
fn children() -> BTreeSet<libc::pid_t> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// The last `most` bytes of a file.
fn last(file: &mut File, most: u64) -> Result<String> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut text = Vec::new();
    file.take(most).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn ended_within(pidfd: &std::os::fd::OwnedFd, seconds: f64) -> Result<bool> {
    let end = now() + (seconds * 1e9) as u64;
    loop {
        let left = Duration::from_nanos(end.saturating_sub(now()));
        let timeout = rustix::time::Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("cannot wait for a process"),
        }
    }
}

fn wait4(pid: u32) -> Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    // SAFETY: rusage is plain data for which all zeroes are valid; both pointers outlive the call.
    let (result, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let result = libc::wait4(pid as libc::pid_t, &raw mut status, 0, &raw mut usage);
        (result, usage)
    };
    if result < 0 {
        return Err(std::io::Error::last_os_error()).context("cannot wait for a process");
    }
    Ok((ExitStatus::from_raw(status), usage))
}
