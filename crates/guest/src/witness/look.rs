//! Looks at one image: mounts it, reads everything, writes, unmounts, and lets the file system's own check look. What is
//! wrong is repaired from the start, and looked at again.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Result;
use mountmark_crash::application::Asked;
use mountmark_crash::campaign::{Check, Repaired, Seen};
use mountmark_crash::states::Extent;

use super::{FOLDER, LATER, Witness, call, set_clock, tree};

/// A file that no workload has.
const PROBE: &str = "/test/.mountmark-probe";

impl Witness<'_> {
    pub(super) fn look(&mut self, patches: &[Extent], asked: Option<&Asked>) -> Result<Seen> {
        self.disk.set_back();
        self.disk.apply(patches)?;
        set_clock(LATER);
        let mut seen = Seen::default();
        let mount = self.after_cut();
        if !mount.before.is_empty() {
            seen.recovery = Some(self.run(&mount.before)?);
        }
        match mount.call() {
            Ok(()) => {
                seen.tree = Some(tree::look(Path::new(FOLDER)));
                // Before the probe, and after everything was read, since it may write.
                seen.application = asked.map(|asked| self.ask(asked)).transpose()?;
                seen.write = probe().err().map(|error| error.to_string());
                seen.umount = self.leave();
            }
            Err(error) => seen.mount = Some(error.to_string()),
        }
        if seen.mount.is_none() {
            seen.check = self.check()?;
        }
        let is_damaged = |check: &Option<Check>| check.as_ref().is_some_and(|check| !check.said.is_empty());
        if seen.mount.is_some() || is_damaged(&seen.check) {
            seen.repaired = self.repair(patches)?;
        }
        seen.reads = self.disk.reads();
        Ok(seen)
    }

    /// Repairs the image as it was after the power cut, and reads it.
    fn repair(&self, patches: &[Extent]) -> Result<Option<Repaired>> {
        let Some(command) = self.cell.configuration.repair_command(&self.disk.device.path) else { return Ok(None) };
        self.disk.again(patches)?;
        let repair = self.run(&command)?;
        let mut repaired = Repaired { repair, mount: None, tree: None, lost: 0 };
        match self.sound().call() {
            Ok(()) => {
                repaired.tree = Some(tree::look(Path::new(FOLDER)));
                repaired.lost = tree::lost(Path::new(FOLDER));
                self.leave();
            }
            Err(error) => repaired.mount = Some(error.to_string()),
        }
        Ok(Some(repaired))
    }

    /// Runs a command that may find and mend damage. What it says of a sound image does not matter.
    fn run(&self, command: &[String]) -> Result<Check> {
        let (status, said) = call(command)?;
        let fsck = self.cell.configuration.filesystem.fsck.as_ref();
        let clean = fsck.is_some_and(|fsck| fsck.clean.contains(&status));
        Ok(Check { status, said: if clean { String::new() } else { said } })
    }

    /// Lets the file system's own check look at the image, unless it has seen the same one.
    fn check(&mut self) -> Result<Option<Check>> {
        let Some(command) = self.cell.configuration.image_check_command(&self.disk.device.path) else {
            return Ok(None);
        };
        let digest = self.disk.digest();
        if let Some(check) = self.checked.get(&digest) {
            return Ok(Some(check.clone()));
        }
        let check = self.run(&command)?;
        self.checked.insert(digest, check.clone());
        Ok(Some(check))
    }
}

/// Writes a file and removes it.
fn probe() -> io::Result<()> {
    fs::write(PROBE, [b'x'; 4096])?;
    fs::remove_file(PROBE)
}
