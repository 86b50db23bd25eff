//! The protocol's own steps: mkfs, mount, umount, capacity and fsck.

use std::process::Command;

use anyhow::{Context, Result};
use mountmark_model::{Metric, Outcome, protocol_task};

use super::measure::Measurable;
use super::{Agent, STEP_LIMIT, cold, command, source};

/// Removes every file of the tasks.
pub(super) const REMOVE_ALL: &str =
    "find . -mindepth 1 -maxdepth 1 ! -name lost+found ! -name .nilfs -exec rm -rf {} +";

impl Agent<'_> {
    pub(super) fn mkfs(&mut self) -> Result<bool> {
        let command = self.cell.configuration.mkfs_command(&self.devices.test.path);
        self.step(protocol_task::MKFS, &command)
    }

    pub(super) fn mount(&mut self) -> Result<bool> {
        let folder = self.devices.test_folder.display().to_string();
        let command = self.cell.configuration.mount_command(&self.devices.test.path, &folder);
        self.mounted = self.step(protocol_task::MOUNT, &command)?;
        Ok(self.mounted)
    }

    pub(super) fn umount(&mut self) -> Result<bool> {
        self.mounted = !self.step(protocol_task::UMOUNT, &source::unmount_command(&self.devices.test_folder))?;
        Ok(!self.mounted)
    }

    /// Runs one step of the protocol; false if it failed, which ends the cell with that outcome.
    fn step(&mut self, id: &str, command: &[String]) -> Result<bool> {
        if !self.mounted {
            self.forget(&self.devices.test);
        }
        self.ready(id, 0, 0.0)?;
        let (program, arguments) = command.split_first().context("an empty command in the catalogue")?;
        let mut process = Command::new(program);
        process.args(arguments);
        self.set_step(&mut process);
        self.hand_on(id)?;
        let measured = self.measure(id, &Measurable::step(process, id != protocol_task::MOUNT), STEP_LIMIT)?;
        let what = command.join(" ");
        let unwritten = measured.unwritten.map(|reason| format!("{what}: {reason}"));
        let Some(reason) = measured.finished.failure(&what).or(unwritten) else {
            self.device(id, 0, measured.device);
            self.sample(id, 0, measured.values);
            self.ended(id, Outcome::Ok);
            return Ok(true);
        };
        let outcome = Outcome::Failed { reason, detail: self.detail(&measured.finished.stderr) };
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
            Some(hold) if !mountmark_lab::is_mount_point(&self.devices.test_folder) => hold.take(),
            _ => Ok(()),
        }
    }

    /// Unmounts and mounts again, so that the next reads come from the disks.
    pub(super) fn remount(&mut self) -> Result<()> {
        if self.cell.is_mounted {
            self.note("cold tasks have caches dropped before: the file system stays mounted".into());
            cold::drop_caches()?;
            return self.remount_source();
        }
        let test = self.devices.test_folder.display().to_string();
        let mount = self.cell.configuration.mount_command(&self.devices.test.path, &test);
        for command in [source::unmount_command(&self.devices.test_folder), mount] {
            if !self.mounted {
                self.hand_on(protocol_task::MOUNT)?;
            }
            let mut process = Command::new(&command[0]);
            process.args(&command[1..]);
            self.set_step(&mut process);
            command::call(&process, self.scratch.path())?;
            self.mounted = !self.mounted;
            if !self.mounted {
                self.forget(&self.devices.test);
            }
        }
        self.remount_source()
    }

    fn remount_source(&mut self) -> Result<()> {
        if let Some(source) = &self.devices.source {
            source::unmount(&self.devices.source_folder, self.scratch.path())?;
            self.forget(source);
            source::mount(source, &self.devices.source_folder, self.scratch.path())?;
        }
        Ok(())
    }

    pub(super) fn capacity(&mut self, metrics: &[Metric]) -> Result<()> {
        let folder = &self.devices.test_folder;
        let data =
            rustix::fs::statvfs(folder).with_context(|| format!("cannot ask {} for its space", folder.display()))?;
        let available = data.f_bavail as f64 * data.f_frsize as f64;
        let percent = if data.f_blocks > 0 { 100.0 * data.f_bavail as f64 / data.f_blocks as f64 } else { 0.0 };
        let values = metrics.iter().map(|metric| {
            let value = match *metric {
                Metric::CAPACITY_BYTES => available,
                Metric::CAPACITY_DEVICE => 100.0 * available / self.devices.test.size as f64,
                _ => percent,
            };
            (metric.id.to_owned(), value)
        });
        let values = values.collect();
        self.sample(protocol_task::CAPACITY, 0, values);
        Ok(())
    }

    /// Removes every file of the tasks, so that the space still used is the file system's own.
    pub(super) fn remove_all(&mut self) -> Result<()> {
        if let Err(error) = self.untimed("removing all files", REMOVE_ALL, &self.devices.test_folder) {
            self.note(format!("removing all files: {error:#}"));
        }
        self.settle("removing all files")
    }

    pub(super) fn fsck(&mut self) -> Result<()> {
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
        let filesystem = &self.cell.configuration.filesystem;
        let Some(fsck) = &filesystem.fsck else {
            let reason = filesystem.no_fsck.clone().unwrap_or_else(|| "no read-only check exists".to_owned());
            self.ended(protocol_task::FSCK, Outcome::Skipped { reason });
            return Ok(());
        };
        let command = self.cell.configuration.fsck_command(&self.devices.test.path).context("fsck has no command")?;
        self.forget(&self.devices.test);
        self.ready(protocol_task::FSCK, 0, 0.0)?;
        let mut process = Command::new(&command[0]);
        process.args(&command[1..]);
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
        let meaning = code.and_then(|code| fsck.meaning.get(&code.to_string()));
        let said = match (meaning, measured.finished.failure(&command.join(" "))) {
            (Some(meaning), _) => format!("fsck after the tasks: {meaning} (exit code {})", code.unwrap_or(-1)),
            (None, Some(failure)) => format!("fsck after the tasks: {failure}"),
            (None, None) => "fsck after the tasks: exit code 0 does not mean clean here".to_owned(),
        };
        let outcome = Outcome::Failed { reason: said, detail: self.detail(&measured.finished.stderr) };
        self.ended(protocol_task::FSCK, outcome);
        Ok(())
    }
}
