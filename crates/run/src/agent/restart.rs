//! A task whose machine goes down when its work has returned: what is measured is how it comes up again.
//!
//! The kernel itself keeps running. Its file system is unmounted, after a power cut into contents that are thrown away,
//! and everything that it had cached of the disk is dropped: what follows begins with the disk alone, as after a start.

use std::os::fd::AsFd;
use std::process::Command;

use anyhow::{Context, Result, anyhow};
use mountmark_model::{Configuration, Metric, Outcome, Restart, Stage, Task, Up};

use super::command::{self, Keep, Kept};
use super::measure::Measurable;
use super::{Agent, STEP_LIMIT, source};

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
        Failure::new(format!("{error:#}"), "")
    }
}

impl Agent<'_> {
    /// Runs a task's work, takes the machine down, and measures how it comes up again; false if that failed.
    pub(super) fn restart(&mut self, task: &Task, restart: Restart, iteration: u32) -> Result<bool> {
        if restart.after.is_cut() && self.devices.power.is_none() {
            return self.failed(task, format!("task {}: this lab cannot cut the power of its disk", task.id));
        }
        self.settle(&task.id)?;
        let worked = self.work(task, restart).and_then(|failure| self.go_down(restart).map(|()| failure));
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
        let mounted = if self.mounted { Ok(()) } else { self.mount_again() };
        let after = || mounted.as_ref().err().map(|error| Failure::new(format!("not mounted again: {error:#}"), ""));
        if let Some(failure) = failure.or_else(after) {
            return self.failed_with(task, failure, mounted.is_err());
        }
        self.clean(task);
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
    fn work(&mut self, task: &Task, restart: Restart) -> Result<Option<Failure>> {
        let job = self.job(task)?;
        self.stage(Stage::Prepare);
        let kept = Kept::new(self.scratch.path(), job.keep)?;
        let hand_down = job.gets_scratch.then(|| self.scratch.as_fd());
        let mut ready = command::prepare(&job.command, kept, Some(&*self.devices.test_folder), hand_down)?;
        let power = self.devices.power.as_ref().filter(|_| restart.after.is_cut());
        power.map_or(Ok(()), |power| power.watch())?;
        let finished = ready.run(task.limit_seconds);
        if let Some(power) = power {
            power.cut();
        }
        ready.end()?;
        let finished = finished?;
        self.note_leftovers(&format!("task {}", task.id), &finished);
        Ok(finished.failure("its work").map(|reason| Failure::new(reason, &finished.stderr)))
    }

    /// Takes the file system away, and after a power cut brings back what the disk held then.
    fn go_down(&mut self, restart: Restart) -> Result<()> {
        self.stage(Stage::Remount);
        self.call(&source::unmount_command(&self.devices.test_folder)).context("it could not be taken away")?;
        self.mounted = false;
        self.forget(&self.devices.test);
        if restart.after.is_cut() {
            let power = self.devices.power.as_ref().context("this lab cannot cut the power of its disk")?;
            power.restore(restart.after.loses_cache())?;
            self.forget(&self.devices.test);
        }
        Ok(())
    }

    /// Measures how it comes up; why it did not, if so.
    fn come_up(&mut self, task: &Task, restart: Restart, iteration: u32) -> Result<Option<Failure>> {
        let recovery = self.cell.configuration.filesystem.recovery.as_ref();
        let recovery = recovery.ok_or_else(|| anyhow!("the catalogue does not say how this file system recovers"))?;
        let (configuration, device) = (&self.cell.configuration, &self.devices.test.path);
        let is_repair = restart.then == Up::Repair;
        let commands = match restart.then {
            Up::Repair => vec![configuration.repair_command(device).context("there is no check with repairs")?],
            Up::Mount => self.mount_commands(restart.after.is_cut()),
        };
        if is_repair && recovery.mount_first && restart.after.is_cut() {
            self.mount_again().context("its log could not be replayed")?;
            self.call(&source::unmount_command(&self.devices.test_folder))?;
            self.mounted = false;
            self.forget(&self.devices.test);
        }
        self.ready(&task.id, iteration, self.cell.pause_seconds)?;
        let mut process = one_command(&commands, &recovery.done, is_repair)?;
        self.set_step(&mut process);
        self.hand_on(&task.id)?;
        let measured = self.measure(&task.id, &Measurable::step(process, is_repair), STEP_LIMIT)?;
        let code = measured.finished.status.code();
        let ended = measured.finished.timed_out.is_none() && code.is_some_and(|code| recovery.done.contains(&code));
        self.mounted = !is_repair && code == Some(0);
        let what = commands.iter().map(|command| command.join(" ")).collect::<Vec<_>>().join("; ");
        let failure = match is_repair && ended {
            true => None,
            false => measured.finished.failure(&what).map(|said| explained(configuration, code, said)),
        };
        let unwritten = measured.unwritten.map(|reason| format!("{what}: {reason}"));
        if let Some(reason) = failure.or(unwritten) {
            return Ok(Some(Failure::new(reason, &measured.finished.stderr)));
        }
        let mut values = measured.values;
        if let Some(script) = &task.lost {
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
        let mut ready = command::prepare(&process, kept, Some(&*self.devices.test_folder), None)?;
        let finished = ready.run(STEP_LIMIT)?;
        ready.end()?;
        if let Some(reason) = finished.failure("its count of lost files") {
            return Ok(Err(Failure::new(reason, &finished.stderr)));
        }
        let printed = finished.stdout.trim();
        let failure = |_| Failure::new(format!("its count of lost files printed {printed:?}, which is no number"), "");
        Ok(printed.parse().map_err(failure))
    }

    /// All that must run until it is mounted.
    fn mount_commands(&self, after_cut: bool) -> Vec<Vec<String>> {
        let (configuration, device) = (&self.cell.configuration, &self.devices.test.path);
        let before = configuration.before_mount_command(device).filter(|_| after_cut);
        let folder = self.devices.test_folder.display().to_string();
        before.into_iter().chain([configuration.mount_command(device, &folder)]).collect()
    }

    /// Mounts it, unmeasured, after all that it may need first.
    fn mount_again(&mut self) -> Result<()> {
        let done = self.cell.configuration.filesystem.recovery.as_ref().map(|recovery| recovery.done.clone());
        let mut process = one_command(&self.mount_commands(true), &done.unwrap_or_default(), false)?;
        self.set_step(&mut process);
        command::call(&process, self.scratch.path())?;
        self.mounted = true;
        Ok(())
    }

    /// Runs an unmeasured command of the protocol.
    fn call(&self, words: &[String]) -> Result<()> {
        let mut process = one_command(&[words.to_vec()], &[], true)?;
        self.set_step(&mut process);
        command::call(&process, self.scratch.path())
    }
}

/// One process for several commands, of which all but the last may end with any code of `done`. `alone`: there is one.
fn one_command(commands: &[Vec<String>], done: &[i32], alone: bool) -> Result<Command> {
    let (last, first) = commands.split_last().context("no command to run")?;
    if alone || first.is_empty() {
        let (program, arguments) = last.split_first().context("an empty command in the catalogue")?;
        let mut process = Command::new(program);
        process.args(arguments);
        return Ok(process);
    }
    let words = |command: &[String]| {
        shlex::try_join(command.iter().map(String::as_str)).context("a command of the catalogue that no shell can run")
    };
    let mut script = String::new();
    let good = done.iter().map(i32::to_string).collect::<Vec<_>>().join("|");
    for command in first {
        script += &format!("{}\ncode=$?\ncase $code in {good}) ;; *) exit $code ;; esac\n", words(command)?);
    }
    script += &format!("exec {}", words(last)?);
    let mut process = Command::new("sh");
    process.arg("-c").arg(script);
    Ok(process)
}

/// A failure with the catalogue's meaning of the exit code.
fn explained(configuration: &Configuration, code: Option<i32>, said: String) -> String {
    let fsck = configuration.filesystem.fsck.as_ref();
    match fsck.zip(code).and_then(|(fsck, code)| fsck.meaning.get(&code.to_string())) {
        Some(meaning) => format!("{said} ({meaning})"),
        None => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_follows_only_a_check_that_was_done() {
        let commands = |check: &str| {
            let shell = |script: &str| ["sh", "-c", script].map(str::to_owned).to_vec();
            one_command(&[shell(check), shell("echo mounted")], &[0, 1], false).unwrap().output().unwrap()
        };
        for (check, code, said) in [("exit 0", 0, "mounted\n"), ("exit 1", 0, "mounted\n"), ("exit 4", 4, "")] {
            let output = commands(check);
            assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stdout).as_ref()), (Some(code), said));
        }
        let one = one_command(&[vec!["mount".into(), "x y".into()]], &[], false).unwrap();
        assert_eq!((one.get_program().to_str(), one.get_args().count()), (Some("mount"), 1));
    }
}
