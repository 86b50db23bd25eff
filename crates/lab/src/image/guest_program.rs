//! The guest's program, a file of its own: `mountmark-guest`, beside this program or where a package puts it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};
use goblin::elf::header::EM_X86_64;

use crate::cache;

const NAME: &str = "mountmark-guest";
/// Where it may be, seen from the folder of this program: as cargo installs it, and as a Debian package does.
const PLACES: [&str; 2] = [NAME, "../libexec/mountmark/mountmark-guest"];
/// Far more than it has; a file of this size is another one.
const MOST: u64 = 256 << 20;

/// The program, as it was when this process first asked for it: one that is installed meanwhile does not get into half a run.
pub(crate) struct GuestProgram {
    pub bytes: Vec<u8>,
    /// In hexadecimal.
    pub sha256: String,
}

impl GuestProgram {
    /// The program beside this one, read once.
    pub fn get() -> Result<&'static GuestProgram> {
        static READ: OnceLock<GuestProgram> = OnceLock::new();
        if let Some(read) = READ.get() {
            return Ok(read);
        }
        let own = std::fs::read_link("/proc/self/exe").context("cannot find this program's own file")?;
        let program = GuestProgram::beside(&own)?;
        Ok(READ.get_or_init(|| program))
    }

    fn beside(own: &Path) -> Result<GuestProgram> {
        let folder = own.parent().unwrap_or(Path::new("/"));
        let places = PLACES.map(|place| folder.join(place));
        let Some(path) = places.iter().find(|path| path.exists()) else {
            let [here, there] = places.map(|place| place.display().to_string());
            bail!(
                "{NAME}, the program that runs in guests, is not where this program is: neither {here} nor {there}; install \
                 Mountmark again, or build it whole (`cargo build`)"
            );
        };
        let bytes =
            read(path).with_context(|| format!("cannot read {}, the program that runs in guests", path.display()))?;
        check(&bytes).with_context(|| {
            format!("{} is not the program that runs in guests; install Mountmark again", path.display())
        })?;
        Ok(GuestProgram { sha256: cache::sha256(&bytes), bytes })
    }
}

fn read(path: &PathBuf) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        bail!("it has more than {MOST} bytes");
    }
    Ok(bytes)
}

fn check(bytes: &[u8]) -> Result<()> {
    let elf = goblin::elf::Elf::parse(bytes).context("it is no program")?;
    if elf.header.e_machine != EM_X86_64 {
        bail!("it is a program of another machine than x86-64");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_beside_or_where_a_package_puts_it() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        for place in PLACES {
            let root = tempfile::tempdir().unwrap();
            let folder = root.path().join("bin");
            std::fs::create_dir_all(&folder).unwrap();
            let program = folder.join("mountmark");
            let missing = format!("{:#}", GuestProgram::beside(&program).err().unwrap());
            assert!(missing.contains("install Mountmark again"), "{missing}");
            let guest = folder.join(place);
            std::fs::create_dir_all(guest.parent().unwrap()).unwrap();
            for (bytes, reason) in
                [(&b"#!/bin/sh\n"[..], "it is no program"), (&other_machine(&own), "another machine")]
            {
                std::fs::write(&guest, bytes).unwrap();
                let error = format!("{:#}", GuestProgram::beside(&program).err().unwrap());
                assert!(error.contains(reason) && error.contains("mountmark-guest"), "{error}");
            }
            std::fs::write(&guest, &own).unwrap();
            let found = GuestProgram::beside(&program).unwrap();
            assert_eq!((found.sha256, found.bytes), (cache::sha256(&own), own.clone()));
        }
    }

    fn other_machine(program: &[u8]) -> Vec<u8> {
        // `e_machine` in the header: 183 is AArch64.
        let mut other = program.to_vec();
        other[18..20].copy_from_slice(&183u16.to_le_bytes());
        other
    }
}
