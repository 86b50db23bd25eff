//! Records the requests at a loop device through the kernel's block trace points, in a process of its own.
//!
//! The process is a fork of the agent. It sleeps until records arrive, its processor time is known, and it ends with
//! the agent. The records come through perf events, which the kernel removes with their process: a killed run leaves
//! nothing in the tracing file system.

mod event;
mod perf;
mod watch;

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mountmark_job::{Device, DeviceTrace};
use mountmark_model::DeviceRecord;
use mountmark_trace::Times;
use serde::{Deserialize, Serialize};

/// Longer than any machine needs to empty its buffers.
const PATIENCE: Duration = Duration::from_secs(60);

/// The agent's request to the watcher: one JSON object a line.
#[derive(Serialize, Deserialize)]
enum Ask {
    /// Record requests that arrive from this moment on.
    Begin(u64),
    /// Return the record: returned, durable, settled.
    End(u64, u64, u64),
}

#[derive(Serialize, Deserialize)]
enum Answer {
    /// It is ready, or records from now on.
    Begun,
    Seen(Box<DeviceRecord>),
    /// It ends, for this reason.
    Failed(String),
}

/// The agent's side of the watcher.
pub(super) struct KernelTrace {
    process: u32,
    stream: RefCell<BufReader<UnixStream>>,
    /// Why it was lost, if it was.
    broken: RefCell<Option<String>>,
}

impl KernelTrace {
    /// Starts a watcher of `device`; `mount_point` is an empty folder of this process, for the tracing file system if
    /// it is mounted nowhere.
    pub(super) fn start(device: &Device, mount_point: &Path) -> Result<KernelTrace> {
        let points = perf::TracePoints::find(mount_point)?;
        let number = device_number(&device.name)?;
        let (ours, theirs) = UnixStream::pair().context("cannot make a socket pair")?;
        ours.set_read_timeout(Some(PATIENCE))?;
        let size = device.size;
        // SAFETY: the agent has one thread, so the child may do everything that this process may.
        match unsafe { libc::fork() } {
            -1 => Err(std::io::Error::last_os_error()).context("cannot start a process"),
            0 => {
                drop(ours);
                leave_streams();
                // The rings are mapped here, in the child: such a mapping is not inherited by a fork.
                let watched = perf::Events::open(&points, number)
                    .and_then(|events| watch::watch(&theirs, &events, &points, size));
                if let Err(error) = watched {
                    let _ = answer(&theirs, &Answer::Failed(format!("{error:#}")));
                }
                // SAFETY: ends this process without the agent's exit handlers.
                unsafe { libc::_exit(0) }
            }
            process => {
                let trace = KernelTrace {
                    process: process as u32,
                    stream: RefCell::new(BufReader::new(ours)),
                    broken: RefCell::new(None),
                };
                trace.hear()?;
                Ok(trace)
            }
        }
    }

    fn ask(&self, ask: &Ask) -> Result<Answer> {
        let line = serde_json::to_string(ask)? + "\n";
        self.stream.borrow_mut().get_mut().write_all(line.as_bytes()).context("its watcher has ended")?;
        self.hear()
    }

    fn hear(&self) -> Result<Answer> {
        let mut line = String::new();
        if self.stream.borrow_mut().read_line(&mut line).context("its watcher does not answer")? == 0 {
            bail!("its watcher has ended");
        }
        match serde_json::from_str(&line)? {
            Answer::Failed(reason) => bail!("{reason}"),
            answer => Ok(answer),
        }
    }
}

impl DeviceTrace for KernelTrace {
    fn begin(&self, at: u64) {
        if self.broken.borrow().is_none()
            && let Err(error) = self.ask(&Ask::Begin(at))
        {
            *self.broken.borrow_mut() = Some(unseen(&error));
        }
    }

    fn end(&self, times: Times) -> Result<DeviceRecord, String> {
        if let Some(reason) = &*self.broken.borrow() {
            return Err(reason.clone());
        }
        match self.ask(&Ask::End(times.returned, times.durable, times.settled)) {
            Ok(Answer::Seen(record)) => Ok(*record),
            Ok(_) => Err("The device's requests were not seen: its watcher lost its place.".into()),
            Err(error) => Err(unseen(&error)),
        }
    }

    fn watcher(&self) -> Option<u32> {
        Some(self.process)
    }
}

fn answer(mut stream: &UnixStream, answer: &Answer) -> Result<()> {
    Ok(stream.write_all((serde_json::to_string(answer)? + "\n").as_bytes())?)
}

/// Why only counters are available.
pub(super) fn unseen(error: &anyhow::Error) -> String {
    format!(
        "The device's requests were not seen ({error:#}), so there are no slices of time, no sizes and no map; the figures \
         are the kernel's own counters."
    )
}

/// Closes the agent's standard streams: their readers wait until all copies are closed.
fn leave_streams() {
    super::events::leave();
    let Ok(null) = std::fs::File::options().read(true).write(true).open("/dev/null") else { return };
    for standard in 0..3 {
        // SAFETY: replaces descriptors that this process does not use again.
        unsafe { libc::dup2(null.as_raw_fd(), standard) };
    }
    // SAFETY: takes plain numbers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// The device's number in trace points: the major number above 20 bits of the minor one.
fn device_number(name: &str) -> Result<u32> {
    let path = format!("/sys/class/block/{name}/dev");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let parse = || {
        let (major, minor) = text.trim().split_once(':')?;
        Some(major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()?)
    };
    parse().with_context(|| format!("{path} holds {text:?}"))
}
