//! Runs the commands of an application, each under a warden and without the disk's device.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mountmark_agent::command::{self, Finished, Keep, Kept};
use mountmark_agent::scratch::Scratch;
use mountmark_crash::application::{Application, Asked, End, Verdict};
use mountmark_crash::trace::Mark;
use mountmark_job::PATH;

use super::{DATE, FOLDER, LATER, Witness, set_clock};

/// Most seconds of the guest's clock for one command that is not a check.
const LIMIT: u32 = 30;

impl Witness<'_> {
    /// Runs an application's preparation, and then its steps, with a mark before and after each.
    ///
    /// # Errors
    /// A command failed.
    pub(super) fn steps(&self, application: &Application) -> Result<()> {
        self.prepare(application)?;
        for (step, number) in application.steps.iter().zip(0..) {
            if let Some(pause) = application.pause(number) {
                std::thread::sleep(Duration::from_secs(pause.into()));
            }
            self.disk.mark(Mark::Begin(number));
            self.step(number, step)?;
            self.disk.mark(Mark::End(number, 0));
        }
        Ok(())
    }

    /// Runs the first steps of an application, unmounts, and asks its check of what is there: all of it.
    ///
    /// # Errors
    /// A command failed, or the file system cannot be mounted or unmounted.
    pub(super) fn rehearse(&self, application: &Application, steps: u16, asked: &Asked) -> Result<Verdict> {
        set_clock(DATE);
        self.disk.set_back();
        self.come_up().context("the new file system cannot be mounted")?;
        let ran = self.prepare(application).and_then(|()| {
            let steps = application.steps.iter().zip(0..steps);
            steps.into_iter().try_for_each(|(step, number)| self.step(number, step))
        });
        if let Some(error) = self.leave().filter(|_| ran.is_ok()) {
            bail!("it cannot be unmounted: {error}");
        }
        ran?;
        set_clock(LATER);
        self.come_up().context("it cannot be mounted again, although nothing was lost")?;
        let verdict = self.ask(asked);
        self.leave();
        self.disk.set_back();
        verdict
    }

    fn prepare(&self, application: &Application) -> Result<()> {
        if let Some(prepare) = &application.prepare {
            self.succeed("prepare", prepare, &[])?;
            rustix::fs::sync();
        }
        Ok(())
    }

    fn step(&self, number: u16, step: &str) -> Result<()> {
        self.succeed(&format!("step {}", number + 1), step, &[("STEP", number + 1)])
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
            // The reason has the line that tells.
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
        let scratch = Scratch::new(mountmark_agent::base_folder())?;
        let kept = Kept::new(scratch.path(), Keep::Ends)?;
        let device = self.stand.device();
        let mut ready = command::prepare_apart(&process, kept, Path::new(FOLDER), Path::new(&device))?;
        let finished = ready.run(limit.into())?;
        ready.end()?;
        Ok(finished)
    }
}
