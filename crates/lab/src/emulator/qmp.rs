//! QEMU's control socket (QMP): a handful of commands, JSON lines over an inherited socket pair.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// QEMU lives and answers nothing: its processor takes all its time.
#[derive(Debug, thiserror::Error)]
#[error("QEMU does not answer")]
pub struct Silent;

/// QEMU has closed the socket.
#[derive(Debug, thiserror::Error)]
#[error("QEMU ended")]
pub struct Gone;

pub struct Qmp {
    lines: BufReader<UnixStream>,
    events: Vec<String>,
}

impl Qmp {
    /// Completes the handshake on this end of the socket pair.
    pub fn connect(socket: UnixStream) -> Result<Qmp> {
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut qmp = Qmp { lines: BufReader::new(socket), events: Vec::new() };
        let greeting = qmp.read()?;
        if greeting.get("QMP").is_none() {
            bail!("QEMU greeted with {greeting}");
        }
        qmp.run("qmp_capabilities", json!({}))?;
        Ok(qmp)
    }

    /// Sets the longest wait for an answer, at most the usual one.
    pub fn be_patient(&self, limit: Duration) -> Result<()> {
        Ok(self.lines.get_ref().set_read_timeout(Some(limit.min(PATIENCE)))?)
    }

    pub fn run(&mut self, command: &str, arguments: Value) -> Result<Value> {
        let line = json!({ "execute": command, "arguments": arguments }).to_string() + "\n";
        self.lines.get_mut().write_all(line.as_bytes()).with_context(|| format!("cannot send {command} to QEMU"))?;
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
        let read = match self.lines.read_line(&mut line) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => bail!(Silent),
            read => read.context("QEMU does not answer")?,
        };
        if read == 0 {
            bail!(Gone);
        }
        serde_json::from_str(&line).with_context(|| format!("QEMU answered {line:?}"))
    }
}
