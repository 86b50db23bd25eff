//! Starts, reads and ends the agent process.

use std::io::{BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mountmark_job::PATH;

use super::agent::{self, HostJob};
use crate::event_receiver;

/// How long a killed agent may take to end.
const KILL_LIMIT: Duration = Duration::from_secs(60);

pub(super) struct Agent {
    child: Child,
    /// The lines it sends.
    pub lines: Receiver<String>,
    errors: Arc<Mutex<String>>,
}

impl Agent {
    /// Starts an agent on a job.
    pub(super) fn start(job: &HostJob) -> Result<Agent> {
        let parent = std::process::id();
        let mut command = Command::new("/proc/self/exe");
        command.arg0("mountmark").arg(agent::ARGUMENT).env("PATH", PATH).env("LC_ALL", "C").current_dir("/");
        // Tasks are root and could write to a pipe of the agent through /proc; a socket cannot be opened that way.
        let (events, theirs) = UnixStream::pair().context("cannot make a socket pair")?;
        // In its own process group, so that Ctrl-C reaches only this process.
        command.process_group(0).stdin(Stdio::piped()).stdout(OwnedFd::from(theirs)).stderr(Stdio::piped());
        // SAFETY: the closure makes two system calls and allocates nothing.
        unsafe {
            command.pre_exec(move || {
                rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
                // The parent may have died before that.
                if libc::getppid() as u32 != parent {
                    return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
                }
                Ok(())
            })
        };
        let mut child = command.spawn().context("cannot start this program once more, as the agent")?;
        // The command holds a copy of the agent's end of the socket, which would hide its closing.
        drop(command);
        let text = serde_json::to_vec(job)?;
        let mut stdin = child.stdin.take().expect("piped");
        // If it fails, the agent has ended and gives its own reason.
        let _ = stdin.write_all(&text);
        drop(stdin);
        let lines = event_receiver::lines(BufReader::new(events));
        let errors = Arc::new(Mutex::new(String::new()));
        let mut stderr = child.stderr.take().expect("piped");
        let kept = Arc::clone(&errors);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = stderr.read(&mut buffer) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() < 1 << 16 {
                    kept.push_str(&String::from_utf8_lossy(&buffer[..length]));
                }
            }
        });
        Ok(Agent { child, lines, errors })
    }

    /// Waits for its end, or kills it. Returns its standard error.
    pub(super) fn end(&mut self, kill: bool) -> Result<String> {
        if kill {
            let _ = self.child.kill();
        }
        let begin = Instant::now();
        while self.child.try_wait().context("cannot wait for the agent")?.is_none() {
            if begin.elapsed() > KILL_LIMIT {
                bail!("the agent (process {}) hangs in the kernel and cannot be ended", self.child.id());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(self.errors.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // After an error the agent must not stay.
        let _ = self.child.kill();
        let _ = self.child.try_wait();
    }
}
