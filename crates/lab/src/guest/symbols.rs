//! The addresses of the kernel's functions, for a profiler.

use std::fs;

use anyhow::{Context, Result};

use super::media::Medium;
use crate::{MEDIA_START, Region};

/// Every symbol of the kernel and of its modules with its address.
const SYMBOLS: &str = "/proc/kallsyms";

/// Writes the length of the list as 8 bytes and then the list into reserved memory.
pub(super) fn write(region: &Region) -> Result<()> {
    let list = fs::read(SYMBOLS).with_context(|| {
        format!("the kernel has no {SYMBOLS} (it needs CONFIG_KALLSYMS), so its functions have no names")
    })?;
    let mut medium = Medium::map(MEDIA_START + region.offset, region.size)?;
    let length = list.len() as u64;
    let no_room = || format!("the list of the kernel's symbols has {length} bytes, and the disk under test has less");
    medium.slice_mut(0, 8).with_context(no_room)?.copy_from_slice(&length.to_le_bytes());
    medium.slice_mut(8, length).with_context(no_room)?.copy_from_slice(&list);
    Ok(())
}
