//! Runs commands under wardens: each command has a first process above it that starts it, waits for its end, and
//! removes all that it leaves.
//!
//! A command comes from a suite or a catalogue file by any author. So it runs
//!
//! * without the rights that reach the agent or the machine (`rights`);
//! * in its own PID name space: it sees no other processes, and none of its own outlives the first process, however it
//!   forks and whatever session it joins;
//! * if it is a suite's, in its own mount name space: its mounts vanish with it, and it cannot cover a file that the
//!   agent reads (the device's counters, the processor's time) with another. There it finds settings of the kernel and of
//!   disks read-only: what it would leave changed would be measured with the tasks after it.
//!
//! Name spaces rather than control groups: every kernel has them, they need no folder that a command could write to,
//! and they charge nothing to the measured work.
//!
//! A copy of the agent, the warden, sets all of that up before the command begins, and then waits for the signal to
//! start. So a command's time is that of one posix_spawn, its work, and one wait, as in GNU time.

mod inside;
mod mounts;
mod rights;

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open};

use super::printed::{PAUSE, Printed};
use super::probes::now;
use super::tree::Tree;
use crate::settings;
use inside::{Order, Report, Step, Words};

/// Seconds that killed processes have to end. A process stuck in the kernel ignores even SIGKILL.
const KILL_LIMIT: f64 = 60.0;
/// Seconds that processes have to end by themselves when what they served is gone.
const LEAVE_LIMIT: f64 = 10.0;

/// A command with its own mounts.
#[derive(Clone, Copy)]
pub struct Confined<'a> {
    /// Mount point of the file system under test, whose mount it must not change.
    pub(super) test: &'a Path,
    /// The tree in which it finds programs, if not the machine's own.
    pub(super) tree: Option<&'a Tree>,
}

/// Settings of a command beyond its own.
pub(super) struct Setting<'a> {
    /// Standard input, output and error.
    pub(super) standard: [BorrowedFd<'a>; 3],
    /// A descriptor that stays open in the command, under the same number.
    pub(super) hand_down: Option<BorrowedFd<'a>>,
    /// What the command gets if it has its own mounts.
    pub(super) confined: Option<Confined<'a>>,
    /// A device that the command must not reach, not even by a node or a mount of its own. It needs mounts of its own for
    /// that, and gets an empty /tmp.
    pub(super) hidden: Option<&'a Path>,
}

pub(super) enum End {
    Ended(Box<Ended>),
    /// It was still running at the limit.
    Limit,
    /// Its warden was killed, and the command with it.
    Killed(ExitStatus),
}

pub(super) struct Ended {
    /// Nanoseconds from before its start until it ended.
    pub(super) elapsed: u64,
    pub(super) status: ExitStatus,
    /// Resources used by it and by the children that it waited for.
    pub(super) usage: libc::rusage,
    /// Bytes that they passed to write(2) and similar calls.
    pub(super) written: Option<u64>,
    pub(super) leftovers: bool,
    /// Whether it left something else mounted at the mount point of the file system under test.
    pub(super) moved: bool,
}

/// One command's first process. Dropping it kills all that the command left.
pub(super) struct Sandbox {
    pid: Pid,
    pidfd: OwnedFd,
    go: File,
    report: File,
    is_gone: bool,
    /// Whether processes that the command leaves live on.
    stays: bool,
    program: String,
}

