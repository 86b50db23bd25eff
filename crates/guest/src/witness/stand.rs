//! How the file system comes to stand on its disks, and is taken away again: by the protocol's steps.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use mountmark_agent::protocol::{Act, Mount};
use mountmark_job::PATH;
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};

use super::{FOLDER, Witness};

/// What the last program said.
const SAID: &str = "/run/said";
/// How often something is taken away which a program has not let go of yet, and the time between.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

impl Witness<'_> {
    /// Attaches and mounts all that is there after an orderly end.
    pub(super) fn come_up(&self) -> Result<()> {
        self.attach(None)?;
        self.mount(&self.sound())
    }

    /// Attaches what lies below the file system, without one disk if it is gone.
    pub(super) fn attach(&self, gone: Option<u32>) -> Result<()> {
        self.stand.attach(gone.map(|disk| disk as usize)).iter().try_for_each(take)
    }

    pub(super) fn mount(&self, mount: &Mount) -> Result<()> {
        if mount.is_one_call() {
            return Ok(mount.call()?);
        }
        // What is wrong; advice may follow.
        succeed_all(&mount.commands).map_err(|error| {
            let said = format!("{error:#}");
            anyhow!(said.lines().next().unwrap_or_default().to_owned())
        })
    }

    /// How the file system is mounted when it was unmounted.
    pub(super) fn sound(&self) -> Mount {
        self.stand.come_up(false)
    }

    /// How it is mounted after a power cut.
    pub(super) fn after_cut(&self) -> Mount {
        self.stand.come_up(true)
    }

    /// Unmounts if anything is mounted; why that failed.
    pub(super) fn unmount(&self) -> Option<String> {
        let failed = if self.sound().is_one_call() {
            match unmount(FOLDER, UnmountFlags::empty()) {
                Ok(()) | Err(Errno::INVAL) => None,
                Err(error) => Some(error.to_string()),
            }
        } else {
            succeed_all(&self.stand.unmount()).err().map(|error| format!("{error:#}"))
        };
        if failed.is_some() {
            let _ = unmount(FOLDER, UnmountFlags::DETACH);
        }
        failed
    }

    /// Takes away what the unmounted file system stood on, as far as it is there.
    pub(super) fn detach(&self) {
        for step in self.stand.leave().iter().chain(&self.stand.detach()) {
            let _ = take_away(&step.act);
        }
    }

    /// Unmounts the file system that has the folder, if there is one: only then its disk holds all that it is; why that
    /// failed.
    pub(super) fn unmount_below(&self) -> Option<String> {
        let steps = self.stand.leave().into_iter().filter(|step| matches!(step.act, Act::Unmount(..)));
        steps.map(|step| take_away(&step.act)).find_map(Result::err).map(|error| format!("{error:#}"))
    }

    /// Unmounts, and takes away what it stood on; why the unmount failed.
    pub(super) fn leave(&self) -> Option<String> {
        let failed = self.unmount();
        self.detach();
        failed
    }
}

/// Takes a step that takes something away. Programs that served the file system let go of what is below a moment after it
/// is unmounted.
fn take_away(act: &Act) -> Result<()> {
    for _ in 1..TRIES {
        match take(act) {
            Err(error) if format!("{error:#}").contains("busy") => std::thread::sleep(PAUSE),
            taken => return taken,
        }
    }
    take(act)
}

/// Takes a step that starts programs.
pub(super) fn take(act: &Act) -> Result<()> {
    match act {
        Act::Layer(command) => succeed(command),
        Act::Attach(_, commands) | Act::Detach(_, commands) | Act::Make(_, commands) | Act::Unmount(_, commands) => {
            succeed_all(commands)
        }
        Act::Mount(_, mount) => succeed_all(&mount.commands),
        _ => bail!("no step of a witness"),
    }
}

fn succeed_all(commands: &[Vec<String>]) -> Result<()> {
    commands.iter().try_for_each(|command| succeed(command))
}

fn succeed(command: &[String]) -> Result<()> {
    let (status, said) = call(command)?;
    if status != 0 {
        bail!("{} ended with {status}: {said}", command.join(" "));
    }
    Ok(())
}

/// Runs a command to its end; its exit status and the end of what it said.
pub(super) fn call(command: &[String]) -> Result<(i32, String)> {
    const MOST: usize = 2_000;
    let (program, arguments) = command.split_first().context("an empty command in the catalogue")?;
    // With a path std starts it by posix_spawn(3); by a name it forks, and copies the page tables of the disk. Messages begin
    // with the name as before.
    let path = PATH.split(':').map(|folder| Path::new(folder).join(program)).find(|path| path.exists());
    // A program that stays, and serves the file system, may keep its streams open: a pipe would have no end.
    let said = File::create(SAID).context("there is no room for what programs say")?;
    let status = Command::new(path.as_deref().unwrap_or(Path::new(program)))
        .arg0(program)
        .args(arguments)
        .env_clear()
        .env("PATH", PATH)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(said.try_clone()?)
        .stderr(said)
        .status()
        .with_context(|| format!("cannot start {program}"))?;
    let mut said = std::fs::read(SAID).unwrap_or_default();
    said.drain(..said.len().saturating_sub(MOST));
    Ok((status.code().unwrap_or(-1), String::from_utf8_lossy(&said).trim().to_owned()))
}
