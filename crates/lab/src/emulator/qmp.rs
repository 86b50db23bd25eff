//! QEMU's control socket (QMP): a handful of commands, JSON lines over an inherited socket pair.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

/// Longest wait for an answer. While QEMU waits for a processor of this machine, it is not silent.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two looks at what QEMU waits for.
const LOOK: Duration = Duration::from_secs(1);
/// So many times the patience, and this machine has no time for QEMU.
const STARVED: u32 = 20;

/// QEMU lives and answers nothing: its guest takes all its time.
#[derive(Debug, thiserror::Error)]
#[error("QEMU does not answer")]
pub struct Silent;

/// QEMU has closed the socket.
#[derive(Debug, thiserror::Error)]
#[error("QEMU ended")]
pub struct Gone;

/// Whether the other end was closed: before it read what it was sent, a read fails so, too.
fn is_gone(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)
}

pub struct Qmp {
    lines: BufReader<UnixStream>,
    events: Vec<String>,
    process: u32,
    patience: Duration,
}

impl Qmp {
    /// Completes the handshake on this end of the socket pair with `process`.
    pub fn connect(socket: UnixStream, process: u32) -> Result<Qmp> {
        socket.set_read_timeout(Some(LOOK))?;
        let mut qmp = Qmp { lines: BufReader::new(socket), events: Vec::new(), process, patience: PATIENCE };
        let greeting = qmp.read()?;
        if greeting.get("QMP").is_none() {
            bail!("QEMU greeted with {greeting}");
        }
        qmp.run("qmp_capabilities", json!({}))?;
        Ok(qmp)
    }

    /// Sets the longest wait for an answer, at most the usual one.
    pub fn be_patient(&mut self, limit: Duration) {
        self.patience = limit.min(PATIENCE);
    }

    pub fn run(&mut self, command: &str, arguments: Value) -> Result<Value> {
        let line = json!({ "execute": command, "arguments": arguments }).to_string() + "\n";
        match self.lines.get_mut().write_all(line.as_bytes()) {
            Err(error) if is_gone(&error) => bail!(Gone),
            sent => sent.with_context(|| format!("cannot send {command} to QEMU"))?,
        }
        loop {
            let answer = self.read()?;
            if let Some(event) = answer.get("event").and_then(Value::as_str) {
                self.events.push(event.to_owned());
            } else if let Some(error) = answer.get("error") {
                bail!("QEMU refused {command}: {}", error["desc"].as_str().unwrap_or("it does not say why"));
            } else {
                return Ok(answer["return"].clone());
            }
        }
    }

    /// Waits for `event`; false if `stop` was set first.
    pub fn wait_for(&mut self, event: &str, limit: Duration, stop: &AtomicBool) -> Result<bool> {
        self.heard(event, limit, stop)?.with_context(|| format!("no {event} within {limit:?}"))
    }

    /// As [`Qmp::wait_for`], but `None` if the event did not come within `limit`.
    pub fn heard(&mut self, event: &str, limit: Duration, stop: &AtomicBool) -> Result<Option<bool>> {
        let end = Instant::now() + limit;
        loop {
            if let Some(at) = self.events.iter().position(|seen| seen == event) {
                self.events.remove(at);
                return Ok(Some(true));
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(Some(false));
            }
            if Instant::now() > end {
                return Ok(None);
            }
            if self.has_line()?
                && let Some(event) = self.read()?.get("event").and_then(Value::as_str)
            {
                self.events.push(event.to_owned());
            }
        }
    }

    /// Instructions executed by the guest's processor since the start (`query-replay`, qapi/replay.json).
    pub fn instructions(&mut self) -> Result<u64> {
        let answer = self.run("query-replay", json!({}))?;
        answer["icount"].as_u64().with_context(|| format!("QEMU does not count instructions: {answer}"))
    }

