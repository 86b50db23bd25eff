//! Worker processes: one instance of this program each, controlled over a socket that is its standard input.
//!
//! The worker gets its job as a line of JSON, prepares itself and answers "ready", or "failed" with the reason; at "go"
//! it works, and then sends its results as a line of JSON.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use super::error::EngineError;
use super::recorder::Found;
use super::resolve::Work;
use super::set::Set;
use super::thread;
use super::worker::Orders;

/// The first argument of a worker process.
pub const WORKER: &str = "engine-worker";

#[derive(Serialize, Deserialize)]
struct Job {
    work: Work,
    folder: PathBuf,
    orders: Orders,
}

const READY: &str = "ready";
const GO: &str = "go";

/// One worker process; dropping it ends the process.
struct WorkerProcess {
    number: u32,
    child: Child,
    lines: BufReader<UnixStream>,
    phase: String,
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // A process that has already ended is only reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl WorkerProcess {
    fn start(work: &Work, folder: &Path, orders: Orders, arguments: &[OsString]) -> Result<WorkerProcess, EngineError> {
        let io = |doing| EngineError::io(doing, "/proc/self/exe");
        let (ours, theirs) = UnixStream::pair().map_err(io("cannot make a socket for"))?;
        let mut command = Command::new("/proc/self/exe");
        command.args(arguments).stdin(OwnedFd::from(theirs)).stdout(Stdio::null());
        // SAFETY: only this system call runs between fork and exec; it makes workers end with the thread that started
        // them.
        unsafe {
            command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            })
        };
        let child = command.spawn().map_err(io("cannot start a worker process from"))?;
        let phase = work.name.clone();
        let mut worker = WorkerProcess { number: orders.thread, child, lines: BufReader::new(ours), phase };
        let job = Job { work: work.clone(), folder: folder.to_owned(), orders };
        let text = serde_json::to_string(&job).map_err(|error| worker.failed(format!("has no job: {error}")))?;
        worker.say(&text)?;
        Ok(worker)
    }

    fn failed(&self, reason: String) -> EngineError {
        EngineError::Worker { phase: self.phase.clone(), worker: self.number, reason }
    }

    fn say(&mut self, line: &str) -> Result<(), EngineError> {
        let socket = self.lines.get_mut();
        let said = socket.write_all(line.as_bytes()).and_then(|()| socket.write_all(b"\n"));
        said.map_err(|error| self.failed(format!("does not listen: {error}")))
    }

    fn hear(&mut self) -> Result<String, EngineError> {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            // A process that exits with unread input resets the socket.
            Ok(0) | Err(_) => {
                let reason = match self.child.wait() {
                    Ok(status) => format!("ended before its work was done: {status}"),
                    Err(error) => format!("cannot be waited for: {error}"),
                };
                Err(self.failed(reason))
            }
            Ok(_) => Ok(line.trim_end().to_owned()),
        }
    }
}

/// Runs a phase with one process per entry of `orders`.
///
/// # Errors
/// A process that cannot start or prepare, or that ends early.
pub(super) fn run(
    work: &Work,
    folder: &Path,
    orders: &[Orders],
    arguments: &[OsString],
) -> Result<Vec<Found>, EngineError> {
    let mut workers = Vec::with_capacity(orders.len());
    for orders in orders {
        workers.push(WorkerProcess::start(work, folder, *orders, arguments)?);
    }
    for worker in &mut workers {
        let heard = worker.hear()?;
        if heard != READY {
            return Err(worker.failed(heard));
        }
    }
    for worker in &mut workers {
        worker.say(GO)?;
    }
    let mut found = Vec::with_capacity(workers.len());
    for worker in &mut workers {
        let line = worker.hear()?;
        let parsed = serde_json::from_str(&line).map_err(|error| worker.failed(format!("said {line:?}: {error}")))?;
        found.push(parsed);
    }
    Ok(found)
}

pub fn is_worker() -> bool {
    std::env::args_os().nth(1).is_some_and(|argument| argument == WORKER)
}

/// The main function of a worker process; ends the process. The job comes over standard input.
pub fn worker_main() -> ! {
    std::process::exit(match work_as_told() {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("mountmark {WORKER}: {error:#}");
            1
        }
    })
}

fn work_as_told() -> anyhow::Result<()> {
    let socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let mut answers = socket.try_clone()?;
    let mut lines = BufReader::new(socket);
    let mut line = String::new();
    lines.read_line(&mut line)?;
    let job: Job = serde_json::from_str(&line)?;
    // Raises the soft limit, unless it was inherited from the parent.
    super::sys::descriptor_limit();
    let set = match Set::open(&job.folder, &job.work.files, job.orders.seed) {
        Ok(set) => set,
        Err(error) => return Ok(writeln!(answers, "failed: {error}")?),
    };
    let mut told = String::new();
    let ready = |fit: bool| {
        fit && writeln!(answers, "{READY}").is_ok() && lines.read_line(&mut told).is_ok() && told.trim_end() == GO
    };
    match thread::run(&job.work, &set, job.orders, &AtomicBool::new(false), ready) {
        Ok(Some(found)) => writeln!(answers, "{}", serde_json::to_string(&found)?)?,
        Ok(None) => {}
        Err(error) => writeln!(answers, "failed: {error}")?,
    }
    Ok(())
}