impl Sandbox {
    pub(super) fn start(command: &Command, setting: &Setting) -> Result<Sandbox> {
        let order = order(command, setting)?;
        let (go_read, go) = std::io::pipe().context("cannot make a pipe")?;
        let (report, report_write) = std::io::pipe().context("cannot make a pipe")?;
        let mut flags = libc::CLONE_NEWPID | libc::SIGCHLD;
        if setting.confined.is_some() {
            flags |= libc::CLONE_NEWNS;
        }
        // SAFETY: creates a process with a copy of this memory, like fork; it only runs `inside`, which does not
        // allocate and never returns.
        let pid = unsafe { libc::syscall(libc::SYS_clone, flags as libc::c_ulong, 0, 0, 0, 0) };
        match pid {
            -1 => {
                return Err(std::io::Error::last_os_error()).context(
                    "cannot start a process in name spaces of its own (the kernel needs CONFIG_PID_NS, and a container \
                     CAP_SYS_ADMIN)",
                );
            }
            0 => inside::live(&order, go_read.as_raw_fd(), report_write.as_raw_fd()),
            _ => {}
        }
        let pid = Pid::from_raw(pid as libc::pid_t).context("a process without a number")?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).context("cannot watch a process")?;
        let program = command.get_program().to_string_lossy().into_owned();
        let (go, report) = (File::from(OwnedFd::from(go)), File::from(OwnedFd::from(report)));
        let mut warden = Sandbox { pid, pidfd, go, report, is_gone: false, stays: false, program };
        drop((go_read, report_write));
        match warden.hear()? {
            Some(_) => Ok(warden),
            None => bail!("cannot start {}: the process above it was killed", warden.program),
        }
    }

    pub(super) fn go(&mut self) -> Result<()> {
        self.go.write_all(&[1]).with_context(|| format!("cannot start {}", self.program))
    }

    /// Waits for the command's end, for at most `limit` seconds of this kernel's clock. After the limit, or if the
    /// command left processes, all of them have been killed.
    /// What it prints is read meanwhile.
    pub(super) fn wait(&mut self, limit: f64, mut printed: Option<&mut Printed>) -> Result<End> {
        let is_ready = ready_within(&self.report, limit, printed.as_deref_mut())?;
        let report = if is_ready { self.hear()? } else { None };
        let mut killed = ExitStatus::default();
        if report.as_ref().is_none_or(|report| report.leftovers && !self.stays) {
            killed = self.end()?;
            // What those that were killed had printed.
            printed.map(Printed::read);
        }
        Ok(match report {
            Some(report) => End::Ended(Box::new(Ended {
                elapsed: report.elapsed,
                status: ExitStatus::from_raw(report.status),
                usage: report.usage,
                written: u64::try_from(report.written).ok(),
                leftovers: report.leftovers,
                moved: report.moved,
            })),
            None if is_ready => End::Killed(killed),
            None => End::Limit,
        })
    }

    /// Processes that the command leaves are not ended when it returns.
    pub(super) fn stay(&mut self) {
        self.stays = true;
    }

    /// Waits until all that is left of the command has ended, for at most [`LEAVE_LIMIT`]; then kills it.
    pub(super) fn leave(&mut self) -> Result<()> {
        // The warden then ends with the last of them. If it is gone, so are they.
        let _ = self.go.write_all(&[1]);
        ready_within(&self.pidfd, LEAVE_LIMIT, None)?;
        self.end().map(drop)
    }

    /// Kills all that is left of the command; returns the warden's exit status.
    pub(super) fn end(&mut self) -> Result<ExitStatus> {
        if self.is_gone {
            return Ok(ExitStatus::default());
        }
        let _ = rustix::process::kill_process(self.pid, Signal::KILL);
        // The kernel ends the name space with its first process, which is reaped after all others.
        if !ready_within(&self.pidfd, KILL_LIMIT, None)? {
            bail!("a command ({}) cannot be killed: a process of it hangs in the kernel", self.program);
        }
        self.is_gone = true;
        let ended =
            rustix::process::waitpid(Some(self.pid), WaitOptions::empty()).context("cannot wait for a process")?;
        Ok(ended.map(|(_, status)| ExitStatus::from_raw(status.as_raw())).unwrap_or_default())
    }

    /// The next report; `None` if the warden is gone.
    fn hear(&mut self) -> Result<Option<Report>> {
        let mut bytes = [0; Report::SIZE];
        if self.report.read_exact(&mut bytes).is_err() {
            return Ok(None);
        }
        // SAFETY: the warden, a copy of this process, wrote a whole report.
        let report: Report = unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) };
        let error = std::io::Error::from_raw_os_error(report.error);
        let what = match report.failed {
            Step::None => return Ok(Some(report)),
            Step::Start => format!("cannot start {}", self.program),
            Step::Mounts => format!("cannot start {}: the disk cannot be hidden from it", self.program),
            Step::Tree => format!("cannot start {}: its tree of files cannot be mounted", self.program),
            Step::Settings => format!("cannot start {}: settings cannot be kept from it", self.program),
            Step::Folder => format!("cannot start {}: its folder cannot be entered", self.program),
            Step::Standard => format!("cannot start {}: its standard streams cannot be opened", self.program),
            Step::Rights => format!("cannot start {}: rights cannot be taken from it", self.program),
        };
        Err(error).context(what)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The warden's orders for a command.
