//! A task whose machine goes down when its work has returned: what is measured is how it comes up again.

use std::os::fd::AsFd;

use anyhow::{Context, Result, bail};
use mountmark_model::{Configuration, Metric, Outcome, Stage, Task};

use super::command::{Keep, Kept};
use super::ground::CallFailed;
use super::measure::Measurable;
use super::perform::one_command;
use super::served::Until;
use super::{Agent, STEP_LIMIT};
use crate::protocol::{Act, Restarted, Step, TaskSteps};

/// Why a restart failed.
struct Failure {
    reason: String,
    /// What the command printed last.
    said: String,
}

impl Failure {
    fn new(reason: String, said: &str) -> Failure {
        Failure { reason, said: said.to_owned() }
    }

    fn of(error: &anyhow::Error) -> Failure {
        Failure::new(format!("{error:#}"), CallFailed::said(error))
    }
}

impl Agent<'_> {
    /// Runs a task's work, takes the machine down, and measures how it comes up again; false if that failed.
    pub(super) fn restart(&mut self, steps: &TaskSteps, restart: &Restarted, iteration: u32) -> Result<bool> {
        let task = steps.task;
        let cut = matches!(steps.work, Some(Step { act: Act::Work { cut: true, .. }, .. }));
        if cut && self.devices.power.is_none() {
            return self.failed(task, format!("task {}: this lab cannot cut the power of its disk", task.id));
        }
        self.settle(&task.id)?;
        let worked = self.work(task, iteration, cut).and_then(|failure| self.go_down(&restart.down).map(|()| failure));
        let failure = match worked {
            Ok(None) => self.come_up(task, restart, iteration).unwrap_or_else(|error| Some(Failure::of(&error))),
            Ok(failure) => failure,
            // What is mounted or on the disk is not known.
            Err(error) => return self.failed_with(task, Failure::of(&error), true),
        };
        if let Some(path) = self.lost_disk() {
            let failure = Failure::new(format!("the server of {path} has ended: there is no disk any more"), "");
            return self.failed_with(task, failure, true);
        }
        // The tasks after this one need it.
        let mounted = if self.mounted { Ok(true) } else { self.take(&restart.back) };
        let after = || mounted.as_ref().err().map(|error| Failure::new(format!("not mounted again: {error:#}"), ""));
        if let Some(failure) = failure.or_else(after) {
            return self.failed_with(task, failure, mounted.is_err());
        }
        self.clean(steps.cleanup.as_ref());
        if iteration + 1 == task.repeat {
            self.ended(&task.id, Outcome::Ok);
        }
        Ok(true)
    }

    /// The task has failed, and if nothing can be measured after it, the cell too.
    fn failed_with(&mut self, task: &Task, failure: Failure, ends_cell: bool) -> Result<bool> {
        let reason = format!("task {}: {}", task.id, failure.reason);
        let outcome = Outcome::Failed { reason, detail: self.detail(&failure.said) };
        if ends_cell {
            self.cell_ended(outcome.clone());
            self.mounted = false;
        }
        self.ended(&task.id, outcome);
        Ok(false)
    }

    /// The work before the machine goes down; why it failed, if so. The power fails when it returns.
    fn work(&mut self, task: &Task, iteration: u32, cut: bool) -> Result<Option<Failure>> {
        let job = self.job(task)?;
        self.stage(Stage::Prepare);
        let kept = Kept::new(self.scratch.path(), job.keep)?;
        let hand_down = job.gets_scratch.then(|| self.scratch.as_fd());
        let mut ready = self.ground.start(&job.command, kept, None, Some(self.confined(job.in_tree)), hand_down)?;
        let power = self.devices.power.as_ref().filter(|_| cut);
        power.map_or(Ok(()), |power| power.watch())?;
        let finished = ready.go().and_then(|()| ready.wait(task.limit_seconds));
        if let Some(power) = power {
            power.cut();
        }
        ready.end()?;
        let finished = finished?;
        self.note_leftovers(&format!("task {}", task.id), &finished);
        self.outputs(task, iteration, &finished);
        Ok(self.failure("its work", &finished).map(|reason| Failure::new(reason, &finished.said())))
    }

    /// Takes the file system away, and after a power cut brings back what the disk held then.
    fn go_down(&mut self, steps: &[Step]) -> Result<()> {
        self.stage(Stage::Remount);
        for step in steps {
            let taken = self.take(step);
            match step.act {
                Act::Unmount(..) => taken.context("it could not be taken away")?,
                _ => taken?,
            };
        }
        Ok(())
    }

    /// Measures how it comes up; why it did not, if so.
    fn come_up(&mut self, task: &Task, restart: &Restarted, iteration: u32) -> Result<Option<Failure>> {
        let configuration = self.cell.configuration.base();
        if configuration.filesystem.recovery.is_none() {
            bail!("the catalogue does not say how this file system recovers");
        }
        let up = restart.up.as_ref().context("there is no check with repairs")?;
        let (is_repair, commands, stays, done): (_, Vec<_>, _, &[i32]) = match &up.act {
            Act::Mount(disk, mount) => {
                let stays = mount.is_served.then_some(Until::Unmounted(*disk));
                (false, mount.commands().cloned().collect(), stays, mount.done(self.done()))
            }
            Act::Repair(command) => (true, vec![command.clone()], None, &[]),
            act => bail!("{act:?} does not bring a machine up"),
        };
        self.take_all(&restart.replay).context("its log could not be replayed")?;
        self.ready(&task.id, iteration, self.cell.pause_seconds)?;
        let mut process = one_command(&commands, done)?;
        self.set_step(&mut process);
        self.hand_on(&task.id)?;
        let job = Measurable { stays, ..Measurable::step(process, is_repair) };
        let measured = self.measure(&task.id, &job, STEP_LIMIT)?;
        let code = measured.finished.status.code();
        let ended = measured.finished.timed_out.is_none() && code.is_some_and(|code| self.done().contains(&code));
        self.mounted = !is_repair && code == Some(0);
        if self.mounted {
            self.adopt_mount();
        }
        let what = commands.iter().map(|command| command.join(" ")).collect::<Vec<_>>().join("; ");
        let failure = match is_repair && ended {
            true => None,
            false => self.failure(&what, &measured.finished).map(|said| explained(configuration, code, said)),
        };
        let unwritten = measured.unwritten.map(|reason| format!("{what}: {reason}"));
        if let Some(reason) = failure.or(unwritten) {
            return Ok(Some(Failure::new(reason, &measured.finished.said())));
        }
        let mut values = measured.values;
        if let Some(Step { act: Act::Script(_, script), .. }) = restart.lost {
            match self.lost(script)? {
                Ok(lost) => drop(values.insert(Metric::LOST.id.to_owned(), lost as f64)),
                Err(failure) => return Ok(Some(failure)),
            }
        }
        self.device(&task.id, iteration, measured.device);
        self.sample(&task.id, iteration, values);
        Ok(None)
    }

    /// What a task's count of lost files prints, or why it is no count.
    fn lost(&self, script: &str) -> Result<Result<u64, Failure>> {
        let kept = Kept::new(self.scratch.path(), Keep::All)?;
        let process = self.shell(script, &self.devices.test_folder);
        let mut ready = self.ground.start(&process, kept, None, Some(self.confined(true)), None)?;
        ready.go()?;
        let finished = ready.wait(STEP_LIMIT)?;
        ready.end()?;
        if let Some(reason) = finished.failure("its count of lost files") {
            return Ok(Err(Failure::new(reason, &finished.said())));
        }
        let printed = finished.stdout.trim();
        let failure = |_| Failure::new(format!("its count of lost files printed {printed:?}, which is no number"), "");
        Ok(printed.parse().map_err(failure))
    }
}

/// A failure with the catalogue's meaning of the exit code.
fn explained(configuration: &Configuration, code: Option<i32>, said: String) -> String {
    let fsck = configuration.filesystem.fsck.as_ref();
    match fsck.zip(code).and_then(|(fsck, code)| fsck.meaning.get(&code.to_string())) {
        Some(meaning) => format!("{said} ({meaning})"),
        None => said,
    }
}
