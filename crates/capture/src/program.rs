//! What starts when a file is executed: scripts have interpreters, programs have loaders, and some cannot run in a guest.

use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::refusal::{Refusal, Result};

const ELF: &[u8] = b"\x7fELF";
const X86_64: u16 = 62;
const INTERPRETER: u32 = 3;

/// The program that the kernel starts for, or beside, the file at `path`. Refuses what cannot run in a guest.
pub fn starter(path: &Path) -> Result<Option<PathBuf>> {
    let Ok(metadata) = fs::metadata(path) else { return Ok(None) };
    let mode = metadata.permissions().mode();
    if !metadata.is_file() || mode & 0o111 == 0 {
        return Ok(None);
    }
    let program = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // The group's bit means something else without the right to execute.
    if mode & libc::S_ISUID != 0 || mode & (libc::S_ISGID | libc::S_IXGRP) == libc::S_ISGID | libc::S_IXGRP {
        return Err(Refusal::SetUserId { program, path: path.to_owned() });
    }
    if has_capabilities(path) {
        return Err(Refusal::Capabilities { program, path: path.to_owned() });
    }
    let file = File::open(path).map_err(|_| Refusal::Unreadable { path: path.to_owned() })?;
    let mut begin = Vec::new();
    let _ = (&file).take(4096).read_to_end(&mut begin);
    if let Some(line) = begin.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let name = line.split(|byte| matches!(byte, b' ' | b'\t')).find(|word| !word.is_empty());
        return Ok(name.map(|name| PathBuf::from(OsStr::from_bytes(name))));
    }
    if !begin.starts_with(ELF) || begin.len() < 64 {
        return Ok(None);
    }
    let refuse = |what: String| Err(Refusal::Architecture { path: path.to_owned(), what });
    let machine = u16::from_le_bytes([begin[18], begin[19]]);
    if begin[4] != 2 {
        return refuse("a 32-bit program".to_owned());
    }
    if begin[5] != 1 || machine != X86_64 {
        return refuse(format!("a program for another processor (ELF machine {machine})"));
    }
    Ok(interpreter(&file, &begin))
}

/// The loader that a program names in its ELF file.
fn interpreter(file: &File, header: &[u8]) -> Option<PathBuf> {
    let word = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
    let (table, size, count) =
        (word(32), u16::from_le_bytes([header[54], header[55]]), u16::from_le_bytes([header[56], header[57]]));
    for index in 0..u64::from(count) {
        let mut entry = [0; 56];
        file.read_exact_at(&mut entry, table.checked_add(index * u64::from(size))?).ok()?;
        let word = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().expect("eight bytes"));
        if u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]) == INTERPRETER {
            let mut name = vec![0; usize::try_from(word(32)).ok().filter(|length| *length <= 4096)?];
            file.read_exact_at(&mut name, word(8)).ok()?;
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            return Some(PathBuf::from(OsStr::from_bytes(&name[..end])));
        }
    }
    None
}

fn has_capabilities(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: both strings end with a zero; without a buffer the kernel only tells the length.
    unsafe { libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &[u8], mode: u32) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        (folder, path)
    }

    #[test]
    fn what_starts_a_file_is_found() {
        let (_folder, path) = script(b"#! /usr/bin/env python3\nprint()\n", 0o755);
        assert_eq!(starter(&path).unwrap(), Some(PathBuf::from("/usr/bin/env")));
        let own = std::env::current_exe().unwrap();
        let loader = starter(&own).unwrap();
        assert!(loader.is_none_or(|loader| loader.to_string_lossy().contains("ld-linux")));
        let (_folder, path) = script(b"#!/bin/sh\n", 0o644);
        assert_eq!(starter(&path).unwrap(), None, "it cannot be executed");
    }

    #[test]
    fn what_cannot_run_in_a_guest_is_refused() {
        let (_folder, path) = script(b"#!/bin/sh\n", 0o4755);
        assert!(matches!(starter(&path), Err(Refusal::SetUserId { .. })));
        let mut elf = vec![0; 64];
        elf[..8].copy_from_slice(b"\x7fELF\x01\x01\x01\0");
        elf[18] = 3;
        let (_folder, path) = script(&elf, 0o755);
        let error = starter(&path).unwrap_err().to_string();
        assert!(error.contains("a 32-bit program"), "{error}");
        elf[4] = 2;
        elf[18] = 183;
        let (_folder, path) = script(&elf, 0o755);
        let error = starter(&path).unwrap_err().to_string();
        assert!(error.contains("another processor (ELF machine 183)"), "{error}");
    }
}