    /// Whether a line from QEMU is readable, now or within a tenth of a second.
    fn has_line(&self) -> Result<bool> {
        if !self.lines.buffer().is_empty() {
            return Ok(true);
        }
        let wait = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        match poll(&mut [PollFd::new(self.lines.get_ref(), PollFlags::IN)], Some(&wait)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error).context("cannot wait for QEMU"),
        }
    }

    /// Repeats `command` until `done` accepts the reply.
    pub fn poll(&mut self, command: &str, mut done: impl FnMut(&Value) -> Result<bool>) -> Result<()> {
        for _ in 0..6000 {
            if done(&self.run(command, json!({}))?)? {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        bail!("QEMU did not finish within a minute ({command})")
    }

    fn read(&mut self) -> Result<Value> {
        let mut line = String::new();
        let (begin, mut waited_first) = (Instant::now(), None);
        loop {
            // What has come of a line stays in `line`.
            match self.lines.read_line(&mut line) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Ok(0) => bail!(Gone),
                Ok(_) => return serde_json::from_str(&line).with_context(|| format!("QEMU answered {line:?}")),
                Err(error) if is_gone(&error) => bail!(Gone),
                Err(error) => return Err(error).context("QEMU does not answer"),
            }
            // Looked at only when an answer is late: most come at once.
            let (passed, waited) = (begin.elapsed(), waited_for_processor(self.process));
            let waited = waited.saturating_sub(*waited_first.get_or_insert(waited));
            if passed.saturating_sub(waited) >= self.patience {
                bail!(Silent);
            }
            if passed > self.patience * STARVED {
                bail!(
                    "QEMU did not answer for {} s, of which it waited {} s for a processor: this machine is under too much load; \
                     run it when others have ended, or with fewer --jobs",
                    passed.as_secs(),
                    waited.as_secs()
                );
            }
        }
    }
}

/// How long a process has been ready to run while others had the processors: its longest-waiting thread's (the second number of
/// /proc/PID/task/TID/schedstat, Documentation/scheduler/sched-stats.rst; 0 if the kernel keeps none).
fn waited_for_processor(process: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let waited = |text: String| text.split_whitespace().nth(1)?.parse().ok();
    let waits = threads.filter_map(|thread| waited(std::fs::read_to_string(thread.path().join("schedstat")).ok()?));
    Duration::from_nanos(waits.max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_a_processor_is_not_silent() {
        let own = || -> Option<Duration> {
            let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
            Some(Duration::from_nanos(text.split_whitespace().nth(1)?.parse().ok()?))
        };
        if own().is_none() {
            return eprintln!("skipped: this kernel keeps no schedstat");
        }
        // Two threads on one processor: each waits for half the time.
        let busy = || {
            std::thread::spawn(move || {
                // SAFETY: plain system calls on a set of this function's own.
                unsafe {
                    let mut set: libc::cpu_set_t = std::mem::zeroed();
                    libc::sched_getaffinity(0, size_of_val(&set), &raw mut set);
                    let first = (0..1024).find(|cpu| libc::CPU_ISSET(*cpu, &set)).unwrap();
                    libc::CPU_ZERO(&mut set);
                    libc::CPU_SET(first, &mut set);
                    libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
                }
                let begin = Instant::now();
                while begin.elapsed() < Duration::from_millis(600) {
                    std::hint::black_box(begin);
                }
                let own = own().unwrap();
                let process = waited_for_processor(std::process::id());
                assert!(process >= own, "{process:?} of the process, {own:?} of this thread");
                own
            })
        };
        let [one, other] = [busy(), busy()].map(|thread| thread.join().unwrap());
        assert!(one.max(other) > Duration::from_millis(100), "{one:?} {other:?}");
    }

    #[test]
    fn who_has_processors_and_says_nothing_is_silent() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"{\"QMP\": {}}\n{\"return\": {}}\n{\"ret").unwrap();
        let mut idle = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut qmp = Qmp::connect(ours, idle.id()).unwrap();
        qmp.be_patient(LOOK);
        assert!(qmp.run("cont", json!({})).unwrap_err().is::<Silent>());
        idle.kill().unwrap();
        idle.wait().unwrap();
    }

    /// A machine that resets ends QEMU, perhaps before it has read the command under way.
    #[test]
    fn an_end_is_known_as_one_however_the_socket_fails() {
        for is_unread in [false, true] {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let (process, patience) = (std::process::id(), PATIENCE);
            let mut qmp = Qmp { lines: BufReader::new(ours), events: Vec::new(), process, patience };
            if is_unread {
                qmp.lines.get_mut().write_all(b"{}\n").unwrap();
            }
            drop(theirs);
            assert!(qmp.read().unwrap_err().is::<Gone>());
            assert!(qmp.run("cont", json!({})).unwrap_err().is::<Gone>());
        }
    }
}