fn order(command: &Command, setting: &Setting) -> Result<Order> {
    let text = |text: &OsStr| {
        CString::new(text.as_bytes()).with_context(|| format!("{} holds a null character", text.to_string_lossy()))
    };
    let name = command.get_program();
    let mut path = OsStr::new("");
    let mut environment = Vec::new();
    for (variable, value) in command.get_envs() {
        let Some(value) = value else { continue };
        if variable == "PATH" {
            path = value;
        }
        environment.push(text(&[variable, value].join(OsStr::new("=")))?);
    }
    let program =
        find(name, path).with_context(|| format!("cannot start {}: there is no such program", name.display()))?;
    let words = std::iter::once(name).chain(command.get_args()).map(text).collect::<Result<_>>()?;
    Ok(Order {
        program: text(program.as_os_str())?,
        arguments: Words::new(words),
        environment: Words::new(environment),
        folder: text(command.get_current_dir().unwrap_or(Path::new("/")).as_os_str())?,
        standard: setting.standard.map(|stream| stream.as_raw_fd()),
        hand_down: setting.hand_down.map(|descriptor| descriptor.as_raw_fd()),
        test: setting.confined.map(|confined| text(confined.test.as_os_str())).transpose()?,
        tree: setting.confined.and_then(|confined| confined.tree).cloned(),
        hidden: setting.hidden.map(|path| text(path.as_os_str())).transpose()?,
        settings: match setting.confined {
            Some(_) => settings::mount_points().iter().map(|point| text(point.as_ref())).collect::<Result<_>>()?,
            None => Vec::new(),
        },
    })
}

/// The program that a shell would start by this name.
fn find(name: &OsStr, path: &OsStr) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(name.into());
    }
    let mut places = std::env::split_paths(path).map(|folder| folder.join(name));
    places.find(|place| rustix::fs::access(place, rustix::fs::Access::EXEC_OK).is_ok() && place.is_file())
}

/// Whether a descriptor becomes readable, or a process ends, within `seconds` of this kernel's clock. What is printed
/// meanwhile is read, and the rest of it at the end.
fn ready_within(fd: &impl AsFd, seconds: f64, mut printed: Option<&mut Printed>) -> Result<bool> {
    let end = now().saturating_add((seconds * 1e9) as u64);
    // A command that prints line by line must not wake the agent at each.
    let mut rests = false;
    loop {
        let left = Duration::from_nanos(end.saturating_sub(now()));
        let wait = if rests { left.min(PAUSE) } else { left };
        let timeout = rustix::time::Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        let source = printed.as_ref().filter(|_| !rests).map(|printed| printed.source());
        let mut watched =
            [PollFd::new(fd, PollFlags::IN), PollFd::from_borrowed_fd(source.unwrap_or(fd.as_fd()), PollFlags::IN)];
        let count = if source.is_some() { 2 } else { 1 };
        let found = poll(&mut watched[..count], Some(&timeout));
        let [is_ready, is_printed] = watched.map(|one| !one.revents().is_empty());
        match found {
            Ok(0) if wait < left => rests = false,
            Ok(0) => return Ok(false),
            Ok(_) => {
                let rested = std::mem::replace(&mut rests, false);
                if let Some(printed) = printed.as_deref_mut().filter(|_| is_printed || rested) {
                    rests = printed.read();
                }
                if is_ready {
                    return Ok(true);
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("cannot wait for a process"),
        }
    }
}
