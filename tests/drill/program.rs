//! The program under test, in its own process group, with its output as it appears.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::lab::heeding_signals;

/// Longer than anything takes here on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);
/// The smallest size of a pipe: the program waits for its reader while it prints.
const PIPE: libc::c_int = 4096;

/// A running program.
pub struct Program {
    child: Child,
    begin: Instant,
    lines: Arc<Mutex<Vec<String>>>,
    errors: Option<JoinHandle<()>>,
    output: OutputPipe,
}

/// Standard output, read only on request.
enum OutputPipe {
    Waiting(Option<std::process::ChildStdout>),
    Read(Option<JoinHandle<Vec<u8>>>),
}

/// A program that has ended.
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub lines: Vec<String>,
    pub ran: Duration,
}

impl Ended {
    /// Its exit code; 128 plus the signal's number if a signal ended it.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// Its last output, for a finding.
    pub fn said(&self) -> String {
        let last = self.lines.len().saturating_sub(4);
        self.lines[last..].join(" | ")
    }
}

impl Program {
    /// Starts it; standard output is read at once unless `unread`.
    pub fn start(command: &mut Command, unread: bool) -> Program {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        heeding_signals(command, None);
        let mut child = command.spawn().expect("the program under test starts");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (stderr, said) = (child.stderr.take().expect("piped"), Arc::clone(&lines));
        let errors = thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                said.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        let stdout = child.stdout.take().expect("piped");
        if unread {
            // SAFETY: takes two numbers; a pipe that cannot be so small keeps its size.
            unsafe { libc::fcntl(stdout.as_raw_fd(), libc::F_SETPIPE_SZ, PIPE) };
        }
        let mut program = Program {
            child,
            begin: Instant::now(),
            lines,
            errors: Some(errors),
            output: OutputPipe::Waiting(Some(stdout)),
        };
        if !unread {
            program.read_output();
        }
        program
    }

    /// Starts to read standard output.
    fn read_output(&mut self) {
        if let OutputPipe::Waiting(stdout) = &mut self.output
            && let Some(stdout) = stdout.take()
        {
            let mut file = File::from(OwnedFd::from(stdout));
            self.output = OutputPipe::Read(Some(thread::spawn(move || {
                let mut text = Vec::new();
                let _ = file.read_to_end(&mut text);
                text
            })));
        }
    }

    /// Whether unread standard output is available.
    pub fn prints(&self) -> bool {
        let OutputPipe::Waiting(Some(stdout)) = &self.output else { return false };
        let mut poll = libc::pollfd { fd: stdout.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one pollfd, which outlives the call.
        unsafe { libc::poll(&raw mut poll, 1, 0) > 0 && poll.revents & libc::POLLIN != 0 }
    }

    /// Passes all lines of standard error so far to `look`.
    pub fn with_lines<T>(&self, look: impl FnOnce(&[String]) -> T) -> T {
        look(&self.lines.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Its pid.
    pub fn process(&self) -> libc::pid_t {
        self.child.id() as libc::pid_t
    }

    /// Time since its start.
    pub fn ran(&self) -> Duration {
        self.begin.elapsed()
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_some()
    }

    /// Sends a signal to it, or to its whole process group.
    pub fn signal(&self, signal: libc::c_int, group: bool) {
        let target = if group { -self.process() } else { self.process() };
        // SAFETY: takes two numbers. The child was not waited for, or still leads the group: no other group can have
        // that number.
        unsafe { libc::kill(target, signal) };
    }

    /// Waits for its end; `None` on timeout.
    pub fn wait(mut self) -> Option<Ended> {
        self.read_output();
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            if begin.elapsed() > LIMIT {
                return None;
            }
            thread::sleep(Duration::from_millis(2));
        };
        let ran = self.begin.elapsed();
        // A surviving child keeps the pipes open: that is a separate finding, so do not wait for it.
        let over = |end: Instant, done: &dyn Fn() -> bool| {
            while !done() && Instant::now() < end {
                thread::sleep(Duration::from_millis(2));
            }
            done()
        };
        let end = Instant::now() + Duration::from_secs(2);
        if let Some(errors) = self.errors.take()
            && over(end, &|| errors.is_finished())
        {
            let _ = errors.join();
        }
        let mut stdout = Vec::new();
        if let OutputPipe::Read(reader) = &mut self.output
            && let Some(reader) = reader.take()
            && over(end, &|| reader.is_finished())
        {
            stdout = reader.join().unwrap_or_default();
        }
        let lines = self.with_lines(<[String]>::to_vec);
        Some(Ended { status, stdout: String::from_utf8_lossy(&stdout).into_owned(), lines, ran })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
