//! The stream by which the agent tells the run what happens.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::OnceLock;

use anyhow::{Context, Result};
use mountmark_job::line_auth;
use mountmark_model::Event;

/// The stream for events.
static EVENTS: OnceLock<File> = OnceLock::new();

/// Tells of an event; ends the process if nobody listens any more.
pub(super) fn send(event: &Event) {
    let line = line_auth::line(event) + "\n";
    // An agent that failed before `leave_files` still has standard output.
    let sent = match EVENTS.get() {
        Some(mut events) => events.write_all(line.as_bytes()),
        None => std::io::stdout().write_all(line.as_bytes()),
    };
    if sent.is_err() {
        // The reader is gone.
        std::process::exit(1);
    }
}

/// Closes inherited files, and moves events to a descriptor that no child inherits; standard output becomes /dev/null.
pub(super) fn leave_files() -> Result<()> {
    // SAFETY: takes plain numbers; this process has opened nothing yet, and has one thread.
    if unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) } < 0 {
        return Err(std::io::Error::last_os_error()).context("cannot close inherited files (Linux 5.9 or newer can)");
    }
    // Descriptors copied by the standard library are close-on-exec.
    let events = std::io::stdout().as_fd().try_clone_to_owned().context("cannot copy standard output")?;
    EVENTS.set(File::from(events)).expect("this is done once");
    let null = File::options().read(true).write(true).open("/dev/null").context("cannot open /dev/null")?;
    rustix::stdio::dup2_stdout(&null).context("cannot leave standard output")?;
    Ok(())
}

/// Closes a forked process's copy of the event stream, which would stay open after the agent's end.
pub(super) fn leave() {
    if let Some(events) = EVENTS.get() {
        // SAFETY: such a process sends no events.
        unsafe { libc::close(events.as_raw_fd()) };
    }
}
