//! The guest's initramfs: its program as init, and the kernel modules and programs that one configuration needs.
//!
//! An image holds only what its own file system and suite need, so that adding a configuration to a plan cannot change
//! the memory, and so the figures, of another. Images are cached by their inputs. This folder does not know how a guest
//! is started.

mod apt;
pub(crate) mod cpio;
pub(crate) mod dkms;
mod guest_program;
pub mod kernel;
mod manifest;
pub(crate) mod modules;
pub mod packages;
mod programs;
mod sources;
#[cfg(test)]
mod tests;
mod tree;
mod unpack;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mountmark_job::MODULES_FILE;
use serde::{Deserialize, Serialize};

use crate::cache;
use cpio::Archive;
use dkms::Built;
pub(crate) use guest_program::GuestProgram;
use kernel::Kernel;
use manifest::Damaged;
use modules::ModuleTree;
use packages::Packages;
use programs::Programs;

/// Packages whose programs every guest has, for the shell commands of suites.
const BASE_PACKAGES: [&str; 6] = ["coreutils", "dash", "findutils", "grep", "gzip", "sed"];
/// Further programs that every guest has.
const BASE_PROGRAMS: [(&str, &str); 5] =
    [("bash", "bash"), ("tar", "tar"), ("mount", "mount"), ("mount", "umount"), ("util-linux", "blockdev")];

/// The archive's file; `image.json` beside it describes it.
const ARCHIVE: &str = "initramfs.cpio";

/// Some 30 images. Once its snapshot is made an image is needed only to boot another machine.
const KEEP: cache::Keep = cache::Keep::at_most(2 << 30);

/// Contents of an image.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Debian packages beyond the base.
    pub packages: Vec<String>,
    /// Programs of those packages, by name.
    pub programs: Vec<String>,
    /// Packages of which every file is there, and of what they depend on.
    pub whole_packages: Vec<String>,
    /// Kernel modules with their parameters (`nbd nbds_max=2`); `?` before an optional one.
    pub modules: Vec<String>,
    /// Packages that come from this machine's release of Debian with its backports, and its component beside main.
    pub released: Option<Released>,
    /// Modules that are no part of the kernel.
    pub(crate) built: Option<Built>,
    /// A tar of what a user brings into the guest's memory, each file at its place.
    pub brought: Option<PathBuf>,
}

/// Packages of this machine's release of Debian with its backports.
#[derive(Clone, Debug, PartialEq)]
pub struct Released {
    /// As [`mountmark_model::FileSystem::component`].
    pub component: Option<String>,
    pub packages: Vec<String>,
}

impl Wanted {
    /// The modules without their parameters.
    fn module_names(&self) -> Vec<String> {
        self.modules.iter().map(|entry| entry.split(' ').next().unwrap_or(entry).to_owned()).collect()
    }
}

/// An initramfs in the cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Image {
    /// The archive. Its path is not stored, so that a cache can be moved.
    #[serde(skip)]
    pub path: PathBuf,
    /// Of the archive.
    pub sha256: String,
    /// Bytes of guest memory that the unpacked archive takes.
    pub unpacked_bytes: u64,
    /// Versions of the packages it was made from.
    pub packages: BTreeMap<String, String>,
    /// Names of its programs; empty if an older version made it.
    #[serde(default)]
    pub programs: Vec<String>,
}

pub struct Builder<'a> {
    cache: &'a Path,
    kernel: &'a Kernel,
    tree: ModuleTree,
    program: &'static GuestProgram,
}

