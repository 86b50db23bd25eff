//! What a program loads when it starts, read from its file.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use goblin::elf::Elf;
use goblin::elf::header::{EM_386, EM_AARCH64, EM_ARM, EM_PPC64, EM_RISCV, EM_S390, EM_X86_64};

/// Where the loader looks besides, as Debian and its like have it.
const FOLDERS: [&str; 6] =
    ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"];
/// What the C library consists of: its parts fit only each other.
const GLIBC: [&str; 14] = [
    "libc.so.6", "libm.so.6", "libmvec.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1",
    "libresolv.so.2", "libanl.so.1", "libnsl.so.1", "libnss_files.so.2", "libnss_dns.so.2", "libnss_compat.so.2",
    "libBrokenLocale.so.1",
];
/// Beyond it a file is no library.
const MOST_BYTES: u64 = 1 << 30;

/// What a file with the right to be run is.
pub(super) enum Program {
    Elf(Needed),
    /// The program that its first line names: the last part of its path, or what env starts.
    Script(String),
    Other,
}

/// What an ELF file needs to start.
pub(super) struct Needed {
    interpreter: Option<String>,
    libraries: Vec<String>,
    /// Where it says that they are; `$ORIGIN` is its own folder.
    folders: Vec<String>,
}

/// A library of a program.
pub(super) struct Library {
    pub(super) from: PathBuf,
    /// Its place for tasks.
    pub(super) place: Vec<u8>,
}

impl Program {
    /// # Errors
    /// A program for another processor, and a file that cannot be read.
    pub(super) fn read(path: &Path) -> Result<Program> {
        let mut start = [0; 256];
        let mut file = mountmark_input::open(path)?;
        let length = file.read(&mut start)?;
        let start = &start[..length];
        if let Some(line) = start.strip_prefix(b"#!") {
            let line =
                String::from_utf8_lossy(line.split(|byte| *byte == b'\n').next().unwrap_or_default()).into_owned();
            return Ok(Program::Script(
                interpreter(&line).with_context(|| format!("{}: its first line names no program", path.display()))?,
            ));
        }
        if !start.starts_with(b"\x7fELF") {
            return Ok(Program::Other);
        }
        needed(path).map(Program::Elf)
    }
}

/// The program that a script's first line names, without `#!`.
pub(super) fn interpreter(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    match base(words.next()?) {
        env if env == "env" => words.find(|word| !word.starts_with('-') && !word.contains('=')).map(base),
        other => Some(other),
    }
}

/// The processor that an ELF file with these first bytes is for, if it is not that of guests.
pub(super) fn processor(bytes: &[u8]) -> Option<String> {
    let [b'\x7f', b'E', b'L', b'F', class, order, ..] = *bytes else { return None };
    let machine = [*bytes.get(18)?, *bytes.get(19)?];
    // 2 is the order with the highest byte first.
    let machine = if order == 2 { u16::from_be_bytes(machine) } else { u16::from_le_bytes(machine) };
    Some(match machine {
        // 2 is the class of 64 bits.
        EM_X86_64 if class == 2 => return None,
        EM_X86_64 => "x86-64 with 32-bit addresses".to_owned(),
        EM_386 => "32-bit x86".to_owned(),
        EM_AARCH64 => "64-bit ARM".to_owned(),
        EM_ARM => "32-bit ARM".to_owned(),
        EM_RISCV => "RISC-V".to_owned(),
        EM_PPC64 => "PowerPC".to_owned(),
        EM_S390 => "s390".to_owned(),
        other => format!("a processor with the number {other}"),
    })
}

fn needed(path: &Path) -> Result<Needed> {
    let size = fs::metadata(path)?.len();
    ensure!(size <= MOST_BYTES, "{} is no program: it has more than 1 GiB", path.display());
    let mut bytes = Vec::new();
    File::open(path)?.read_to_end(&mut bytes)?;
    let elf = Elf::parse(&bytes).with_context(|| format!("{} is no sound ELF file", path.display()))?;
    if let Some(processor) = processor(&bytes) {
        bail!("{} is a program for {processor}, and guests have x86-64: build it for x86_64-linux", path.display());
    }
    let paths = if elf.runpaths.is_empty() { &elf.rpaths } else { &elf.runpaths };
    Ok(Needed {
        interpreter: elf.interpreter.map(str::to_owned),
        libraries: elf.libraries.iter().map(|name| (*name).to_owned()).collect(),
        folders: paths.iter().flat_map(|paths| paths.split(':')).map(str::to_owned).collect(),
    })
}

