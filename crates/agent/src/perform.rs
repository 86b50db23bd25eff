//! Takes the steps of the protocol that are not measured.

use std::fs::{self, File};
use std::io::{PipeWriter, Read, Write};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use mountmark_job::{CorpusData, PATH};
use mountmark_model::{Outcome, Stage, protocol_task};

use super::Agent;
use super::ground::{self, CallFailed};
use super::served::Until;
use crate::protocol::{Act, Disk, Part, Step};

impl<'a> Agent<'a> {
    /// Takes steps in order until one ends the cell; false if one did.
    pub(super) fn take_all<'s>(&mut self, steps: impl IntoIterator<Item = &'s Step<'s>>) -> Result<bool> {
        for step in steps {
            if !self.take(step)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes steps that are no measurement; false if one failed, which ends the cell.
    pub(super) fn lay(&mut self, steps: &[Step]) -> Result<bool> {
        let error = match self.take_all(steps) {
            Err(error) => error,
            taken => return taken,
        };
        let detail = self.detail(CallFailed::said(&error));
        self.cell_ended(Outcome::Failed { reason: format!("{error:#}"), detail });
        Ok(false)
    }

    /// Takes away what the file system stood on at the end of the cell; false, which is remarked on, if something stays.
    pub(super) fn take_away(&mut self, steps: &[Step]) -> bool {
        let taken = self.take_all(steps);
        if let Err(error) = &taken {
            self.note(format!("{error:#}"));
        }
        taken.is_ok()
    }

    /// Takes a step; false if it ends the cell, which is said then.
    pub(super) fn take(&mut self, step: &Step) -> Result<bool> {
        if step.is_measured() && !self.measured_step(step)? {
            return Ok(false);
        }
        match &step.act {
            _ if step.is_measured() => {}
            Act::Layer(command) => {
                self.devices.hold.as_ref().map_or(Ok(()), |hold| hold.check())?;
                self.call(Disk::Test, std::slice::from_ref(command), &[]).context("a layer below the file system")?
            }
            Act::Attach(disk, commands) => self.serve(Until::Detached(*disk), commands, &[])?,
            Act::Detach(disk, commands) => {
                self.call(*disk, commands, &[])?;
                self.end_served(Until::Detached(*disk))?;
            }
            Act::Make(disk, commands) => self.call(*disk, commands, &[])?,
            Act::Unmount(disk, commands) => {
                self.call(*disk, commands, &[])?;
                self.end_served(Until::Unmounted(*disk))?;
            }
            Act::Mount(disk, mount) => {
                if *disk == Disk::Test {
                    self.hand_on(protocol_task::MOUNT)?;
                }
                let commands: Vec<_> = mount.commands().cloned().collect();
                let done = mount.done(self.done());
                match mount.is_served {
                    true => self.serve(Until::Unmounted(*disk), &commands, done)?,
                    false => self.call(*disk, &commands, done)?,
                }
            }
            Act::Forget(Disk::Test | Disk::Below) => {
                let devices = self.devices;
                self.forget(&devices.test);
                devices.more.iter().for_each(|member| self.forget(&member.device));
            }
            Act::Forget(Disk::Source) => {
                let devices = self.devices;
                self.forget(devices.source.as_ref().context("the lab has no second disk")?);
            }
            Act::Bring(command) => {
                self.call(Disk::Test, std::slice::from_ref(command), &[]).context("cannot copy the files")?
            }
            Act::DropCaches => {
                self.note("cold tasks have caches dropped before: the file system stays mounted".into());
                self.ground.drop_caches()?;
            }
            Act::Corpus { to, unpack } => self.lay_out(to, unpack.as_deref())?,
            Act::Script(Disk::Source, text) => {
                self.untimed("source_prepare", text, &self.devices.source_folder).context("source_prepare failed")?;
            }
            Act::Script(_, text) if step.of == protocol_task::CAPACITY => {
                self.stage(Stage::Capacity);
                if let Err(error) = self.untimed(&name(step), text, &self.devices.test_folder) {
                    self.note(format!("{}: {error:#}", name(step)));
                }
            }
            Act::Script(_, text) => self.untimed(&name(step), text, &self.devices.test_folder)?,
            Act::Vary => self.taken = self.vary_machine(),
            Act::Turn => self.turn_groups(),
            Act::DiskTime(is_kept) => (self.devices.measuring)(*is_kept),
            Act::Fill(fill) => return self.fill(fill),
            Act::Age(age) => return self.age(age),
            Act::Capacity(metrics) => self.capacity(metrics)?,
            Act::Settle => self.settle(&name(step))?,
            Act::Sync => self.ground.sync(),
            Act::PowerBack { cache_lost } => {
                let power = self.devices.power.as_ref().context("this lab cannot cut the power of its disk")?;
                power.restore(*cache_lost)?;
            }
            Act::Check(command) => self.fsck(command.as_deref())?,
            Act::Work { .. } | Act::Repair(_) => bail!("{} is measured by its task", step.of),
        }
        match step.act {
            Act::Mount(Disk::Test, _) => {
                self.mounted = true;
                self.adopt_mount();
            }
            Act::Unmount(Disk::Test, _) => {
                self.mounted = false;
                self.take_back()?;
            }
            _ => {}
        }
        Ok(true)
    }

    /// Runs unmeasured commands of the protocol, which work on the agent's mounts; `done` as in [`one_command`].
    pub(super) fn call(&mut self, disk: Disk, commands: &[Vec<String>], done: &[i32]) -> Result<()> {
        match disk {
            Disk::Test | Disk::Below => {
                let mut process = one_command(commands, done)?;
                self.set_step(&mut process);
                ground::call(self.ground, &process, self.scratch.path()).map_err(|error| match error.downcast() {
                    Ok(CallFailed { reason, said }) => CallFailed { reason: self.explained(reason), said }.into(),
                    Err(error) => error,
                })
            }
            Disk::Source => {
                let mut process = one_command(commands, &[])?;
                process.envs([("PATH", PATH), ("LC_ALL", "C")]);
                ground::call(self.ground, &process, self.scratch.path()).context("the second disk")
            }
        }
    }

    /// Exit codes after which the file system can be mounted.
    pub(super) fn done(&self) -> &'a [i32] {
        let recovery = self.cell.configuration.base().filesystem.recovery.as_ref();
        recovery.map(|recovery| &*recovery.done).unwrap_or_default()
    }

