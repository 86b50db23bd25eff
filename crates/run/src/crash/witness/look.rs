//! Looks at one image: mounts it, reads everything, writes, unmounts, and lets the file system's own check look.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Result;
use mountmark_crash::application::Asked;
use mountmark_crash::campaign::{Check, Seen};
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
        match self.mount() {
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
        seen.reads = self.disk.reads();
        Ok(seen)
    }

    /// Lets the file system's own check look at the image, unless it has seen the same one.
    fn check(&mut self) -> Result<Option<Check>> {
        let Some(command) = self.cell.configuration.fsck_command(&self.disk.device.path) else { return Ok(None) };
        let digest = self.disk.digest();
        if let Some(check) = self.checked.get(&digest) {
            return Ok(Some(check.clone()));
        }
        let (status, said) = call(&command)?;
        let clean = self.cell.configuration.filesystem.fsck.as_ref().is_some_and(|fsck| fsck.clean.contains(&status));
        let check = Check { status, said: if clean { String::new() } else { said } };
        self.checked.insert(digest, check.clone());
        Ok(Some(check))
    }
}

/// Writes a file and removes it.
fn probe() -> io::Result<()> {
    fs::write(PROBE, [b'x'; 4096])?;
    fs::remove_file(PROBE)
}
