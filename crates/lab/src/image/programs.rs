//! Collects programs and the libraries they load from unpacked packages.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use mountmark_model::names;

use super::cpio::Archive;
use super::manifest::Manifest;
use super::packages::Package;
use super::tree::{Entry, Found, MERGED, Tree, from_root, place};

/// The place of all programs in a guest.
const PROGRAMS: &str = "usr/bin";
const BINARY_FOLDERS: [&str; 4] = ["usr/bin", "usr/sbin", "bin", "sbin"];
const LIBRARY_FOLDERS: [&str; 5] = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib", "lib", "lib64"];

/// What no program reads.
pub(super) const FOR_PEOPLE: [&str; 8] = [
    "usr/share/doc/",
    "usr/share/man/",
    "usr/share/info/",
    "usr/share/locale/",
    "usr/share/lintian/",
    "usr/share/bug/",
    "usr/share/doc-base/",
    "usr/share/bash-completion/",
];
/// Names that update-alternatives gives to the first of these that is there.
const ALTERNATIVES: [(&str, &str); 7] = [
    ("awk", "gawk"),
    ("awk", "mawk"),
    ("which", "which.debianutils"),
    ("cc", "gcc"),
    ("c++", "g++"),
    ("nc", "nc.openbsd"),
    ("vi", "vim.tiny"),
];

/// Adds programs to an archive, each with its libraries, all in /usr/bin and /usr/lib.
pub struct Programs<'a> {
    packages: Vec<(&'a Package, Manifest)>,
    tree: Tree,
    seen: BTreeSet<String>,
}

