//! Runs programs of this machine and waits for them: apt-get, apt-cache, QEMU asked for its version.
//!
//! Each leads its own process group, which is killed when it is idle for too long, when it takes too long in all, when
//! the user interrupts, and when it leaves processes behind. It dies with this program. Guests are not run here: see
//! `emulator`.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

/// Limit in bytes of each stream that is kept: all names of Debian's packages are 2 MB.
const MOST: u64 = 16 << 20;

/// Limits of a program's wall time.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time in which no process of its group reads or writes a byte.
    pub idle: Duration,
    pub total: Duration,
}

/// For programs that answer at once, on a machine under load.
pub const QUICK: Limits = Limits { idle: Duration::from_secs(60), total: Duration::from_secs(120) };

/// Why a program was killed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// It was idle for this long.
    #[error("{0} neither read nor wrote anything for {limit} s and was ended", limit = .1.as_secs())]
    Idle(String, Duration),
    /// It took this long in all.
    #[error("{0} was at work for {limit} s and was ended", limit = .1.as_secs())]
    Late(String, Duration),
    /// The user interrupted the run.
    #[error("{0} was ended because the run is to end")]
    Interrupted(String),
}

static INTERRUPTED: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

/// Makes programs end when `flag` is set, and no longer when an earlier one is.
pub fn heed(flag: Arc<AtomicBool>) {
    *INTERRUPTED.lock().unwrap_or_else(PoisonError::into_inner) = Some(flag);
}

/// Whether the user has interrupted: for long work other than programs.
pub(crate) fn is_interrupted() -> bool {
    let flag = INTERRUPTED.lock().unwrap_or_else(PoisonError::into_inner);
    flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Runs a program to its end; returns its status and output.
///
/// # Errors
/// One that cannot be started, an [`Ended`], or more than 16 MiB of standard output.
pub fn output(command: &mut Command, limits: Limits) -> Result<Output> {
    run(command, limits, &is_interrupted)
}

/// The same of what puts something back: it goes on when the user interrupts.
///
/// # Errors
/// As [`output`].
pub fn output_to_the_end(command: &mut Command, limits: Limits) -> Result<Output> {
    run(command, limits, &|| false)
}

fn run(command: &mut Command, limits: Limits, is_stopped: &dyn Fn() -> bool) -> Result<Output> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    die_with_us(command);
    let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    let group = Pid::from_child(&child);
    let (stdout, stderr) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let (stdout, stderr) = (thread::spawn(|| read(stdout)), thread::spawn(|| read(stderr)));
    let ended = wait(group, limits, &name, is_stopped);
    // Not reaped yet, so the number still belongs to the group.
    let _ = rustix::process::kill_process_group(group, Signal::KILL);
    let status = child.wait().with_context(|| format!("cannot wait for {name}"))?;
    let ((stdout, all), (stderr, _)) = (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default());
    ended?;
    if all > MOST {
        bail!("{name} says more than {MOST} bytes, which cannot be an answer");
    }
    Ok(Output { status, stdout, stderr })
}

/// Kills a child when the thread that starts it ends, as when this program is killed. That thread must wait for the
/// child.
pub(crate) fn die_with_us(command: &mut Command) {
    let us = rustix::process::getpid();
    // SAFETY: only system calls run between fork and exec: prctl and getppid.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // If the parent was killed before that, no signal will come.
            match rustix::process::getppid() {
                Some(parent) if parent != us => Err(std::io::ErrorKind::Interrupted.into()),
                _ => Ok(()),
            }
        });
    }
}