impl Needed {
    /// All that is loaded with the program at `path`, which tasks find at `place`.
    ///
    /// # Errors
    /// A library that is nowhere.
    pub(super) fn libraries(&self, path: &Path, place: &[u8]) -> Result<Vec<Library>> {
        let mut found: BTreeMap<String, Library> = BTreeMap::new();
        if let Some(interpreter) = &self.interpreter {
            let from = Path::new(interpreter);
            let there = from.canonicalize().with_context(|| {
                format!("{} is started by {interpreter}, which this machine does not have", path.display())
            })?;
            found.insert(
                interpreter.clone(),
                Library { from: there, place: interpreter.trim_start_matches('/').into() },
            );
        }
        let mut left = vec![(path.to_owned(), place.to_vec(), self.folders.clone(), self.libraries.clone())];
        while let Some((of, at, folders, names)) = left.pop() {
            for name in names {
                if found.contains_key(&name) || found.keys().any(|known| known.ends_with(&format!("/{name}"))) {
                    continue;
                }
                let library = find(&name, &of, &at, &folders).with_context(|| {
                    format!(
                        "{} needs the library {name}, which is in no folder of this machine where libraries are",
                        of.display()
                    )
                })?;
                let own = needed(&library.from)?;
                left.push((library.from.clone(), library.place.clone(), own.folders, own.libraries));
                found.insert(name, library);
            }
        }
        if let Some(libc) = found.get("libc.so.6").map(|library| (library.from.clone(), library.place.clone())) {
            for name in GLIBC.iter().filter(|name| !found.contains_key(**name)).collect::<Vec<_>>() {
                let from = libc.0.with_file_name(name);
                if from.exists() {
                    let folder = libc.1.rsplitn(2, |byte| *byte == b'/').nth(1).unwrap_or_default();
                    found
                        .insert((*name).to_string(), Library { from, place: [folder, b"/", name.as_bytes()].concat() });
                }
            }
        }
        Ok(found.into_values().collect())
    }
}

/// A library by name, for a file at `of` that tasks find at `at`.
fn find(name: &str, of: &Path, at: &[u8], folders: &[String]) -> Option<Library> {
    let origin = of.parent().unwrap_or(Path::new("/"));
    let origin_at =
        String::from_utf8_lossy(at).rsplit_once('/').map_or_else(String::new, |(folder, _)| folder.to_owned());
    let own = folders.iter().map(|folder| {
        let of = |origin: &str| folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin);
        (PathBuf::from(of(&origin.to_string_lossy())), of(&format!("/{origin_at}")))
    });
    let path = env::var("LD_LIBRARY_PATH").unwrap_or_default();
    // Tasks have no such variable: what was found by it lies where libraries are found without.
    let users = path
        .split(':')
        .filter(|folder| !folder.is_empty())
        .map(|folder| (PathBuf::from(folder), "/usr/lib".to_owned()));
    let configured = configured().into_iter().map(|folder| (folder, "/usr/lib".to_owned()));
    let usual = FOLDERS.iter().map(|folder| (PathBuf::from(folder), (*folder).to_owned()));
    for (folder, place) in own.chain(users).chain(usual).chain(configured) {
        let from = folder.join(name);
        if from.is_file() && needed(&from).is_ok() {
            return Some(Library { from, place: plain(&format!("{place}/{name}")) });
        }
    }
    None
}

/// A place without its first slash, `.` and `..`.
fn plain(path: &str) -> Vec<u8> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/").into_bytes()
}

/// The folders that ld.so.conf(5) names, with those of the files that it includes.
fn configured() -> Vec<PathBuf> {
    let files = fs::read_dir("/etc/ld.so.conf.d").into_iter().flatten().flatten().map(|entry| entry.path());
    let files: BTreeSet<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|ending| ending.as_bytes() == b"conf")).collect();
    let texts = files.into_iter().chain(["/etc/ld.so.conf".into()]).filter_map(|path| fs::read_to_string(path).ok());
    let lines = texts.flat_map(|text| text.lines().map(str::trim).map(str::to_owned).collect::<Vec<_>>());
    lines.filter(|line| line.starts_with('/')).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_a_script_names_its_program() {
        for (line, wanted) in [
            ("/bin/sh -eu", Some("sh")),
            (" /usr/bin/env python3", Some("python3")),
            ("/usr/bin/env -S A=1 perl -w", Some("perl")),
            ("", None),
        ] {
            assert_eq!(interpreter(line).as_deref(), wanted, "{line:?}");
        }
    }

    #[test]
    fn libraries_beside_a_program_keep_their_place_to_it() {
        assert_eq!(plain("/test/bin/../lib//x.so"), b"test/lib/x.so");
        assert_eq!(plain("/../../x"), b"x");
    }

    #[test]
    fn a_program_for_another_processor_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tool");
        let mut bytes = fs::read("/proc/self/exe").unwrap();
        assert!(matches!(Program::read(Path::new("/proc/self/exe")).unwrap(), Program::Elf(_)));
        bytes[18..20].copy_from_slice(&EM_AARCH64.to_le_bytes());
        fs::write(&path, &bytes).unwrap();
        let error = Program::read(&path).err().unwrap().to_string();
        assert!(error.contains("is a program for 64-bit ARM, and guests have x86-64"), "{error}");
        fs::write(&path, &bytes[..100]).unwrap();
        assert!(Program::read(&path).err().unwrap().to_string().contains("is no sound ELF file"));
    }
}
