//! Commands of suites, in the folder and with the variables that they may count on.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::command::{self, Keep};
use super::{Agent, STEP_LIMIT, workload};

impl Agent<'_> {
    pub(super) fn untimed(&self, script: &str, folder: &Path) -> Result<()> {
        let mut process = self.shell(script, folder);
        let finished = command::run(&mut process, &self.scratch, STEP_LIMIT, Keep::Tail)?;
        match finished.failure("the command") {
            None => Ok(()),
            Some(reason) => anyhow::bail!("{reason}: {}", finished.stderr),
        }
    }

    pub(super) fn shell(&self, script: &str, folder: &Path) -> Command {
        workload::forget(&self.scratch);
        let mut process = Command::new("sh");
        process.arg("-c").arg(script).current_dir(folder);
        self.set_environment(&mut process);
        process
    }

    /// Tasks see the same few variables in every lab, and nothing of the user's.
    pub(super) fn set_environment(&self, process: &mut Command) {
        process.env_clear();
        let fixed: [(&str, OsString); 6] = [
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into()),
            ("HOME", "/tmp".into()),
            ("LC_ALL", "C".into()),
            ("TEST", self.devices.test_folder.clone().into()),
            ("SOURCE", self.devices.source_folder.clone().into()),
            ("SEED", self.cell.seed.to_string().into()),
        ];
        process.envs(fixed);
        process.envs(self.cell.parameters.iter().map(|(name, value)| (name, value.to_string())));
    }
}
