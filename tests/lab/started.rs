//! The program while it runs, and after its end.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::Results;

/// Longer than anything takes here on a slow and busy machine: a program that hangs fails its test, not all tests.
const LIMIT: Duration = Duration::from_secs(900);

/// A running program. On drop, it is terminated together with its guests.
pub struct Started {
    pub(super) child: Child,
    pub(super) shown: String,
    pub(super) printed: TempDir,
}

impl Started {
    /// Standard error so far.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.printed.path().join("stderr")).unwrap_or_default()).into_owned()
    }

    /// Waits until standard error contains `text`.
    pub fn wait_for(&mut self, text: &str) {
        let begin = Instant::now();
        while !self.stderr().contains(text) {
            let ended = self.child.try_wait().expect("a child").is_some() && !self.stderr().contains(text);
            assert!(!ended && begin.elapsed() < LIMIT, "{}: never said {text:?}:\n{}", self.shown, self.stderr());
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn signal(&self, signal: libc::c_int) {
        // SAFETY: takes two numbers; the child was not waited for, so the pid is still its own.
        let result = unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
        assert_eq!(result, 0, "{}: cannot send signal {signal}", self.shown);
    }

    /// Returns a function that lists the pids of its guests older than half a second.
    pub fn guests(&self) -> impl Fn() -> Vec<libc::pid_t> + Send + 'static {
        let parent = self.child.id().to_string();
        move || guests_of(&parent)
    }

    /// The most memory that it had so far, in KiB.
    pub fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
    }

    /// Whether it has not ended yet.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child of this process").is_none()
    }

    pub fn wait(self) -> Ran {
        self.wait_within(LIMIT)
    }

    /// Like [`Started::wait`], of what takes longer than other tests.
    pub fn wait_within(mut self, limit: Duration) -> Ran {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(begin.elapsed() < limit, "{} has not ended within {limit:?}:\n{}", self.shown, self.stderr());
            thread::sleep(Duration::from_millis(20));
        };
        let read = |name: &str| {
            String::from_utf8_lossy(&fs::read(self.printed.path().join(name)).expect("its output")).into_owned()
        };
        Ran { status, stdout: read("stdout"), stderr: read("stderr"), shown: self.shown.clone() }
    }
}

/// Guests of the process `parent` that are older than half a second.
fn guests_of(parent: &str) -> Vec<libc::pid_t> {
    let is_ours = |folder: &Path| {
        // `number (name) state parent ...`
        let stat = fs::read_to_string(folder.join("stat")).unwrap_or_default();
        let (name, rest) = stat.rsplit_once(") ").unwrap_or_default();
        name.contains("(qemu-system") && rest.split(' ').nth(1) == Some(parent)
    };
    let age = |folder: &Path| fs::metadata(folder).ok()?.modified().ok()?.elapsed().ok();
    let folders = fs::read_dir("/proc").expect("/proc").flatten().map(|entry| entry.path());
    folders
        .filter(|folder| is_ours(folder) && age(folder).is_some_and(|age| age > Duration::from_millis(500)))
        .filter_map(|folder| folder.file_name()?.to_str()?.parse().ok())
        .collect()
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that has ended.
pub struct Ran {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    shown: String,
}

impl Ran {
    /// Its exit code; 128 plus the signal's number if a signal ended it.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// Asserts an exit code.
    #[track_caller]
    pub fn ended_with(self, code: i32) -> Ran {
        assert_eq!(self.code(), code, "{}", self.text());
        self
    }

    /// Asserts texts in its messages.
    #[track_caller]
    pub fn says(&self, texts: &[&str]) {
        for text in texts {
            assert!(self.stderr.contains(text), "{text:?} is missing in {}", self.text());
        }
        // The program's messages are for people: no traces, no names of types.
        for unfit in ["panicked at", "stack backtrace", "Os {", "Error("] {
            assert!(!self.stderr.contains(unfit), "{unfit:?} is in {}", self.text());
        }
    }

    /// The run that it printed as JSON.
    #[track_caller]
    pub fn results(&self) -> Results {
        match serde_json::from_str(&self.stdout) {
            Ok(run) => Results { run },
            Err(error) => panic!("{error} in the JSON of {}", self.text()),
        }
    }

    /// All its output, for a failed test's message.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "mountmark {}\n{}", self.shown, self.status);
        let _ = writeln!(text, "--- stderr\n{}", self.stderr);
        let shortened: String = self.stdout.chars().take(3000).collect();
        let _ = writeln!(text, "--- stdout\n{shortened}");
        text
    }
}
