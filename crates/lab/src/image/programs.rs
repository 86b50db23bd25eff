//! Collects programs and the libraries they load from unpacked packages.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use mountmark_model::names;

use super::cpio::Archive;
use super::manifest::Manifest;
use super::packages::Package;

const BINARY_FOLDERS: [&str; 4] = ["usr/bin", "usr/sbin", "bin", "sbin"];
const LIBRARY_FOLDERS: [&str; 5] = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib", "lib", "lib64"];

/// Adds programs to an archive, each with its libraries, all in /usr/bin and /usr/lib.
pub struct Programs<'a> {
    packages: Vec<(&'a Package, Manifest)>,
    seen: BTreeSet<String>,
}

/// A file or link of a package: the package's index, and the path below its folder.
type Found = (usize, String);

impl<'a> Programs<'a> {
    /// Programs of these packages.
    ///
    /// # Errors
    /// [`manifest::Damaged`](super::manifest::Damaged) if a package's manifest is.
    pub fn new(packages: &'a [Package]) -> Result<Programs<'a>> {
        let packages = packages.iter().map(|package| Ok((package, package.manifest()?)));
        Ok(Programs { packages: packages.collect::<Result<_>>()?, seen: BTreeSet::new() })
    }

    pub(crate) fn add_package(&mut self, archive: &mut Archive, name: &str) -> Result<()> {
        let Some(index) = self.packages.iter().position(|(package, _)| package.name == name) else {
            bail!("the package {name} is not among those that were unpacked");
        };
        for folder in BINARY_FOLDERS {
            for name in self.packages[index].1.names_in(folder) {
                self.add_file(archive, (index, format!("{folder}/{name}")))?;
            }
        }
        Ok(())
    }

    /// Adds the program `name`, or an error that no package has it. Some whole paths
    /// [keep their place](names::keeps_place).
    pub fn add(&mut self, archive: &mut Archive, name: &str) -> Result<()> {
        if names::keeps_place(name) {
            return self.add_in_place(archive, name);
        }
        let name = name.rsplit('/').next().unwrap_or(name);
        let Some(found) = self.find(&BINARY_FOLDERS, name) else {
            let names: Vec<&str> = self.packages.iter().map(|(package, _)| package.name.as_str()).collect();
            bail!("no program {name:?} in the packages {}", names.join(", "));
        };
        self.add_file(archive, found)
    }

    /// Adds a file of a package, or all that packages have in a folder, with the libraries of programs and modules.
    fn add_in_place(&mut self, archive: &mut Archive, name: &str) -> Result<()> {
        let path = name.trim_start_matches('/');
        let packages = self.packages.iter().enumerate();
        let below: Vec<Found> = packages
            .flat_map(|(index, (_, manifest))| manifest.at_or_below(path).map(move |path| (index, path.to_owned())))
            .collect();
        let mut found = false;
        for (index, path) in below {
            let manifest = &self.packages[index].1;
            // A link may lead out of its package.
            let Some(file) = manifest.resolve(&path) else { continue };
            let bytes = manifest.read(&file)?;
            self.add_libraries(archive, &bytes)?;
            archive.file(&path, bytes, 0o755);
            found = true;
        }
        ensure!(found, "no package has the file {name}");
        Ok(())
    }

    fn add_file(&mut self, archive: &mut Archive, (index, path): Found) -> Result<()> {
        let target = format!("usr/bin/{}", last(&path));
        if archive.has(&target) {
            return Ok(());
        }
        let manifest = &self.packages[index].1;
        if let Some(link) = manifest.link(&path) {
            let pointed = last(link).to_owned();
            archive.link(&target, &pointed);
            // A link out of its package, such as one of update-alternatives, may have no target here.
            return match self.find(&BINARY_FOLDERS, &pointed) {
                Some(found) => self.add_file(archive, found),
                None => Ok(()),
            };
        }
        let bytes = manifest.read(&path)?;
        self.add_libraries(archive, &bytes)?;
        archive.file(&target, bytes, 0o755);
        Ok(())
    }

    /// Adds the libraries that an ELF file loads at start; scripts load none.
    pub(crate) fn add_libraries(&mut self, archive: &mut Archive, bytes: &[u8]) -> Result<()> {
        if !bytes.starts_with(b"\x7fELF") {
            return Ok(());
        }
        let elf = goblin::elf::Elf::parse(bytes).context("a program is no sound ELF file")?;
        let interpreter = elf.interpreter.map(|path| last(path).to_owned());
        let folders: Vec<String> = elf
            .runpaths
            .iter()
            .chain(&elf.rpaths)
            .flat_map(|paths| paths.split(':'))
            .map(|path| path.trim_start_matches('/').to_owned())
            .collect();
        for name in elf.libraries.iter().map(|name| (*name).to_owned()).chain(interpreter) {
            let own: Vec<&str> = folders.iter().map(String::as_str).chain(LIBRARY_FOLDERS).collect();
            let (index, path) = self.find(&own, &name).with_context(|| format!("no package has the library {name}"))?;
            let target =
                if name.starts_with("ld-linux") { format!("usr/lib64/{name}") } else { format!("usr/lib/{name}") };
            if !self.seen.insert(target.clone()) {
                continue;
            }
            let manifest = &self.packages[index].1;
            let path = manifest.resolve(&path).with_context(|| format!("{path} leads nowhere in its package"))?;
            let library = manifest.read(&path)?;
            self.add_libraries(archive, &library)?;
            archive.file(&target, library, 0o755);
        }
        Ok(())
    }

    fn find(&self, folders: &[&str], name: &str) -> Option<Found> {
        let packages = self.packages.iter().enumerate();
        packages
            .flat_map(|(index, (_, manifest))| folders.iter().map(move |folder| (index, manifest, folder)))
            .map(|(index, manifest, folder)| (index, manifest, format!("{folder}/{name}")))
            .find_map(|(index, manifest, path)| manifest.has(&path).then_some((index, path)))
    }
}

/// The part after the last slash.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_of_this_machine_gets_into_a_guest() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        fs::write(&secret, "of the host").unwrap();
        let package = Package { name: "one".into(), version: "1".into(), folder: folder.path().join("one") };
        let path = |name: &str| package.folder.join(name);
        fs::create_dir_all(path("usr/bin")).unwrap();
        fs::create_dir_all(path("usr/share/data")).unwrap();
        fs::write(path("usr/bin/sound"), "#!/bin/sh\n").unwrap();
        fs::write(path("usr/share/data/sound"), "data").unwrap();
        symlink("sound", path("usr/share/data/near")).unwrap();
        symlink(&secret, path("usr/share/data/far")).unwrap();
        symlink(&secret, path("usr/bin/far")).unwrap();
        fs::create_dir_all(path("usr/lib/deep/er")).unwrap();
        symlink(&secret, path("usr/lib/deep/far")).unwrap();
        fs::write(path("usr/lib/deep/er/module"), "data").unwrap();
        fs::write(path("usr/lib/deeper"), "another").unwrap();
        symlink(folder.path(), path("usr/share/folder")).unwrap();
        Manifest::write(&package.folder).unwrap();
        let packages = [package];
        let (mut programs, mut archive) = (Programs::new(&packages).unwrap(), Archive::default());
        // In the guest a link out of its package is a dangling link.
        for name in ["sound", "/usr/bin/sound", "far", "/usr/share/data/sound", "/usr/share/data/near", "/usr/lib/deep"]
        {
            programs.add(&mut archive, name).unwrap();
        }
        assert!(archive.has("usr/lib/deep/er/module") && !archive.has("usr/lib/deeper"));
        for name in
            ["/usr/share/../../../secret", "/usr/share/data/far", "/usr/share/folder/secret", "..", "/usr/share/", ""]
        {
            assert!(programs.add(&mut archive, name).is_err(), "{name}");
        }
        assert!(!archive.to_bytes().windows(11).any(|bytes| bytes == b"of the host"));
    }
}
