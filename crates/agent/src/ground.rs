//! The machine under the agent, as far as the agent changes it or waits for it. Tests put another in its place, which
//! remembers what was started.

use std::fs::File;
use std::io::PipeWriter;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use mountmark_job::Device;

use super::command::{self, Finished, Keep, Kept};
use super::sandbox::Confined;
use super::settle::{self, Settled};
use super::{STEP_LIMIT, cold};
use crate::settings::{Mounts, Settings};

pub(super) trait Ground {
    /// As [`command::start`].
    fn start(
        &self,
        command: &Command,
        kept: Kept,
        input: Option<BorrowedFd>,
        confined: Option<Confined>,
        hand_down: Option<BorrowedFd>,
    ) -> Result<Box<dyn Process>>;

    /// Writes out all that is dirty.
    fn sync(&self);

    /// Writes out what the kernel has cached of a device, and what the device itself has.
    fn flush(&self, device: &str) -> Result<()>;

    /// As [`settle::settle`].
    fn settle(&self, devices: &[&Device], servers: &[u32], exclusive: bool) -> Result<Settled>;

    /// As [`cold::drop_caches`].
    fn drop_caches(&self) -> Result<()>;

    /// As [`Settings::read`].
    fn settings(&self, disks: &[&str], mounts: &Mounts) -> Settings;

    /// As [`Settings::of_mounts`].
    fn mounts(&self, mounts: &Mounts) -> Settings;
}

/// A command that waits for the signal to start.
pub(super) trait Process {
    /// As [`command::Ready::go`].
    fn go(&mut self) -> Result<()>;

    /// As [`command::Ready::wait`].
    fn wait(&mut self, limit: f64) -> Result<Finished>;

    /// As [`command::Ready::stay`].
    fn stay(&mut self);

    /// As [`command::Ready::end`].
    fn end(self: Box<Self>) -> Result<()>;

    /// As [`command::Ready::leave`].
    fn leave(self: Box<Self>) -> Result<()>;
}

/// This machine.
pub(super) struct This;

impl Ground for This {
    fn start(
        &self,
        command: &Command,
        kept: Kept,
        input: Option<BorrowedFd>,
        confined: Option<Confined>,
        hand_down: Option<BorrowedFd>,
    ) -> Result<Box<dyn Process>> {
        Ok(Box::new(command::start(command, kept, input, confined, hand_down)?))
    }

    fn sync(&self) {
        rustix::fs::sync();
    }

    fn flush(&self, device: &str) -> Result<()> {
        let file = File::open(device).with_context(|| format!("cannot open {device}"))?;
        file.sync_all().with_context(|| format!("cannot flush {device}"))
    }

    fn settle(&self, devices: &[&Device], servers: &[u32], exclusive: bool) -> Result<Settled> {
        settle::settle(devices, servers, exclusive)
    }

    fn drop_caches(&self) -> Result<()> {
        cold::drop_caches()
    }

    fn settings(&self, disks: &[&str], mounts: &Mounts) -> Settings {
        Settings::read(disks, mounts)
    }

    fn mounts(&self, mounts: &Mounts) -> Settings {
        Settings::of_mounts(mounts)
    }
}

impl Process for command::Ready {
    fn go(&mut self) -> Result<()> {
        command::Ready::go(self)
    }

    fn wait(&mut self, limit: f64) -> Result<Finished> {
        command::Ready::wait(self, limit)
    }

    fn stay(&mut self) {
        command::Ready::stay(self);
    }

    fn end(self: Box<Self>) -> Result<()> {
        command::Ready::end(*self)
    }

    fn leave(self: Box<Self>) -> Result<()> {
        command::Ready::leave(*self)
    }
}

/// Runs an unmeasured command of the protocol itself, which works on the agent's mounts.
///
/// # Errors
/// The command failed.
pub(super) fn call(ground: &dyn Ground, command: &Command, scratch: &Path) -> Result<()> {
    let mut process = ground.start(command, Kept::new(scratch, Keep::Ends)?, None, None, None)?;
    process.go()?;
    let finished = process.wait(STEP_LIMIT)?;
    process.end()?;
    succeeded(&name(command), &finished)
}

/// Like [`call`], with standard input written by `write`.
pub(super) fn feed(
    ground: &dyn Ground,
    command: &Command,
    scratch: &Path,
    write: impl FnOnce(&mut PipeWriter) -> Result<()>,
) -> Result<()> {
    let (input, mut to) = std::io::pipe().context("cannot make a pipe")?;
    let mut process = ground.start(command, Kept::new(scratch, Keep::Ends)?, Some(input.as_fd()), None, None)?;
    drop(input);
    process.go()?;
    let written = write(&mut to);
    drop(to);
    let finished = process.wait(STEP_LIMIT)?;
    process.end()?;
    // If the command failed, that is why writing to it failed.
    succeeded(&name(command), &finished).and(written)
}

/// An unmeasured command that failed.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub(super) struct CallFailed {
    /// As a sentence.
    pub(super) reason: String,
    /// What it printed last.
    pub(super) said: String,
}

impl CallFailed {
    /// What the command printed last that an error is about, if it is about one.
    pub(super) fn said(error: &anyhow::Error) -> &str {
        error.downcast_ref::<CallFailed>().map_or("", |failed| &failed.said)
    }
}

fn name(command: &Command) -> String {
    let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
    words.join(" ".as_ref()).to_string_lossy().into_owned()
}

/// An error about `what` unless it did what it should.
pub(super) fn succeeded(what: &str, finished: &Finished) -> Result<()> {
    match finished.failure(what) {
        None => Ok(()),
        Some(reason) => bail!(CallFailed { reason, said: finished.said() }),
    }
}
