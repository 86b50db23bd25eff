//! The protocol's own steps: mkfs, mount, umount, capacity and fsck.

use anyhow::{Result, bail};
use mountmark_model::{Metric, Outcome, protocol_task};

use super::fill::Space;
use super::measure::Measurable;
use super::perform::one_command;
use super::served::Until;
use super::{Agent, STEP_LIMIT};
use crate::protocol::{Act, Step};

impl Agent<'_> {
    /// Runs a program of the protocol and sends its figures; false if it failed, which ends the cell with that outcome.
    pub(super) fn measured_step(&mut self, step: &Step) -> Result<bool> {
        let id = step.of;
        let (commands, stays) = match &step.act {
            Act::Make(_, commands) | Act::Unmount(_, commands) => (commands, None),
            Act::Mount(disk, mount) => (&mount.commands, mount.is_served.then_some(Until::Unmounted(*disk))),
            act => bail!("{act:?} is no program"),
        };
        if !self.mounted {
            self.forget(&self.devices.test);
        }
        self.ready(id, 0, 0.0)?;
        let mut process = one_command(commands, &[])?;
        self.set_step(&mut process);
        self.hand_on(id)?;
        let job = Measurable { stays, ..Measurable::step(process, id != protocol_task::MOUNT) };
        let measured = self.measure(id, &job, STEP_LIMIT)?;
        let what = commands.iter().map(|command| command.join(" ")).collect::<Vec<_>>().join("; ");
        let unwritten = measured.unwritten.map(|reason| format!("{what}: {reason}"));
        let Some(reason) = self.failure(&what, &measured.finished).or(unwritten) else {
            self.device(id, 0, measured.device);
            self.sample(id, 0, measured.values);
            self.ended(id, Outcome::Ok);
            if let Act::Unmount(disk, _) = step.act {
                self.end_served(Until::Unmounted(disk))?;
            }
            return Ok(true);
        };
        let outcome = Outcome::Failed { reason, detail: self.detail(&measured.finished.said()) };
        self.ended(id, outcome.clone());
        self.cell_ended(outcome);
        self.take_back()?;
        Ok(false)
    }

    /// Lets the next program have a real disk under test, after a look that it is still the same one.
    pub(super) fn hand_on(&self, id: &str) -> Result<()> {
        if let Some(hold) = self.devices.hold.as_ref().filter(|_| id != protocol_task::UMOUNT) {
            hold.check()?;
            hold.let_go();
        }
        Ok(())
    }

    /// Takes a real disk under test back, unless it is mounted still.
    pub(super) fn take_back(&self) -> Result<()> {
        match &self.devices.hold {
            Some(hold) if !mountmark_job::mountinfo::is_mount_point(&self.devices.test_folder) => hold.take(),
            _ => Ok(()),
        }
    }

    pub(super) fn capacity(&mut self, metrics: &[Metric]) -> Result<()> {
        let folder = &self.devices.test_folder;
        let space = Space::of(folder)?;
        let disks = std::iter::once(&self.devices.test).chain(self.devices.more.iter().map(|member| &member.device));
        let size: u64 = disks.map(|device| device.size).sum();
        let values = metrics.iter().map(|metric| {
            let value = match *metric {
                Metric::CAPACITY_BYTES => space.available as f64,
                Metric::CAPACITY_DEVICE => 100.0 * space.available as f64 / size as f64,
                Metric::CAPACITY_FILLED => space.percent(),
                _ => space.available_percent(),
            };
            (metric.id.to_owned(), value)
        });
        let values = values.collect();
        self.sample(protocol_task::CAPACITY, 0, values);
        Ok(())
    }

    /// Checks the file system with `command`, if it has a check.
    pub(super) fn fsck(&mut self, command: Option<&[String]>) -> Result<()> {
        if let Some(path) = self.lost_disk() {
            let reason = format!("the server of {path} has ended");
            self.ended(protocol_task::FSCK, Outcome::Skipped { reason });
            return Ok(());
        }
        if self.mounted {
            let reason = "the file system could not be unmounted".to_owned();
            self.ended(protocol_task::FSCK, Outcome::Skipped { reason });
            return Ok(());
        }
        if self.stuck {
            let reason = "what the file system stood on could not be taken away".to_owned();
            self.ended(protocol_task::FSCK, Outcome::Skipped { reason });
            return Ok(());
        }
        let filesystem = &self.cell.configuration.base().filesystem;
        let Some((fsck, command)) = filesystem.fsck.as_ref().zip(command) else {
            let reason = filesystem.no_fsck.clone().unwrap_or_else(|| "no read-only check exists".to_owned());
            self.ended(protocol_task::FSCK, Outcome::Skipped { reason });
            return Ok(());
        };
        self.forget(&self.devices.test);
        self.ready(protocol_task::FSCK, 0, 0.0)?;
        let mut process = one_command(&[command.to_vec()], &[])?;
        self.set_step(&mut process);
        self.hand_on(protocol_task::FSCK)?;
        let measured = self.measure(protocol_task::FSCK, &Measurable::step(process, true), STEP_LIMIT)?;
        let code = measured.finished.status.code();
        if code.is_some_and(|code| fsck.clean.contains(&code)) && measured.finished.timed_out.is_none() {
            self.device(protocol_task::FSCK, 0, measured.device);
            self.sample(protocol_task::FSCK, 0, measured.values);
            self.ended(protocol_task::FSCK, Outcome::Ok);
            return Ok(());
        }
        let said = format!("{}\n{}", measured.finished.stderr, measured.finished.stdout);
        if let Some(reason) = fsck.inability(code, &said) {
            self.ended(protocol_task::FSCK, Outcome::Skipped { reason: format!("it could not be checked: {reason}") });
            return Ok(());
        }
        let meaning = code.and_then(|code| fsck.meaning.get(&code.to_string()));
        let said = match (meaning, self.failure(&command.join(" "), &measured.finished)) {
            (Some(meaning), _) => format!("fsck after the tasks: {meaning} (exit code {})", code.unwrap_or(-1)),
            (None, Some(failure)) => format!("fsck after the tasks: {failure}"),
            (None, None) => "fsck after the tasks: exit code 0 does not mean clean here".to_owned(),
        };
        let outcome = Outcome::Failed { reason: said, detail: self.detail(&measured.finished.said()) };
        self.ended(protocol_task::FSCK, outcome);
        Ok(())
    }
}
