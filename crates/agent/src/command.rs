//! Runs a command as GNU time does: the time until it returned, and the resources it used.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result};
use mountmark_model::OutputKind;

use super::printed::{Printed, ends_of};
use super::probes::now;
use super::sandbox::{Confined, End, Sandbox, Setting};
use super::{cause, figures, scratch};

/// Why a command could not write to /proc or /sys.
const SETTING: &str = " (a command cannot change settings of the kernel or of a disk; `cold = true` makes a task start with empty caches)";

pub struct Finished {
    /// Nanoseconds from before the fork until the command ended.
    pub elapsed: u64,
    pub status: ExitStatus,
    /// Includes its children.
    pub usage: libc::rusage,
    /// Bytes that it and its children passed to write(2) and similar calls.
    pub written: Option<u64>,
    /// Standard error: all of it if it was to be kept, else the end.
    pub stderr: String,
    /// Standard output: all of it if it was to be kept, else its first and last part.
    pub stdout: String,
    /// The first and last part of standard error, unless all of it was to be kept.
    pub stderr_ends: Option<String>,
    /// The line that names why it failed, if it did and said so.
    pub cause: Option<String>,
    /// The limit in seconds, if the command was killed for reaching it.
    pub timed_out: Option<f64>,
    /// Whether it printed more than there is room for.
    pub overflowed: bool,
    /// Whether it left processes behind, which were killed.
    pub leftovers: bool,
    /// Whether it mounted something else at the mount point of the file system under test.
    pub moved: bool,
}

impl Default for Finished {
    /// A command that succeeded and used nothing.
    fn default() -> Finished {
        // SAFETY: rusage is plain data for which all zeroes are valid.
        let usage = unsafe { std::mem::zeroed() };
        Finished {
            elapsed: 0,
            status: ExitStatus::default(),
            usage,
            written: None,
            stderr: String::new(),
            stdout: String::new(),
            stderr_ends: None,
            cause: None,
            timed_out: None,
            overflowed: false,
            leftovers: false,
            moved: false,
        }
    }
}

impl Finished {
    /// A sentence about `what` if it failed.
    pub fn failure(&self, what: &str) -> Option<String> {
        if let Some(limit) = self.timed_out {
            return Some(format!("{what} was ended at its limit of {limit} s"));
        }
        if self.overflowed {
            return Some(format!(
                "{what} printed more than the {} MiB that there is room for: let it print less, or into /dev/null",
                scratch::ROOM >> 20
            ));
        }
        if self.moved {
            return Some(format!(
                "{what} mounted something else in the place of the file system that it was to work on, or unmounted \
                 that: its figures are another's (`cold = true` has it mounted anew)"
            ));
        }
        let mut said = self.cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
        if said.contains("Read-only file system")
            && ["/proc/", "/sys/", "sysctl"].iter().any(|place| said.contains(place))
        {
            said += SETTING;
        }
        Some(match (self.status.code(), self.status.signal()) {
            (Some(0), _) => return None,
            (Some(127), _) if said.contains("shared librar") => {
                format!("{what} needs a library that is not in the lab{said}; name its Debian package under `packages`")
            }
            (Some(127), _) => format!(
                "{what} needs a program that is not in the lab: {}; name its Debian package under `packages` and itself under `tools` in its file",
                self.cause.as_deref().unwrap_or("the shell does not say which")
            ),
            // git's exit code for a wrong option is a shell's for the first signal.
            (Some(129), _) if !said.is_empty() => format!("{what} ended with exit code 129{said}"),
            // A shell's exit code for a program killed by a signal.
            (Some(code @ 129..=192), _) => format!("{what} was killed by {}{said}", signal_name(code - 128)),
            (Some(code), _) => format!("{what} ended with exit code {code}{said}"),
            (None, signal) => format!("{what} was killed by {}{said}", signal_name(signal.unwrap_or(0))),
        })
    }

    /// What goes into the record.
    pub fn outputs(&self) -> [(OutputKind, &str); 2] {
        let stderr = self.stderr_ends.as_ref().unwrap_or(&self.stderr);
        [(OutputKind::Stdout, &self.stdout), (OutputKind::Stderr, stderr)]
    }

    /// The last lines, for a failure's detail.
    pub fn said(&self) -> String {
        figures::tail(&self.stdout, &self.stderr)
    }

    /// Finds the cause of a failure in what was printed.
    fn find_cause(&mut self, stderr: &str) {
        self.cause = match self.status.code() {
            Some(0) => None,
            // The program that was not found is the last that the shell tried.
            Some(127) => stderr.lines().rfind(|line| line.contains("not found")).map(str::to_owned),
            Some(130..=192) | None => cause::before_signal(stderr, &self.stdout),
            _ => None,
        };
        if self.cause.is_none() && matches!(self.status.code(), Some(1..=129)) {
            self.cause = cause::line(stderr, &self.stdout);
        }
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

/// How much of a command's output is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The first and the last part of each stream.
    Ends,
    /// Everything, up to [`MOST_KEPT`] of each stream.
    All,
}

/// Limit in bytes of each stream that is read back: a program that prints without end must not fill the memory twice.
const MOST_KEPT: u64 = 8 << 20;
/// Bytes of stderr in a failure's detail.
const TAIL: u64 = 4096;

/// What a command prints.
pub struct Kept {
    stdout: Stdout,
    stderr: File,
}

enum Stdout {
    /// All of it.
    File(File),
    /// Both ends. A file in memory would take room from a command that prints much.
    Pipe(Printed),
}

impl Stdout {
    fn end(&self) -> BorrowedFd<'_> {
        match self {
            Stdout::File(file) => file.as_fd(),
            Stdout::Pipe(printed) => printed.end(),
        }
    }
}