impl<'a> Programs<'a> {
    /// Programs of these packages.
    ///
    /// # Errors
    /// [`manifest::Damaged`](super::manifest::Damaged) if a package's manifest is.
    pub fn new(packages: &'a [Package]) -> Result<Programs<'a>> {
        let packages: Vec<(&Package, Manifest)> =
            packages.iter().map(|package| Ok((package, package.manifest()?))).collect::<Result<_>>()?;
        let tree = Tree::new(packages.iter().map(|(_, manifest)| manifest));
        Ok(Programs { packages, tree, seen: BTreeSet::new() })
    }

    pub(crate) fn add_package(&mut self, archive: &mut Archive, name: &str) -> Result<()> {
        let Some(index) = self.packages.iter().position(|(package, _)| package.name == name) else {
            bail!("the package {name} is not among those that were unpacked");
        };
        let names: Vec<String> =
            BINARY_FOLDERS.iter().flat_map(|folder| self.packages[index].1.names_in(folder)).collect();
        for name in names {
            // One that leads nowhere, such as a link of update-alternatives, is left out.
            self.add_file(archive, &format!("{PROGRAMS}/{name}"))?;
        }
        Ok(())
    }

    /// Adds the program `name`, or an error that no package has it. Some whole paths
    /// [keep their place](names::keeps_place).
    pub fn add(&mut self, archive: &mut Archive, name: &str) -> Result<()> {
        if names::keeps_place(name) {
            return self.add_in_place(archive, name);
        }
        let at = format!("{PROGRAMS}/{}", last(name));
        if self.add_file(archive, &at)? {
            return Ok(());
        }
        let names: Vec<&str> = self.packages.iter().map(|(package, _)| package.name.as_str()).collect();
        let link = self
            .tree
            .dangling(&at)
            .map(|target| format!(": there is a link of this name to /{target}, which none has"));
        bail!("no program {:?} in the packages {}{}", last(name), names.join(", "), link.unwrap_or_default());
    }

    /// Adds a file of a package, or all that packages have in a folder, with the libraries of programs and modules.
    fn add_in_place(&mut self, archive: &mut Archive, name: &str) -> Result<()> {
        let mut found = false;
        for at in self.tree.below(name) {
            // A link may lead out of its package.
            let Some((file, _)) = self.tree.resolve(&at) else { continue };
            let bytes = self.read(file)?;
            self.add_libraries(archive, &bytes)?;
            archive.file(&at, bytes, 0o755);
            found = true;
        }
        ensure!(found, "no package has the file {name}");
        Ok(())
    }

    /// Adds what is at a place, links with what they lead to; returns whether there is anything.
    fn add_file(&mut self, archive: &mut Archive, at: &str) -> Result<bool> {
        if archive.has(at) {
            return Ok(true);
        }
        let file = match self.tree.at(at) {
            Some(Entry::File(file)) => file,
            Some(Entry::Link(target)) => {
                let target = place(target);
                // A program beside it may be a link, too; elsewhere only the file matters.
                let (shown, target) = match target.rsplit_once('/') {
                    Some((PROGRAMS, name)) => (name.to_owned(), target.clone()),
                    _ => {
                        let (_, target) = self.tree.resolve(&target).with_context(|| format!("{at} leads nowhere"))?;
                        (format!("/{target}"), target)
                    }
                };
                archive.link(at, &shown);
                return self.add_file(archive, &target);
            }
            None => return Ok(false),
        };
        let bytes = self.read(file)?;
        self.add_libraries(archive, &bytes)?;
        archive.file(at, bytes, 0o755);
        Ok(true)
    }

    /// Adds every file of these packages, without what only people read.
    pub(crate) fn add_whole(&self, archive: &mut Archive, packages: &BTreeSet<String>) -> Result<()> {
        for (package, manifest) in self.packages.iter().filter(|(package, _)| packages.contains(&package.name)) {
            for (path, link) in
                manifest.all().filter(|(path, _)| !FOR_PEOPLE.iter().any(|folder| path.starts_with(folder)))
            {
                let at = place(path);
                // The folders that are one are links of the image; a program that is there is the same one.
                if archive.has(&at) || MERGED.iter().any(|(folder, _)| *folder == path) {
                    continue;
                }
                match link {
                    Some(target) => archive.link(&at, &format!("/{}", from_root(path, target))),
                    None => {
                        let bytes =
                            manifest.read(path).with_context(|| format!("a file of the package {}", package.name))?;
                        archive.file(&at, bytes, manifest.mode(path));
                    }
                }
            }
        }
        // What installing would link.
        for (name, target) in ALTERNATIVES {
            let (link, target) = (format!("{PROGRAMS}/{name}"), format!("{PROGRAMS}/{target}"));
            if !archive.has(&link) && archive.has(&target) {
                archive.link(&link, &format!("/{target}"));
            }
        }
        Ok(())
    }

    fn read(&self, (index, path): &Found) -> Result<Vec<u8>> {
        self.packages[*index].1.read(path)
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
            let path = self.find(&own, &name).with_context(|| format!("no package has the library {name}"))?;
            let target =
                if name.starts_with("ld-linux") { format!("usr/lib64/{name}") } else { format!("usr/lib/{name}") };
            if !self.seen.insert(target.clone()) {
                continue;
            }
            let (file, _) =
                self.tree.resolve(&path).with_context(|| format!("/{path} leads to no file of a package"))?;
            let library = self.read(file)?;
            self.add_libraries(archive, &library)?;
            archive.file(&target, library, 0o755);
        }
        Ok(())
    }

    /// The first package's file or link of this name in one of these folders.
    fn find(&self, folders: &[&str], name: &str) -> Option<String> {
        let manifests = self.packages.iter().map(|(_, manifest)| manifest);
        let paths =
            manifests.flat_map(|manifest| folders.iter().map(move |folder| (manifest, format!("{folder}/{name}"))));
        paths.into_iter().find_map(|(manifest, path)| manifest.has(&path).then_some(path))
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
        for name in ["sound", "/usr/bin/sound", "/usr/share/data/sound", "/usr/share/data/near", "/usr/lib/deep"] {
            programs.add(&mut archive, name).unwrap();
        }
        assert!(archive.has("usr/lib/deep/er/module") && !archive.has("usr/lib/deeper"));
        for name in [
            "far",
            "/usr/share/../../../secret",
            "/usr/share/data/far",
            "/usr/share/folder/secret",
            "..",
            "/usr/share/",
            "",
        ] {
            assert!(programs.add(&mut archive, name).is_err(), "{name}");
        }
        assert!(!archive.to_bytes().windows(11).any(|bytes| bytes == b"of the host"));
    }
}