impl<'a> Builder<'a> {
    /// A builder of images for `kernel`, with the guest's program as their init.
    pub fn new(cache: &'a Path, kernel: &'a Kernel) -> Result<Builder<'a>> {
        Ok(Builder { cache, kernel, tree: ModuleTree::open(kernel)?, program: GuestProgram::get()? })
    }

    /// The image with these contents, from the cache if it is there and intact.
    pub fn build(&self, wanted: &Wanted) -> Result<Image> {
        let mut names: Vec<String> = BASE_PACKAGES.iter().map(|name| (*name).to_owned()).collect();
        names.extend(BASE_PROGRAMS.iter().map(|(package, _)| (*package).to_owned()));
        names.extend(wanted.packages.iter().chain(&wanted.whole_packages).cloned());
        let kept = Packages::new(self.cache);
        let mut packages = kept.closure(&names)?;
        if let Some(released) = &wanted.released {
            let place = kept.of_own_release(released.component.as_deref())?;
            let more = place.closure(&released.packages)?;
            let known: BTreeSet<String> = packages.iter().map(|package| package.name.clone()).collect();
            packages.extend(more.into_iter().filter(|package| !known.contains(&package.name)));
        }
        let versions = packages::versions(&packages);
        let mut parts = vec![self.program.sha256.clone(), self.kernel.release.clone(), self.kernel.version.clone()];
        if self.kernel.version.is_empty() {
            // Any module of a kernel given by path may have been rebuilt; those of a package never change.
            let modules = self.tree.resolve(&wanted.module_names())?;
            parts.extend(modules.iter().map(|module| cache::sha256(&module.bytes)));
        }
        parts.extend(versions.iter().map(|(name, version)| format!("{name}={version}")));
        parts.extend(wanted.programs.iter().cloned());
        parts.extend(wanted.modules.iter().cloned());
        // Images without any keep their names.
        parts.extend(wanted.whole_packages.iter().map(|name| format!("whole {name}")));
        parts.extend(wanted.built.iter().map(|built| format!("built {}", built.sha256())));
        if let Some(tar) = &wanted.brought {
            let hash = cache::sha256_file(tar).with_context(|| format!("cannot read {}", tar.display()))?;
            parts.push(format!("brought {hash}"));
        }
        let folder = self.cache.join("images").join(cache::key(parts.iter().map(String::as_str)));
        let _lock = cache::Lock::take(&folder)?;
        if let Some(image) = load(&folder) {
            return Ok(image);
        }
        let archive = self.sound_archive(wanted, &packages, &kept)?;
        let bytes = archive.to_bytes();
        let path = folder.join(ARCHIVE);
        cache::write_whole(&path, &bytes).with_context(|| {
            format!("the cache {} lacks the image of a guest, which cannot be made there", self.cache.display())
        })?;
        let mut versions = versions;
        versions.extend(wanted.built.iter().flat_map(|built| built.packages.clone()));
        let image = Image {
            sha256: cache::sha256(&bytes),
            unpacked_bytes: archive.unpacked_bytes(),
            packages: versions,
            path,
            programs: archive.names_in("usr/bin"),
        };
        cache::write_whole(&folder.join("image.json"), &serde_json::to_vec_pretty(&image)?)?;
        cache::prune(&self.cache.join("images"), "image.json", &KEEP);
        Ok(image)
    }

    /// The archive with these contents. Packages with a lost or changed file are fetched again, each once.
    fn sound_archive(&self, wanted: &Wanted, packages: &[packages::Package], kept: &Packages) -> Result<Archive> {
        let mut mended = BTreeSet::new();
        loop {
            let error = match self.archive(wanted, packages) {
                Ok(archive) => return Ok(archive),
                Err(error) => error,
            };
            match error.downcast_ref::<Damaged>() {
                Some(damaged) if mended.insert(damaged.clone()) => kept.mend(damaged)?,
                _ => return Err(error),
            }
        }
    }

    fn archive(&self, wanted: &Wanted, packages: &[packages::Package]) -> Result<Archive> {
        let mut archive = Archive::default();
        for folder in ["dev", "etc", "proc", "run", "sys", "tmp", "test", "source", "usr/bin", "usr/lib", "usr/lib64"] {
            archive.folder(folder);
        }
        for (link, target) in tree::MERGED {
            archive.link(link, target);
        }
        archive.link("etc/mtab", "/proc/self/mounts");
        archive.link("usr/bin/sh", "dash");
        // Without these two, a program started before /dev is mounted has no standard streams.
        archive.character("dev/console", 5, 1);
        archive.character("dev/null", 1, 3);
        archive.file("etc/passwd", b"root:x:0:0:root:/:/bin/sh\n".to_vec(), 0o644);
        archive.file("etc/group", b"root:x:0:\n".to_vec(), 0o644);
        archive.file("etc/hosts", b"127.0.0.1 localhost\n".to_vec(), 0o644);
        let mut programs = Programs::new(packages)?;
        for package in BASE_PACKAGES {
            programs.add_package(&mut archive, package)?;
        }
        for name in BASE_PROGRAMS.iter().map(|(_, program)| *program).chain(wanted.programs.iter().map(String::as_str))
        {
            programs.add(&mut archive, name)?;
        }
        if !wanted.whole_packages.is_empty() {
            let all = Packages::new(self.cache).closure(&wanted.whole_packages)?;
            programs.add_whole(&mut archive, &all.into_iter().map(|package| package.name).collect())?;
        }
        if let Some(tar) = &wanted.brought {
            add_brought(&mut archive, tar).with_context(|| format!("cannot read {}", tar.display()))?;
        }
        // A static program has no libraries; a dynamic one needs its own.
        programs.add_libraries(&mut archive, &self.program.bytes)?;
        archive.file("init", self.program.bytes.clone(), 0o755);
        let mut order = String::new();
        let modules = wanted.built.as_ref().map(Built::modules).unwrap_or_default();
        for module in self.tree.resolve_with(&modules, &wanted.module_names())? {
            let path = format!("usr/lib/modules/{}.ko", module.name);
            let parameters = wanted.modules.iter().find_map(|entry| {
                let (name, parameters) = entry.trim_start_matches('?').split_once(' ')?;
                (name.replace('-', "_") == module.name).then_some(parameters)
            });
            order += &format!("{}/{path} {}", if module.optional { "?" } else { "" }, parameters.unwrap_or(""));
            order = order.trim_end().to_owned() + "\n";
            archive.file(&path, module.bytes, 0o644);
        }
        archive.file(MODULES_FILE.trim_start_matches('/'), order.into_bytes(), 0o644);
        Ok(archive)
    }
}

