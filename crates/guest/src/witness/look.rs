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
    /// Looks at an image, of whose disks one may be gone.
    pub(super) fn look(&mut self, patches: &[Extent], asked: Option<&Asked>, gone: Option<u32>) -> Result<Seen> {
        self.disk.set_back();
        self.disk.apply(patches)?;
        set_clock(LATER);
        let mut seen = Seen::default();
        match self.attach(gone) {
            Ok(()) => self.look_at(&mut seen, asked, gone)?,
            Err(error) => seen.mount = Some(format!("{error:#}")),
        }
        self.detach();
        let is_damaged = |check: &Option<Check>| check.as_ref().is_some_and(|check| !check.said.is_empty());
        if seen.mount.is_some() || is_damaged(&seen.check) {
            seen.repaired = self.repair(patches, gone)?;
        }
        seen.reads = self.disk.reads();
        Ok(seen)
    }

    /// Looks at what stands on its disks.
    fn look_at(&mut self, seen: &mut Seen, asked: Option<&Asked>, gone: Option<u32>) -> Result<()> {
        let mount = self.after_cut();
        if !mount.before.is_empty() {
            seen.recovery = Some(self.run(&mount.before)?);
        }
        match self.mount(&mount) {
            Ok(()) => {
                seen.tree = Some(tree::look(Path::new(FOLDER)));
                // Before the probe, and after everything was read, since it may write.
                seen.application = asked.map(|asked| self.ask(asked)).transpose()?;
                seen.write = probe().err().map(|error| error.to_string());
                seen.umount = self.unmount().or_else(|| self.unmount_below());
                // A check of what is still mounted says nothing.
                if seen.umount.is_none() {
                    seen.check = self.check(gone)?;
                }
            }
            Err(error) => seen.mount = Some(format!("{error:#}")),
        }
        Ok(())
    }

    /// Repairs the image as it was after the power cut, and reads it.
    fn repair(&self, patches: &[Extent], gone: Option<u32>) -> Result<Option<Repaired>> {
        let Some(command) = self.cell.configuration.base().repair_command(&self.stand.device()) else {
            return Ok(None);
        };
        self.disk.again(patches)?;
        if self.attach(gone).is_err() {
            self.detach();
            return Ok(None);
        }
        let repair = self.run(&command)?;
        let mut repaired = Repaired { repair, mount: None, tree: None, lost: 0 };
        match self.mount(&self.sound()) {
            Ok(()) => {
                repaired.tree = Some(tree::look(Path::new(FOLDER)));
                repaired.lost = tree::lost(Path::new(FOLDER));
                self.unmount();
            }
            Err(error) => repaired.mount = Some(format!("{error:#}")),
        }
        self.detach();
        Ok(Some(repaired))
    }

    /// Runs a command that may find and mend damage. What it says of a sound image does not matter.
    fn run(&self, command: &[String]) -> Result<Check> {
        let (status, said) = call(command)?;
        let fsck = self.cell.configuration.base().filesystem.fsck.as_ref();
        let clean = fsck.is_some_and(|fsck| fsck.clean.contains(&status));
        Ok(Check { status, said: if clean { String::new() } else { said } })
    }

    /// Lets the file system's own check look at the image, unless it has seen the same one.
    fn check(&mut self, gone: Option<u32>) -> Result<Option<Check>> {
        let Some(command) = self.cell.configuration.base().image_check_command(&self.stand.device()) else {
            return Ok(None);
        };
        let digest = (self.disk.digest(), gone);
        if let Some((check, reads)) = self.checked.get(&digest) {
            // It would have read the same, and an image that differs there is another one.
            self.disk.note_reads(reads);
            return Ok(Some(check.clone()));
        }
        let (check, reads) = self.disk.reading(|| self.run(&command));
        let check = check?;
        self.checked.insert(digest, (check.clone(), reads));
        Ok(Some(check))
    }
}

/// Writes a file and removes it.
fn probe() -> io::Result<()> {
    fs::write(PROBE, [b'x'; 4096])?;
    fs::remove_file(PROBE)
}
