//! The addresses of the kernel's functions, for a profiler.

use std::fs::{self, File};
use std::io::Write;

use anyhow::{Context, Result};
use mountmark_job::{MEDIA_START, Region};

use super::media::Medium;
use super::setup;

/// Every symbol of the kernel and of its modules with its address.
const SYMBOLS: &str = "/proc/kallsyms";

/// Writes the length of the list as 8 bytes and then the list into reserved memory; `pmem`: that is a device of the
/// kernel's, which lets nobody map it.
pub(super) fn write(region: &Region, pmem: bool) -> Result<()> {
    let list = fs::read(SYMBOLS).with_context(|| {
        format!("the kernel has no {SYMBOLS} (it needs CONFIG_KALLSYMS), so its functions have no names")
    })?;
    if pmem {
        let path = format!("/dev/{}", setup::pmem_at(MEDIA_START + region.offset)?);
        let written = File::options().write(true).open(&path).and_then(|mut device| {
            device.write_all(&(list.len() as u64).to_le_bytes())?;
            device.write_all(&list)?;
            device.sync_all()
        });
        return written.with_context(|| format!("cannot write the list of the kernel's symbols to {path}"));
    }
    let mut medium = Medium::map(MEDIA_START + region.offset, region.size)?;
    let length = list.len() as u64;
    let no_room = || format!("the list of the kernel's symbols has {length} bytes, and the disk under test has less");
    medium.slice_mut(0, 8).with_context(no_room)?.copy_from_slice(&length.to_le_bytes());
    medium.slice_mut(8, length).with_context(no_room)?.copy_from_slice(&list);
    Ok(())
}