impl Image {
    /// Marks the image as in use, so that it stays in the cache for a while.
    pub(crate) fn mark_used(&self) {
        cache::mark_used(&self.path.with_file_name("image.json"));
    }
}

/// Adds what a user brings. What the guest has already stays: its own programs need it as it is.
fn add_brought(archive: &mut Archive, tar: &Path) -> Result<()> {
    for entry in tar::Archive::new(BufReader::new(File::open(tar)?)).entries()? {
        let mut entry = entry?;
        let path = String::from_utf8(entry.path_bytes().into_owned()).context("a name is not UTF-8")?;
        let path = tree::place(path.trim_end_matches('/'));
        if archive.has(&path) {
            continue;
        }
        let mode = entry.header().mode()?;
        match entry.header().entry_type() {
            tar::EntryType::Directory => archive.folder(&path),
            tar::EntryType::Symlink => {
                let target = entry.link_name()?.context("a link without a target")?;
                archive.link(&path, target.to_str().context("a name is not UTF-8")?);
            }
            tar::EntryType::Regular => {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes)?;
                archive.file(&path, bytes, mode & 0o777);
            }
            _ => {}
        }
    }
    Ok(())
}

/// The image in `folder`, unless a part is missing or its contents have changed. It is read completely: 40 MB take 30
/// ms, and a guest booted from a damaged image may survive.
fn load(folder: &Path) -> Option<Image> {
    let described: Image = serde_json::from_slice(&fs::read(folder.join("image.json")).ok()?).ok()?;
    let image = Image { path: folder.join(ARCHIVE), ..described };
    if cache::sha256_file(&image.path).ok()? != image.sha256 {
        return None;
    }
    image.mark_used();
    Some(image)
}
