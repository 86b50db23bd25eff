//! Runs the commands of an application, each under a warden and without the disk's device.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use mountmark_crash::application::{Application, Asked, End, Verdict};
use mountmark_crash::trace::Mark;
use mountmark_lab::PATH;

use super::{FOLDER, Witness};
use crate::agent::command::{self, Finished, Keep, Kept};
use crate::agent::scratch::Scratch;

/// Most seconds of the guest's clock for one command that is not a check.
const LIMIT: u32 = 30;

impl Witness<'_> {
    /// Runs an application's preparation, and then its steps, with a mark before and after each.
    ///
    /// # Errors
    /// A command failed.
    pub(super) fn steps(&self, application: &Application) -> Result<()> {
        if let Some(prepare) = &application.prepare {
            self.succeed("prepare", prepare, &[])?;
            rustix::fs::sync();
        }
        for (step, number) in application.steps.iter().zip(0..) {
            self.disk.mark(Mark::Begin(number));
            self.succeed(&format!("step {}", number + 1), step, &[("STEP", number + 1)])?;
            self.disk.mark(Mark::End(number, 0));
        }
        Ok(())
    }

    /// Runs an application's check in the mounted image.
    pub(super) fn ask(&self, asked: &Asked) -> Result<Verdict> {
        let variables = [("BEGUN", asked.begun), ("RETURNED", asked.returned)];
        let finished = self.shell(&asked.check, &variables, asked.limit)?;
        let end = match (finished.timed_out, finished.status.code()) {
            (Some(_), _) => End::Limit(asked.limit),
            (None, Some(status)) => End::Status(status),
            (None, None) => End::Signal(finished.status.signal().unwrap_or(0)),
        };
        Ok(Verdict { end, said: if end == End::Status(0) { String::new() } else { finished.stderr } })
    }

    fn succeed(&self, what: &str, script: &str, variables: &[(&str, u16)]) -> Result<()> {
        let finished = self.shell(script, variables, LIMIT)?;
        match finished.failure(what) {
            None => Ok(()),
            // The reason has the last line of what it said.
            Some(reason) if finished.stderr.lines().count() < 2 => bail!("{reason}"),
            Some(reason) => bail!("{reason}\n{}", finished.stderr),
        }
    }

    fn shell(&self, script: &str, variables: &[(&str, u16)], limit: u32) -> Result<Finished> {
        let mut process = Command::new("sh");
        // What it says on either stream is kept.
        process.arg("-c").arg(format!("exec >&2\n{script}")).current_dir(FOLDER).env_clear();
        process.envs([("PATH", PATH), ("HOME", "/tmp"), ("LC_ALL", "C"), ("TEST", FOLDER)]);
        process.envs(variables.iter().map(|(name, value)| (name, value.to_string())));
        let scratch = Scratch::new(crate::agent::base_folder())?;
        let kept = Kept::new(scratch.path(), Keep::Tail)?;
        let device = Path::new(&self.disk.device.path);
        let mut ready = command::prepare_apart(&process, kept, Path::new(FOLDER), device)?;
        let finished = ready.run(limit.into())?;
        ready.end()?;
        Ok(finished)
    }
}