/// Waits until the leader of a group has ended.
fn wait(group: Pid, limits: Limits, name: &str, is_stopped: &dyn Fn() -> bool) -> Result<()> {
    let begin = Instant::now();
    let (mut moved, mut last) = (0, begin);
    let mut pause = Duration::from_millis(1);
    let mut looked = begin;
    loop {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if rustix::process::waitid(WaitId::Pid(group), options).is_ok_and(|status| status.is_some()) {
            return Ok(());
        }
        if is_stopped() {
            bail!(Ended::Interrupted(name.to_owned()));
        }
        if looked.elapsed() > limits.idle.min(Duration::from_secs(8)) / 8 {
            looked = Instant::now();
            let now = bytes_moved(group);
            if now != moved {
                (moved, last) = (now, looked);
            }
        }
        if last.elapsed() > limits.idle {
            bail!(Ended::Idle(name.to_owned(), limits.idle));
        }
        if begin.elapsed() > limits.total {
            bail!(Ended::Late(name.to_owned(), limits.total));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Bytes read and written so far by the processes of a group, including pipes and sockets (proc(5), `/proc/PID/io`).
/// apt-get fetches in processes of its group.
fn bytes_moved(group: Pid) -> u64 {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let of_group = processes.filter(|folder| {
        let stat = fs::read_to_string(folder.join("stat")).unwrap_or_default();
        // `number (name) state parent group ...`
        let field = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(2)?.parse().ok());
        field == Some(group.as_raw_nonzero().get())
    });
    let moved = |folder: std::path::PathBuf| -> u64 {
        let text = fs::read_to_string(folder.join("io")).unwrap_or_default();
        let counts = text.lines().filter_map(|line| line.split_once("char: ")?.1.parse::<u64>().ok());
        counts.sum()
    };
    of_group.map(moved).sum()
}

/// The first bytes of a stream, and its total length.
fn read(mut stream: impl Read) -> (Vec<u8>, u64) {
    let mut kept = Vec::new();
    let first = stream.by_ref().take(MOST).read_to_end(&mut kept).unwrap_or(0) as u64;
    let rest = std::io::copy(&mut stream, &mut std::io::sink()).unwrap_or(0);
    (kept, first + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(text: &str, idle: u64, total: u64) -> Result<Output> {
        let limits = Limits { idle: Duration::from_millis(idle), total: Duration::from_millis(total) };
        output(Command::new("sh").args(["-c", text]), limits)
    }

    fn ended(result: Result<Output>) -> Ended {
        result.unwrap_err().downcast().unwrap()
    }

    #[test]
    fn a_program_is_heard_to_its_end() {
        let said = sh("echo out; echo err >&2; exit 3", 60_000, 60_000).unwrap();
        assert_eq!((said.status.code(), &said.stdout[..], &said.stderr[..]), (Some(3), &b"out\n"[..], &b"err\n"[..]));
        assert!(sh("exec no-such-program", 60_000, 60_000).unwrap().status.code() == Some(127));
        let error = output(&mut Command::new("/no/such/program"), QUICK).unwrap_err();
        assert!(format!("{error:#}").contains("cannot start /no/such/program"), "{error:#}");
    }

    #[test]
    fn one_that_does_nothing_is_ended_and_one_at_work_is_not() {
        let begin = Instant::now();
        assert!(matches!(ended(sh("sleep 60", 400, 60_000)), Ended::Idle(name, _) if name == "sh"));
        assert!(begin.elapsed() < Duration::from_secs(30));
        let work = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.2; echo; done";
        assert!(sh(work, 1000, 60_000).unwrap().status.success());
        assert!(matches!(ended(sh("while :; do echo; sleep 0.1; done", 60_000, 500)), Ended::Late(..)));
    }

    #[test]
    fn what_a_program_leaves_running_ends_with_it() {
        let begin = Instant::now();
        // It holds the pipe open, so a reader would wait for it until its end.
        let said = sh("sleep 300 & echo $!", 60_000, 60_000).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(30));
        let process = String::from_utf8(said.stdout).unwrap();
        let state = || fs::read_to_string(format!("/proc/{}/stat", process.trim())).unwrap_or_default();
        while !state().is_empty() && !state().contains(") Z ") {
            assert!(begin.elapsed() < Duration::from_secs(60), "{}", state());
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_program_dies_with_this_one() {
        const TOLD: &str = "MOUNTMARK_TEST_TOLD";
        if let Some(told) = std::env::var_os(TOLD) {
            let _ = output(Command::new("sh").args(["-c", "echo $$ > \"$0\"; exec sleep 300"]).arg(told), QUICK);
            return;
        }
        let told = tempfile::NamedTempFile::new().unwrap();
        let mut us = Command::new(std::env::current_exe().unwrap());
        us.args(["--exact", "child::tests::a_program_dies_with_this_one"]).env(TOLD, told.path()).stdout(Stdio::null());
        let mut us = us.spawn().unwrap();
        let begin = Instant::now();
        let process = loop {
            let text = fs::read_to_string(told.path()).unwrap();
            if let Some(process) = text.strip_suffix('\n') {
                break process.to_owned();
            }
            assert!(begin.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(10));
        };
        us.kill().unwrap();
        us.wait().unwrap();
        let state = || fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        while !state().is_empty() && !state().contains(") Z ") {
            assert!(begin.elapsed() < Duration::from_secs(60), "{}", state());
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn an_endless_answer_is_refused() {
        let error = sh("head -c 20000000 /dev/zero", 60_000, 60_000).unwrap_err();
        assert!(error.to_string().contains("says more than"), "{error}");
    }
}