    /// Writes the corpus to a file, or to the program that unpacks it.
    fn lay_out(&self, to: &Path, unpack: Option<&[String]>) -> Result<()> {
        let Some(corpus) = &self.devices.corpus else { return Ok(()) };
        let Some(words) = unpack else {
            let mut file = File::create(to).with_context(|| format!("cannot write {}", to.display()))?;
            return write_corpus(corpus, &mut file);
        };
        fs::create_dir_all(to)?;
        let mut command = one_command(&[words.to_vec()], &[])?;
        command.envs([("PATH", PATH), ("LC_ALL", "C")]);
        let write = |to: &mut PipeWriter| write_corpus(corpus, to);
        ground::feed(self.ground, &command, self.scratch.path(), write)
            .context("tar could not unpack the corpus onto the second disk")
    }

    /// The command of a task's part, if it has one; remarked on if it fails.
    pub(super) fn clean(&mut self, step: Option<&Step>) {
        let Some(step) = step else { return };
        self.stage(Stage::Cleanup);
        if let Err(error) = self.take(step) {
            self.note(format!("{}: {error:#}", name(step)));
        }
    }
}

/// What a step is called in messages.
pub(super) fn name(step: &Step) -> String {
    match step.part {
        Part::Prepare => format!("prepare of task {}", step.of),
        Part::Cleanup => format!("cleanup of task {}", step.of),
        _ if step.of == protocol_task::CAPACITY => "removing all files".to_owned(),
        _ => step.of.to_owned(),
    }
}

/// One process for several commands, each of which must end with 0; the first of several may also end with a code of `done`.
pub(super) fn one_command(commands: &[Vec<String>], done: &[i32]) -> Result<Command> {
    let (last, first) = commands.split_last().context("no command to run")?;
    if first.is_empty() {
        let (program, arguments) = last.split_first().context("an empty command in the catalogue")?;
        let mut process = Command::new(program);
        process.args(arguments);
        return Ok(process);
    }
    let words = |command: &[String]| {
        shlex::try_join(command.iter().map(String::as_str)).context("a command of the catalogue that no shell can run")
    };
    let mut script = String::new();
    let of_first = done.iter().map(i32::to_string).collect::<Vec<_>>().join("|");
    for (at, command) in first.iter().enumerate() {
        let good = if at == 0 && !done.is_empty() { &of_first } else { "0" };
        script += &format!("{}\ncode=$?\ncase $code in {good}) ;; *) exit $code ;; esac\n", words(command)?);
    }
    script += &format!("exec {}", words(last)?);
    let mut process = Command::new("sh");
    process.arg("-c").arg(script);
    Ok(process)
}

fn write_corpus(corpus: &CorpusData, to: &mut impl Write) -> Result<()> {
    match corpus {
        CorpusData::Mapped(mapped) => {
            for part in mapped.chunks(1 << 20) {
                to.write_all(part).context("the corpus does not fit on the second disk")?;
            }
        }
        CorpusData::File(path) => {
            let mut file = File::open(path).with_context(|| format!("cannot read the corpus {}", path.display()))?;
            let mut buffer = vec![0; 1 << 20];
            loop {
                let read = file.read(&mut buffer)?;
                if read == 0 {
                    break;
                }
                to.write_all(&buffer[..read]).context("the corpus does not fit on the second disk")?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_follows_only_a_check_that_was_done() {
        let commands = |check: &str| {
            let shell = |script: &str| ["sh", "-c", script].map(str::to_owned).to_vec();
            one_command(&[shell(check), shell("echo mounted")], &[0, 1]).unwrap().output().unwrap()
        };
        for (check, code, said) in [("exit 0", 0, "mounted\n"), ("exit 1", 0, "mounted\n"), ("exit 4", 4, "")] {
            let output = commands(check);
            assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stdout).as_ref()), (Some(code), said));
        }
        let one = one_command(&[vec!["mount".into(), "x y".into()]], &[]).unwrap();
        assert_eq!((one.get_program().to_str(), one.get_args().count()), (Some("mount"), 1));
    }
}
