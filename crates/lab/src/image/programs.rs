//! Programs and the libraries they load, out of unpacked packages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::cpio::Archive;
use super::packages::Package;

const BINARY_FOLDERS: [&str; 4] = ["usr/bin", "usr/sbin", "bin", "sbin"];
const LIBRARY_FOLDERS: [&str; 5] = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib", "lib", "lib64"];

/// Adds programs to an archive, each with what it needs, all in /usr/bin and /usr/lib.
pub struct Programs<'a> {
    packages: &'a [Package],
    seen: BTreeSet<PathBuf>,
}

impl<'a> Programs<'a> {
    /// Programs of these packages.
    pub fn new(packages: &'a [Package]) -> Programs<'a> {
        Programs { packages, seen: BTreeSet::new() }
    }

    /// Adds every program of the package `name`.
    pub fn add_package(&mut self, archive: &mut Archive, name: &str) -> Result<()> {
        let Some(package) = self.packages.iter().find(|package| package.name == name) else {
            bail!("the package {name} is not among those that were unpacked");
        };
        for folder in BINARY_FOLDERS {
            let Ok(entries) = fs::read_dir(package.folder.join(folder)) else { continue };
            let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            paths.sort();
            for path in paths {
                self.add_file(archive, &path)?;
            }
        }
        Ok(())
    }

    /// Adds the program `name`, or says that no package has it. A whole path below /usr/share is a program's data, and
    /// added where it belongs.
    pub fn add(&mut self, archive: &mut Archive, name: &str) -> Result<()> {
        if let Some(path) = name.strip_prefix('/').filter(|path| path.starts_with("usr/share/")) {
            let found = self.packages.iter().map(|package| package.folder.join(path)).find(|path| path.is_file());
            let found = found.with_context(|| format!("no package has the file {name}"))?;
            archive.file(path, fs::read(&found).with_context(|| format!("cannot read {}", found.display()))?, 0o644);
            return Ok(());
        }
        let name = name.rsplit('/').next().unwrap_or(name);
        let Some(path) = self.find(&BINARY_FOLDERS, name) else {
            let names: Vec<&str> = self.packages.iter().map(|package| package.name.as_str()).collect();
            bail!("no program {name:?} in the packages {}", names.join(", "));
        };
        self.add_file(archive, &path)
    }

    fn add_file(&mut self, archive: &mut Archive, path: &Path) -> Result<()> {
        let name = path.file_name().context("a program has a name")?.to_string_lossy().into_owned();
        let target = format!("usr/bin/{name}");
        if archive.has(&target) || fs::symlink_metadata(path).is_ok_and(|data| data.is_dir()) {
            return Ok(());
        }
        if let Ok(link) = fs::read_link(path) {
            let pointed = link.file_name().context("a link points at something")?.to_string_lossy().into_owned();
            archive.link(&target, &pointed);
            // A link out of its package, such as one that update-alternatives keeps, may lead nowhere here.
            return match self.find(&BINARY_FOLDERS, &pointed) {
                Some(found) => self.add_file(archive, &found),
                None => Ok(()),
            };
        }
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        self.add_libraries(archive, &bytes)?;
        archive.file(&target, bytes, 0o755);
        Ok(())
    }

    /// Adds what an ELF file loads at start; scripts load nothing.
    pub fn add_libraries(&mut self, archive: &mut Archive, bytes: &[u8]) -> Result<()> {
        if !bytes.starts_with(b"\x7fELF") {
            return Ok(());
        }
        let elf = goblin::elf::Elf::parse(bytes).context("a program is no sound ELF file")?;
        let interpreter = elf.interpreter.map(|path| path.rsplit('/').next().unwrap_or(path).to_owned());
        let folders: Vec<String> = elf
            .runpaths
            .iter()
            .chain(&elf.rpaths)
            .flat_map(|paths| paths.split(':'))
            .map(|path| path.trim_start_matches('/').to_owned())
            .collect();
        for name in elf.libraries.iter().map(|name| (*name).to_owned()).chain(interpreter) {
            let own: Vec<&str> = folders.iter().map(String::as_str).chain(LIBRARY_FOLDERS).collect();
            let path = self.find(&own, &name).with_context(|| format!("no package has the library {name}"))?;
            let path = fs::canonicalize(&path).with_context(|| format!("{} leads nowhere", path.display()))?;
            let target =
                if name.starts_with("ld-linux") { format!("usr/lib64/{name}") } else { format!("usr/lib/{name}") };
            if !self.seen.insert(PathBuf::from(&target)) {
                continue;
            }
            let library = fs::read(&path)?;
            self.add_libraries(archive, &library)?;
            archive.file(&target, library, 0o755);
        }
        Ok(())
    }

    fn find(&self, folders: &[&str], name: &str) -> Option<PathBuf> {
        self.packages
            .iter()
            .flat_map(|package| folders.iter().map(move |folder| package.folder.join(folder).join(name)))
            .find(|path| fs::symlink_metadata(path).is_ok())
    }
}
