//! The profiler: a plugin of QEMU in C, the table of functions that it gets, the recording that it writes, and what the
//! disk holds where a request was waited for.
//!
//! The plugin is built with this crate (`build.rs`) and carried in the program; QEMU loads it from the cache.

mod parts;
pub(crate) mod pipes;
pub(crate) mod programs;
pub(crate) mod recording;
pub(crate) mod symbols;

pub(crate) use parts::{Disk, Medium, parts};

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::cache;

const PLUGIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/profiler.so"));

/// The first QEMU whose plugins can read the guest's registers and memory.
const FIRST_QEMU: u32 = 10;

/// The plugin's file in the cache, named by its contents.
pub(crate) fn plugin(cache: &Path) -> Result<PathBuf> {
    let path = cache.join("profiler").join(format!("{}.so", &cache::sha256(PLUGIN)[..16]));
    cache::write_whole(&path, PLUGIN)?;
    Ok(path)
}

/// An error unless a QEMU that says this of itself and of its options can load the plugin.
///
/// `version` is the first line of `--version`.
pub(crate) fn check_emulator(version: &str, help: &str) -> Result<()> {
    const MEND: &str = "Debian 13's package qemu-system-x86 has such a one, Debian 12 has it among its backports: apt-get \
                        install -t bookworm-backports qemu-system-x86";
    let number = version.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let major = number.and_then(|number| number.split('.').next()?.parse::<u32>().ok());
    if major.is_none_or(|major| major < FIRST_QEMU) {
        bail!("the profiler needs QEMU {FIRST_QEMU} or newer, and this is {version:?}. {MEND}");
    }
    if !help.contains("-plugin") {
        bail!("this QEMU ({version}) was built without plugins, which the profiler needs. {MEND}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_qemu_that_cannot_profile_is_refused_with_the_package_that_can() {
        let said = |version, help| check_emulator(version, help).map_err(|error| error.to_string());
        assert_eq!(said("QEMU emulator version 10.0.2 (Debian 1:10.0.2)", "-plugin [file=]<file>"), Ok(()));
        let old = said("QEMU emulator version 7.2.22 (Debian 1:7.2)", "-plugin [file=]<file>").unwrap_err();
        assert!(old.contains("needs QEMU 10") && old.contains("bookworm-backports"), "{old}");
        let bare = said("QEMU emulator version 10.1.0", "-machine").unwrap_err();
        assert!(bare.contains("without plugins") && bare.contains("qemu-system-x86"), "{bare}");
        assert!(said("something else", "-plugin").is_err());
    }
}
