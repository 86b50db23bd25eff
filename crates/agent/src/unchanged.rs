//! Whether the commands of a suite left all settings as they were. What is measured after a change would stand beside figures
//! from before it, so a change ends the cell.

use mountmark_model::Outcome;

use super::Agent;
use crate::protocol::{Act, Step};
use crate::settings::{Mounts, Settings};

impl Agent<'_> {
    /// Remembers the settings as they are.
    pub(super) fn remember_settings(&mut self) {
        self.settings = Some(self.settings_now());
    }

    /// Ends the cell if a setting is not as it was remembered; `what` ran since. True if it is ended.
    pub(super) fn is_spoilt(&mut self, what: &str) -> bool {
        if !self.spoilt {
            let now = self.settings_now();
            self.compare(what, &now);
        }
        self.spoilt
    }

    /// The same for a new mount's options, of which the file system may itself store some. What the task's `prepare` has set
    /// otherwise, its `cleanup` may put back.
    pub(super) fn is_spoilt_by_mount(&mut self, task: &str) -> bool {
        let now = self.ground.mounts(&self.mounts());
        self.compare(&format!("the remount before task {task}"), &now);
        self.spoilt
    }

    /// Remembers the options with which the file system has just been mounted, if its own commands choose them by what it holds,
    /// such as the folders of a union.
    pub(super) fn adopt_mount(&mut self) {
        if self.cell.configuration.filesystem.mount.is_empty() || self.settings.is_none() {
            return;
        }
        let now = self.ground.mounts(&self.mounts());
        if let Some(settings) = &mut self.settings {
            settings.adopt(&now, &self.devices.test_folder);
        }
    }

    fn compare(&mut self, what: &str, now: &Settings) {
        let Some(changed) = self.settings.as_ref().and_then(|before| now.since(before)) else { return };
        self.spoilt = true;
        let reason = format!(
            "after {what} a setting is another: {changed}. What follows would be measured under it, so the cell ends here; a \
             command puts back what it sets"
        );
        self.cell_ended(Outcome::Failed { reason, detail: String::new() });
    }

    /// Unmounts without a measurement, if nothing holds it: the cell has failed already.
    pub(super) fn leave(&mut self, end: &[Step]) {
        for step in end {
            let Act::Unmount(disk, commands) = &step.act else { continue };
            match self.call(*disk, commands, &[]).and_then(|()| self.take_back()) {
                // Its programs end with this cell.
                Ok(()) => self.served.clear(),
                Err(error) => self.note(format!("it stays mounted: {error:#}")),
            }
        }
    }

    fn settings_now(&self) -> Settings {
        let disks: Vec<&str> = self.disks().iter().flat_map(|disk| [&*disk.path, &*disk.name]).collect();
        self.ground.settings(&disks, &self.mounts())
    }

    /// Mounts that are nobody else's.
    fn mounts(&self) -> Mounts {
        let devices = self.devices;
        match devices.exclusive {
            true => Mounts::All,
            false => Mounts::At(vec![devices.test_folder.clone(), devices.source_folder.clone()]),
        }
    }
}