impl Kept {
    /// Creates unnamed files in the agent's folder, whose size is limited to [`super::scratch::ROOM`].
    pub fn new(scratch: &Path, keep: Keep) -> Result<Kept> {
        let open = |name: &str| {
            let path = scratch.join(name);
            let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
            let file = file.with_context(|| format!("cannot make {}", path.display()))?;
            fs::remove_file(&path)?;
            Ok::<_, anyhow::Error>(file)
        };
        let stdout = match keep {
            Keep::All => Stdout::File(open("stdout")?),
            Keep::Ends => Stdout::Pipe(Printed::new()?),
        };
        Ok(Kept { stdout, stderr: open("stderr")? })
    }

    /// Whether the output was larger than the room for it.
    fn overflowed(&self) -> bool {
        rustix::fs::fstatvfs(&self.stderr).is_ok_and(|data| data.f_blocks > 0 && data.f_bavail == 0)
    }
}

/// A command whose warden waits for the signal to start; nothing is printed yet.
pub struct Ready {
    warden: Sandbox,
    kept: Kept,
}

/// Prepares a command as [`start`] does, with own mounts, for one that must not reach a device, and that finds /tmp empty.
pub fn prepare_apart(command: &Command, kept: Kept, test: &Path, device: &Path) -> Result<Ready> {
    let nothing = nothing()?;
    let standard = [nothing.as_fd(), nothing.as_fd(), kept.stderr.as_fd()];
    let setting =
        Setting { standard, hand_down: None, confined: Some(Confined { test, tree: None }), hidden: Some(device) };
    Ok(Ready { warden: Sandbox::start(command, &setting)?, kept })
}

/// Prepares everything for `command`, so that only its own time remains. `input`: nothing if absent; `confined` and
/// `hand_down` as in [`Setting`].
pub fn start(
    command: &Command,
    kept: Kept,
    input: Option<BorrowedFd>,
    confined: Option<Confined>,
    hand_down: Option<BorrowedFd>,
) -> Result<Ready> {
    let nothing = nothing()?;
    let standard = [input.unwrap_or(nothing.as_fd()), kept.stdout.end(), kept.stderr.as_fd()];
    let warden = Sandbox::start(command, &Setting { standard, hand_down, confined, hidden: None })?;
    Ok(Ready { warden, kept })
}

fn nothing() -> Result<File> {
    File::options().read(true).write(true).open("/dev/null").context("cannot open /dev/null")
}

impl Ready {
    /// Runs the command to its end, or kills it with all its processes after `limit` seconds of this kernel's clock.
    pub fn run(&mut self, limit: f64) -> Result<Finished> {
        self.go()?;
        self.wait(limit)
    }

    /// Lets the command begin.
    pub fn go(&mut self) -> Result<()> {
        self.warden.go()
    }

    /// Waits for the end of the command, as [`Ready::run`] does.
    pub fn wait(&mut self, limit: f64) -> Result<Finished> {
        let begin = now();
        let printed = match &mut self.kept.stdout {
            Stdout::File(_) => None,
            Stdout::Pipe(printed) => Some(printed),
        };
        let mut finished = match self.warden.wait(limit, printed)? {
            End::Ended(ended) => Finished {
                elapsed: ended.elapsed,
                status: ended.status,
                usage: ended.usage,
                written: ended.written,
                leftovers: ended.leftovers,
                moved: ended.moved,
                ..Finished::default()
            },
            End::Limit => Finished { timed_out: Some(limit), elapsed: now() - begin, ..Finished::default() },
            End::Killed(status) => Finished { status, elapsed: now() - begin, ..Finished::default() },
        };
        finished.overflowed = self.kept.overflowed();
        match &mut self.kept.stdout {
            Stdout::File(stdout) => {
                finished.stdout = last(stdout, MOST_KEPT)?;
                finished.stderr = last(&mut self.kept.stderr, MOST_KEPT)?;
            }
            Stdout::Pipe(printed) => {
                finished.stdout = printed.text();
                finished.stderr = last(&mut self.kept.stderr, TAIL)?.trim().to_owned();
                if !finished.stderr.is_empty() {
                    finished.stderr_ends = Some(ends_of(&mut self.kept.stderr)?);
                }
            }
        }
        if !finished.status.success() {
            let all = last(&mut self.kept.stderr, MOST_KEPT)?;
            finished.find_cause(&all);
        }
        Ok(finished)
    }

    /// Lets processes that the command leaves live on, until [`Ready::end`] or [`Ready::leave`].
    pub fn stay(&mut self) {
        self.warden.stay();
    }

    /// Waits until the processes that the command left have ended, for a while, and then ends them.
    pub fn leave(mut self) -> Result<()> {
        self.warden.leave()
    }

    /// Ends all processes and mounts that the command left.
    pub fn end(mut self) -> Result<()> {
        self.warden.end().map(drop)
    }
}

/// The last `most` bytes of a file.
fn last(file: &mut File, most: u64) -> Result<String> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut text = Vec::new();
    file.take(most).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests;
