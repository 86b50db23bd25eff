//! Files of the user without what they hold: as large, as compressible, as deep, under other names.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use mountmark_random::Stream;
use sha2::{Digest, Sha256};

use super::entries::{Entries, Source, place};
use super::{Replaced, home};
use crate::Recording;
use crate::refusal::{Refusal, Result};

/// Compressibility is looked at in parts of this size.
const PART: usize = 1 << 16;
const BLOCK: usize = 4096;
/// Steps of a tenth.
const STEPS: usize = 10;

/// Ends of names of files by which programs run.
const SCRIPTS: &[&str] = &[
    "awk", "bash", "class", "cmake", "el", "jar", "js", "lua", "m4", "mjs", "mk", "php", "pl", "pm", "ps1", "py",
    "pyc", "r", "rb", "sed", "sh", "so", "tcl", "zsh",
];
const NAMES: &[&str] = &["Makefile", "makefile", "GNUmakefile", "CMakeLists.txt", "configure", "meson.build"];
/// Programs whose first file is a script.
const INTERPRETERS: &[&str] = &[
    "awk", "bash", "dash", "gawk", "lua", "make", "mawk", "node", "perl", "php", "python", "ruby", "sed", "sh", "tclsh",
];

/// Replaces the contents and names of the files below the working directory and the home folder.
pub fn replace(
    recording: &Recording,
    entries: &mut Entries,
    words: &mut [OsString],
    input: &mut Option<PathBuf>,
) -> Result<Replaced> {
    let folder = recording.command.folder.clone();
    let mut bases = vec![folder.clone()];
    bases.extend(home(recording));
    let mut result = Replaced::default();
    let mut key = Sha256::new();
    for entry in entries.values_mut().filter(|entry| bases.iter().any(|base| entry.path.starts_with(base))) {
        let Source::Contents(file, size) = &entry.source else { continue };
        let failed = |error| Refusal::Input { what: entry.path.display().to_string(), error };
        if is_run(recording, &entry.path, file).map_err(failed)? {
            result.kept.push(entry.path.clone());
            continue;
        }
        let digest = digest(file).map_err(failed)?;
        key.update(entry.path.as_os_str().as_bytes());
        key.update(digest);
        let seed = u64::from_le_bytes(digest[..8].try_into().expect("eight bytes"));
        entry.source = Source::Shape(file.clone(), *size, seed);
        result.count += 1;
    }
    let names = Names { key: key.finalize().into(), bases, kept: kept(&result.kept, &recording.command.folder) };
    let old = std::mem::take(entries);
    for mut entry in old.into_values() {
        entry.path = names.of(&entry.path);
        if let Source::Link(target) = &entry.source {
            let base = entry.path.parent().unwrap_or(Path::new("/"));
            entry.source = Source::Link(names.link(base, target));
        }
        entries.insert(place(&entry.path), entry);
    }
    for word in words.iter_mut().skip(1) {
        *word = names.word(recording, word);
    }
    if let Some(path) = input {
        *path = names.of(path);
    }
    Ok(result)
}

/// Names of these folders and files stay, since a program or script is found by them.
fn kept(files: &[PathBuf], folder: &Path) -> BTreeSet<PathBuf> {
    files.iter().map(PathBuf::as_path).chain([folder]).flat_map(Path::ancestors).map(Path::to_owned).collect()
}

/// Whether a file is run, or a program runs by it.
fn is_run(recording: &Recording, path: &Path, contents: &Path) -> io::Result<bool> {
    let end = path.extension().map(|end| end.to_string_lossy().to_lowercase());
    let is_script = end.is_some_and(|end| SCRIPTS.contains(&end.as_str()));
    let is_named = path.file_name().is_some_and(|name| {
        NAMES.iter().any(|known| name == *known) || name.as_bytes().windows(4).any(|part| part == b".so.")
    });
    if is_script || is_named || recording.programs.contains_key(path) || is_interpreted(recording, path) {
        return Ok(true);
    }
    let mut begin = [0; 4];
    let read = File::open(contents)?.read(&mut begin)?;
    Ok(begin[..read].starts_with(b"\x7fELF") || begin[..read].starts_with(b"#!"))
}

/// Whether a word of the command names a file for an interpreter.
fn is_interpreted(recording: &Recording, path: &Path) -> bool {
    let command = &recording.command;
    let name = Path::new(&command.words[0]).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let first = command.words.iter().skip(1).map(|word| command.folder.join(word)).find(|path| path.is_file());
    INTERPRETERS.contains(&name) && first.is_some_and(|first| first == path)
}

