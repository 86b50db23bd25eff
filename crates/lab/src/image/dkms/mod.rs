//! Kernel modules that are built from a Debian package of their source (`-dkms`): once for a kernel, into the cache.
//!
//! A build sees only packages of Debian's archive: compiler, headers and source are unpacked into a root folder of their own, so
//! that this machine needs no compiler and the same packages make the same modules everywhere. It runs as this user, in name spaces
//! without the machine's files, processes and network, and without any right of root's.

mod confined;
mod log;
mod recipe;
mod root;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::kernel::Kernel;
use super::manifest::Damaged;
use super::modules;
use super::packages::{self, Package, Packages};
use crate::cache::{self, Lock, lock::Scratch};
use recipe::Recipe;

/// The file of an entry that is written last.
const LAST: &str = "module.json";
/// Bytes for a root folder with a compiler, and for what is built in it.
const ROOM: u64 = 1 << 30;
/// Raised when a build goes another way.
const VERSION: &str = "1";
/// Bytes of a module at most.
const MOST: u64 = 256 << 20;

/// Modules that are to be built from a package of source.
pub(crate) struct Dkms<'a> {
    pub cache: &'a Path,
    pub kernel: &'a Kernel,
    /// The package.
    pub source: &'a str,
    /// The component of Debian's archive that has it, beside main.
    pub component: Option<&'a str>,
}

/// Modules in the cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Built {
    /// Where they are.
    #[serde(skip)]
    folder: PathBuf,
    /// SHA-256 of each file, by name.
    files: BTreeMap<String, String>,
    /// Versions of the packages of source, headers and compiler that they were made of.
    pub packages: BTreeMap<String, String>,
}

impl Built {
    /// Modules as they lie in a folder of the cache, if all are there as they were.
    fn load(folder: &Path) -> Option<Built> {
        let described: Built = serde_json::from_slice(&fs::read(folder.join(LAST)).ok()?).ok()?;
        let is_whole = |(name, sha256): (&String, &String)| {
            !name.contains('/') && cache::sha256_file(&folder.join(name)).is_ok_and(|found| found == *sha256)
        };
        described.files.iter().all(is_whole).then(|| Built { folder: folder.to_owned(), ..described })
    }

    /// The file of each module, by its name with underscores.
    pub(crate) fn modules(&self) -> BTreeMap<String, PathBuf> {
        let name = |file: &str| file.split(".ko").next().unwrap_or_default().replace('-', "_");
        self.files.keys().map(|file| (name(file), self.folder.join(file))).collect()
    }

    /// What tells these modules from all others.
    pub(crate) fn sha256(&self) -> String {
        let parts = self.files.iter().flat_map(|(name, sha256)| [name.as_str(), sha256.as_str()]);
        cache::sha256(parts.collect::<Vec<_>>().join(" ").as_bytes())
    }
}

