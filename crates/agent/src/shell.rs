//! Runs commands of suites, in their folder and with a fixed environment.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use mountmark_job::PATH;

use super::command::{Finished, Keep, Kept};
use super::ground::CallFailed;
use super::sandbox::Confined;
use super::{Agent, STEP_LIMIT, workload};

impl Agent<'_> {
    /// Runs an unmeasured command of a suite; `what` names it.
    pub(super) fn untimed(&mut self, what: &str, script: &str, folder: &Path) -> Result<()> {
        let process = self.shell(script, folder);
        let guarded = if self.mounted { &*self.devices.test_folder } else { folder };
        let confined = Confined { test: guarded, ..self.confined(true) };
        let kept = Kept::new(self.scratch.path(), Keep::Ends)?;
        let mut ready = self.ground.start(&process, kept, None, Some(confined), None)?;
        ready.go()?;
        let finished = ready.wait(STEP_LIMIT)?;
        ready.end()?;
        self.note_leftovers(what, &finished);
        match self.failure("the command", &finished) {
            None => Ok(()),
            Some(reason) => anyhow::bail!(CallFailed { reason, said: finished.said() }),
        }
    }

    /// Notes that a command left processes behind, which were ended before the next one.
    pub(super) fn note_leftovers(&mut self, what: &str, finished: &Finished) {
        if finished.leftovers {
            self.note(format!("{what} left processes running, which were ended with it"));
        }
    }

    pub(super) fn shell(&self, script: &str, folder: &Path) -> Command {
        workload::forget(self.scratch.path());
        // In a tree of its own the machine's search path leads nowhere.
        let mut process = Command::new(if self.tree.is_some() { "/bin/sh" } else { "sh" });
        let folder = match &self.tree {
            Some(tree) if *folder == *self.devices.test_folder => &tree.folder,
            _ => folder,
        };
        process.arg("-c").arg(script).current_dir(folder);
        self.set_environment(&mut process);
        process.envs(self.cell.root.iter().flat_map(|root| &root.environment));
        process
    }

    /// The mounts of a command of the suite; `in_tree`: it finds programs in the suite's tree, if there is one.
    pub(super) fn confined(&self, in_tree: bool) -> Confined<'_> {
        Confined { test: &self.devices.test_folder, tree: self.tree.as_ref().filter(|_| in_tree) }
    }

    /// As [`Agent::set_environment`], of a command of the protocol. On a real machine it runs in the agent's own folder, which is
    /// empty: no word of it finds a file by a name without a path.
    pub(super) fn set_step(&self, process: &mut Command) {
        self.set_environment(process);
        if !self.devices.exclusive {
            process.current_dir(".");
        }
    }

    /// Sets the same few variables in every lab, and none of the user's.
    pub(super) fn set_environment(&self, process: &mut Command) {
        process.env_clear();
        let fixed: [(&str, OsString); 6] = [
            ("PATH", PATH.into()),
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