fn digest(file: &Path) -> io::Result<[u8; 32]> {
    let mut file = File::open(file)?;
    let (mut hash, mut part) = (Sha256::new(), vec![0; PART]);
    while let length @ 1.. = file.read(&mut part)? {
        hash.update(&part[..length]);
    }
    Ok(hash.finalize().into())
}

/// New names, the same for the same files.
struct Names {
    /// Hard to guess for those who do not have the files, so that names cannot be tried out.
    key: [u8; 32],
    bases: Vec<PathBuf>,
    kept: BTreeSet<PathBuf>,
}

impl Names {
    fn of(&self, path: &Path) -> PathBuf {
        let mut new = PathBuf::from("/");
        for (old, part) in path.ancestors().collect::<Vec<_>>().into_iter().rev().zip(path.iter()) {
            let stays = self.kept.contains(old) || !self.bases.iter().any(|base| old.starts_with(base) && old != base);
            new.push(if stays { part.to_owned() } else { self.part(part) });
        }
        new
    }

    /// A name of a file, its extension as it is.
    fn part(&self, name: &OsStr) -> OsString {
        let mut hash = Sha256::new();
        hash.update(self.key);
        hash.update(name.as_bytes());
        let digest = hash.finalize();
        let mut new: String = digest[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        if let Some(end) = Path::new(name).extension().and_then(OsStr::to_str).filter(|end| end.len() <= 8) {
            new += &format!(".{end}");
        }
        new.into()
    }

    fn link(&self, base: &Path, target: &Path) -> PathBuf {
        if target.is_absolute() {
            return self.of(target);
        }
        // A relative target has names of the same folders.
        let parts = target.iter().map(|part| match part.as_bytes() {
            b"." | b".." => part.to_owned(),
            _ if self.bases.iter().any(|own| base.starts_with(own)) => self.part(part),
            _ => part.to_owned(),
        });
        parts.collect()
    }

    /// A word that is the name of a file that was used, or ends with `=` and one.
    fn word(&self, recording: &Recording, word: &OsStr) -> OsString {
        let is_used = |path: &Path| recording.tree.get(path).is_some_and(|node| node.uses != Default::default());
        let named = |name: &[u8]| -> Option<OsString> {
            let name = Path::new(OsStr::from_bytes(name));
            let whole = recording.command.folder.join(name);
            if name.as_os_str().is_empty() || !is_used(&plain(&whole)) {
                return None;
            }
            let new = self.of(&plain(&whole));
            if name.is_absolute() {
                return Some(new.into_os_string());
            }
            let below = new.strip_prefix(&recording.command.folder).ok()?;
            Some(if below.as_os_str().is_empty() { ".".into() } else { below.as_os_str().to_owned() })
        };
        if let Some(new) = named(word.as_bytes()) {
            return new;
        }
        let Some(at) = word.as_bytes().iter().position(|byte| *byte == b'=') else { return word.to_owned() };
        let (before, after) = word.as_bytes().split_at(at + 1);
        named(after).map_or_else(
            || word.to_owned(),
            |new| {
                let mut whole = OsStr::from_bytes(before).to_owned();
                whole.push(new);
                whole
            },
        )
    }
}

/// Without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.iter() {
        match part.as_bytes() {
            b"." => {}
            b".." => drop(plain.pop()),
            _ => plain.push(part),
        }
    }
    plain
}

/// Reads other bytes that compress as well, part by part.
pub struct Shaped<R> {
    from: R,
    random: Stream,
    part: Vec<u8>,
    at: usize,
}

impl<R: Read> Shaped<R> {
    pub fn new(from: R, seed: u64) -> Shaped<R> {
        Shaped { from, random: Stream::new(seed, "shape of a file"), part: Vec::new(), at: 0 }
    }
}

impl<R: Read> Read for Shaped<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.part.len() {
            self.part.clear();
            self.at = 0;
            self.from.by_ref().take(PART as u64).read_to_end(&mut self.part)?;
            reshape(&mut self.part, &mut self.random)?;
        }
        let length = into.len().min(self.part.len() - self.at);
        into[..length].copy_from_slice(&self.part[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

/// In each block a share of random bytes, the rest one byte over and over.
fn reshape(part: &mut [u8], random: &mut Stream) -> io::Result<()> {
    if part.is_empty() {
        return Ok(());
    }
    let steps = steps(part)?;
    for block in part.chunks_mut(BLOCK) {
        let (noise, rest) = block.split_at_mut(block.len() * steps / STEPS);
        random.fill(noise);
        rest.fill(0);
    }
    Ok(())
}

/// How many tenths of its size remain when it is compressed.
fn steps(part: &[u8]) -> io::Result<usize> {
    let size = zstd::bulk::compress(part, 1)?.len().min(part.len());
    Ok((size * STEPS + part.len() / 2) / part.len())
}