impl Dkms<'_> {
    /// Why the modules cannot be built, as far as that is known without building them.
    ///
    /// # Errors
    /// The same: lists that cannot be fetched, no headers, no name spaces, a build that failed before.
    pub(crate) fn foresee(&self) -> Result<()> {
        if let Some(reason) = self.failed_before(None) {
            return Err(reason);
        }
        self.recipe()?;
        confined::check()
    }

    /// The modules, from the cache if they are there and intact.
    ///
    /// # Errors
    /// As [`Dkms::foresee`]; packages that cannot be fetched; what the compiler said last, with the path of the log.
    pub(crate) fn get(&self) -> Result<Built> {
        let recipe = self.recipe()?;
        let packages = recipe.packages(self.cache)?;
        let folder = self.folder().join(self.key(&packages));
        let _lock = Lock::take(&folder)?;
        if let Some(built) = Built::load(&folder) {
            return Ok(built);
        }
        let key = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(reason) = self.failed_before(Some(&key)) {
            return Err(reason);
        }
        confined::check()?;
        cache::make_folder(&self.folder())?;
        let what = format!("the modules of {}", self.source);
        cache::need_room(&self.folder(), ROOM, &what)?;
        eprintln!(
            "mountmark: building {what} for kernel {}: some minutes, once (log: {})",
            self.kernel.release,
            self.log().display()
        );
        let scratch = Scratch::new_in(&self.folder(), ".tmp")?;
        let root = scratch.path().join("root");
        recipe.make_root(&root, &packages, self.cache)?;
        let said = confined::build(&root, &recipe.folder(&packages)?, &self.kernel.release)?;
        cache::write_whole(&self.log(), said.log.as_bytes())?;
        if !said.is_done {
            return Err(self.failed(&key, &said.log));
        }
        let made = scratch.path().join("made");
        self.keep(&root.join("out"), &made, &packages)?;
        let _ = fs::remove_dir_all(&folder);
        fs::rename(&made, &folder).with_context(|| format!("cannot keep {}", folder.display()))?;
        let _ = fs::remove_file(self.note());
        Built::load(&folder).with_context(|| format!("{} was changed while it was written", folder.display()))
    }

    /// How it is built, noted the first time.
    fn recipe(&self) -> Result<Recipe> {
        ensure!(
            !self.kernel.version.is_empty(),
            "its module is built from Debian's package {} with the headers of a kernel of Debian's, and kernel {} is given by path: \
             choose one of Debian's (--kernel 6.12), or have the module among those of --kernel IMAGE,MODULES",
            self.source,
            self.kernel.release
        );
        Recipe::get(self)
    }

    fn folder(&self) -> PathBuf {
        self.cache.join("modules")
    }

    /// A file of these modules whatever they are made of.
    fn file(&self, ending: &str) -> PathBuf {
        self.folder().join(format!("{}-{}{ending}", self.source, self.kernel.release))
    }

    fn log(&self) -> PathBuf {
        self.file(".log")
    }

    /// Where a failure is noted, so that it does not take minutes again: how it was built, the key, and the reason.
    fn note(&self) -> PathBuf {
        self.file(".failed")
    }

    /// The hash of how this program builds.
    fn way() -> String {
        cache::key([VERSION].into_iter().chain(confined::SCRIPTS))
    }

    /// The hash of all that a build depends on.
    fn key(&self, packages: &[Package]) -> String {
        let mut parts = vec![Self::way(), self.source.to_owned(), self.kernel.release.clone()];
        parts.extend(packages::versions(packages).iter().map(|(name, version)| format!("{name}={version}")));
        cache::key(parts.iter().map(String::as_str))
    }

    /// Why they could not be built; of these inputs, if there is a key.
    fn failed_before(&self, key: Option<&str>) -> Option<anyhow::Error> {
        let text = fs::read_to_string(self.note()).ok()?;
        let (of, reason) = text.split_once('\n')?;
        let (way, of) = of.split_once(' ')?;
        (way == Self::way() && key.is_none_or(|key| key == of)).then(|| self.not_built(reason))
    }

    fn failed(&self, key: &str, said: &str) -> anyhow::Error {
        let reason = log::last_error(said);
        if !log::is_for_want(said) && !cache::is_full(&self.folder()) {
            let _ = cache::note(&self.note(), format!("{} {key}\n{reason}", Self::way()).as_bytes());
        }
        self.not_built(&reason)
    }

    fn not_built(&self, reason: &str) -> anyhow::Error {
        anyhow::anyhow!(
            "the source in Debian's package {} does not build for kernel {}: {reason} (log: {}; to try it again, remove {})",
            self.source,
            self.kernel.release,
            self.log().display(),
            self.note().display()
        )
    }

    /// Copies what was built into the folder of an entry. Nothing is believed of what a build left there.
    fn keep(&self, out: &Path, made: &Path, packages: &[Package]) -> Result<()> {
        cache::make_folder(made)?;
        let is_told = |name: &String| {
            name == self.source
                || name.starts_with("linux-headers-")
                || name.starts_with("gcc-") && !name.ends_with("-base")
        };
        let mut told = packages::versions(packages);
        told.retain(|name, _| is_told(name));
        let mut built = Built { folder: made.to_owned(), files: BTreeMap::new(), packages: told };
        for entry in fs::read_dir(out).into_iter().flatten().flatten() {
            let (path, data) = (entry.path(), entry.metadata()?);
            let name = entry.file_name().to_string_lossy().into_owned();
            ensure!(
                data.is_file() && data.len() <= MOST,
                "the build of {} left {name}, which is no module",
                self.source
            );
            modules::check_release(&path, &self.kernel.release)?;
            let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            cache::write_whole(&made.join(&name), &bytes)?;
            built.files.insert(name, cache::sha256(&bytes));
        }
        ensure!(!built.files.is_empty(), "the build of {} made no module (log: {})", self.source, self.log().display());
        cache::write_whole(&made.join(LAST), &serde_json::to_vec_pretty(&built)?)
    }
}

/// Does what reads files of packages; those that were lost or changed are fetched again, each package once.
fn with_sound_packages(places: &[&Packages], mut work: impl FnMut() -> Result<()>) -> Result<()> {
    let mut mended: Vec<Damaged> = Vec::new();
    loop {
        let Err(error) = work() else { return Ok(()) };
        match error.downcast_ref::<Damaged>() {
            Some(damaged) if !mended.contains(damaged) => {
                mended.push(damaged.clone());
                places.iter().map(|place| place.mend(damaged)).find(Result::is_ok).unwrap_or(Err(error))?;
            }
            _ => return Err(error),
        }
    }
}
