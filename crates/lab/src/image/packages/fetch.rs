//! Fetches packages from the mirror into the cache: completely or not at all, each with its manifest.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use rustix::fs::{CWD, RenameFlags};

use super::ask::{FETCHING, last_lines, said};
use super::{Package, Packages};
use crate::cache::lock::Scratch;
use crate::cache::{self, Lock};
use crate::child;
use crate::image::manifest::{Damaged, Manifest};
use crate::image::{apt, unpack};

impl Packages {
    /// Fetches a package unless all its files exist in their sizes; `bytes` is the size of the download, 0 if unknown.
    pub(super) fn fetch_unless_whole(&self, package: &Package, bytes: u64) -> Result<()> {
        let is_whole = || Manifest::open(&package.folder).is_some_and(|manifest| manifest.check_sizes().is_ok());
        if is_whole() {
            return Ok(());
        }
        let _lock = Lock::take(&self.cache.join("closures/all"))?;
        if is_whole() { Ok(()) } else { self.fetch(&[(package.clone(), bytes)]) }
    }

    /// Fetches a package again, in the same version, because a file was lost or changed.
    ///
    /// # Errors
    /// What is damaged, why it cannot be fetched, and the remedy.
    pub fn mend(&self, damaged: &Damaged) -> Result<()> {
        let _lock = Lock::take(&self.cache.join("closures/all"))?;
        let is_mended =
            || Manifest::open(&damaged.folder).is_some_and(|it| it.read(&damaged.path.to_string_lossy()).is_ok());
        // Another run may have mended it while this one waited.
        if is_mended() {
            return Ok(());
        }
        let stem = damaged.folder.file_name().unwrap_or_default().to_string_lossy();
        let Some((name, version)) = apt::parts(&stem) else { bail!(damaged.clone()) };
        let package = Package { name, version, folder: damaged.folder.clone() };
        let package = [(package, 0)];
        let Err(error) = self.fetch(&package) else { return Ok(()) };
        // A kernel may be of another suite than the rest, and a module of a release's backports.
        let is_elsewhere = |place: Packages| place.fetch(&package).is_ok();
        if !child::is_interrupted() && self.others().into_iter().any(is_elsewhere) {
            return Ok(());
        }
        Err(error).with_context(|| damaged.to_string())
    }

    /// Fetches and unpacks packages, each with the size of its download in bytes, 0 if unknown; replaces old ones. The
    /// caller holds the lock on all of them.
    pub(super) fn fetch(&self, wanted: &[(Package, u64)]) -> Result<()> {
        if wanted.is_empty() {
            return Ok(());
        }
        let packages = self.cache.join("packages");
        cache::make_folder(&packages)?;
        self.fetch_lists()?;
        let what = match wanted {
            [(one, _)] => format!("the Debian package {}", one.name),
            _ => format!("{} Debian packages", wanted.len()),
        };
        // Unpacked they take at least as much as packed, and for a while both exist.
        let needed = wanted.iter().map(|(_, bytes)| bytes * 2).sum::<u64>();
        cache::need_room(&packages, needed, &what)?;
        let scratch = Scratch::new_in(&packages, ".tmp")?;
        let unpacked = self.download_and_unpack(scratch.path(), wanted).map_err(|error| {
            let is_interrupted = child::is_interrupted();
            if !is_interrupted && (cache::is_no_space(&error) || cache::is_full(&packages)) {
                return cache::no_space(&packages, Some(needed).filter(|bytes| *bytes > 0), &what);
            }
            error
        });
        unpacked?;
        // An empty program would run without an error, so the files must be on disk before their names are.
        let opened = fs::File::open(&packages).with_context(|| format!("cannot open {}", packages.display()))?;
        rustix::fs::syncfs(&opened).with_context(|| format!("cannot write to {}", packages.display()))?;
        wanted.iter().try_for_each(|(package, _)| put(&scratch.path().join(&package.name), &package.folder))
    }

    /// Unpacks each package into a folder of its name in `scratch`, with its manifest.
    fn download_and_unpack(&self, scratch: &Path, wanted: &[(Package, u64)]) -> Result<()> {
        // apt-get download drops to the user _apt if it can; in a folder of root's it warns and goes on.
        let names: Vec<String> =
            wanted.iter().map(|(package, _)| format!("{}={}", package.name, package.version)).collect();
        let mut command = self.command("apt-get", self.lists());
        command.args(["download", "-q", "--"]).args(&names).current_dir(scratch);
        let output = said(&mut command, FETCHING)?;
        if !output.status.success() {
            bail!("{}", self.why_not(wanted, &last_lines(&output.stderr, 3)));
        }
        for (package, _) in wanted {
            let mut file = package.folder.file_name().unwrap_or_default().to_os_string();
            file.push(".deb");
            let (deb, tree) = (scratch.join(file), scratch.join(&package.name));
            unpack::unpack(&deb, &tree)?;
            let _ = fs::remove_file(&deb);
            Manifest::write(&tree)?;
        }
        Ok(())
    }

    /// Why packages could not be fetched, from apt-get's output.
    fn why_not(&self, wanted: &[(Package, u64)], said: &str) -> String {
        let named = |package: &Package| format!("{} {}", package.name, package.version);
        let gone = |package: &&(Package, u64)| {
            said.contains(&format!("'{}'", package.0.version)) && said.contains("not found")
        };
        if let Some((package, _)) = wanted.iter().find(gone) {
            return format!(
                "the Debian package {}, which this cache was made with, is no longer on the mirror: remove {}, and \
                 the next run takes the present versions of all packages, or give it a cache that has this one ({said})",
                named(package),
                self.cache.join("closures").display()
            );
        }
        let names: Vec<String> = wanted.iter().map(|(package, _)| named(package)).collect();
        let mend = match said.contains("404") {
            true => format!(
                "; the package lists are older than the mirror: remove {}, so that they are fetched again",
                self.fetched().display()
            ),
            false => String::new(),
        };
        format!(
            "cannot download the Debian package{} {}: {said}{mend}",
            if names.len() == 1 { "" } else { "s" },
            names.join(", ")
        )
    }
}

/// Moves an unpacked package to its place, and replaces an old one there. Readers meanwhile find either.
fn put(tree: &Path, folder: &Path) -> Result<()> {
    use rustix::io::Errno;
    let failed = || format!("cannot keep {}", folder.display());
    match rustix::fs::renameat_with(CWD, tree, CWD, folder, RenameFlags::EXCHANGE) {
        // The old one is deleted with the temporary folder.
        Ok(()) => Ok(()),
        Err(Errno::NOENT | Errno::INVAL | Errno::NOSYS) => {
            let _ = fs::remove_dir_all(folder);
            fs::rename(tree, folder).with_context(failed)
        }
        Err(error) => Err(error).with_context(failed),
    }
}
