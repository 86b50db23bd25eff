//! Provides Debian packages without installing them: resolved by apt, downloaded and unpacked into the cache, as any
//! user.
//!
//! The guest's programs come from packages and never from this machine's own /usr, so that they are the same wherever
//! the lab runs. The cache records the packages of a set of names the first time; from then on the same versions are
//! used until the cache is cleaned, also for other sets that share a package: two file systems must not differ by their
//! tar.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::apt::Solved;
use super::manifest::{self, Damaged, Manifest};
use super::{apt, sources};
use crate::cache;

mod ask;
mod fetch;
mod lists;
mod release;
mod suites;

pub use lists::Lists;
use lists::{RENEWED, RETRY};
pub(crate) use suites::is_suite;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// Its unpacked files. Stored without the folder of packages, so that a cache can be moved.
    #[serde(serialize_with = "last_part")]
    pub folder: PathBuf,
}

impl Package {
    /// The list of the package's files.
    ///
    /// # Errors
    /// [`Damaged`] if that list is lost.
    pub fn manifest(&self) -> Result<Manifest> {
        Ok(Manifest::open(&self.folder).ok_or_else(|| Damaged::whole(&self.folder))?)
    }

    /// A stored package, in this folder of packages; `None` if it is none that apt can have named.
    fn in_folder(mut self, packages: &Path) -> Option<Package> {
        let file = self.folder.file_name()?.to_string_lossy().into_owned();
        let (name, version) = apt::parts(&file)?;
        apt::check([&self.name]).ok()?;
        self.folder = packages.join(&file);
        (name == self.name && version == self.version).then_some(self)
    }
}

fn last_part<S: serde::Serializer>(folder: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&folder.file_name().unwrap_or_default().to_string_lossy())
}

pub struct Packages {
    cache: PathBuf,
    /// One of Debian's suites, or a release with its backports, in place of this machine's own sources.
    suite: Option<String>,
}

impl Packages {
    /// Packages in the cache folder `cache`.
    pub fn new(cache: &Path) -> Packages {
        Packages { cache: cache.to_owned(), suite: None }
    }

    /// The named packages with all dependencies, unpacked, in apt's order.
    pub fn closure(&self, names: &[String]) -> Result<Vec<Package>> {
        let mut names = names.to_vec();
        names.sort();
        names.dedup();
        apt::check(&names)?;
        let file = self.closures().join(format!("{}.json", cache::key(names.iter().map(String::as_str))));
        let whole = |kept: &Vec<Package>| kept.iter().all(is_complete);
        if let Some(kept) = self.closure_in(&file).filter(whole) {
            return Ok(kept);
        }
        // One at a time: sets resolved in parallel could get different versions.
        let _lock = cache::Lock::take(&self.cache.join("closures/all"))?;
        let recorded = self.closure_in(&file);
        if recorded.is_none() && file.exists() {
            eprintln!(
                "mountmark: {} is damaged: it does not list Debian packages alone; it is made again",
                file.display()
            );
        }
        let wanted: Vec<(Package, u64)> = match recorded {
            // The recorded packages stay, even if one of them was lost.
            Some(kept) => kept.into_iter().map(|package| (package, 0)).collect(),
            None => {
                let known = self.known();
                let fits =
                    |known: &&Package, solved: &Solved| !self.is_pinned(solved) || known.version == solved.version;
                let one = |solved: &Solved| match known.get(&solved.name).filter(|known| fits(known, solved)) {
                    Some(package) => (package.clone(), 0),
                    None => (self.package(solved), solved.bytes),
                };
                self.solve(&names)?.iter().map(one).collect()
            }
        };
        let missing: Vec<_> = wanted.iter().filter(|(package, _)| !is_complete(package)).cloned().collect();
        self.fetch(&missing)?;
        let packages: Vec<Package> = wanted.into_iter().map(|(package, _)| package).collect();
        cache::write_whole(&file, serde_json::to_string_pretty(&packages)?.as_bytes())?;
        Ok(packages)
    }

    /// The packages of all sets in the cache by name, each in its first version.
    fn known(&self) -> BTreeMap<String, Package> {
        let folders = BTreeSet::from([self.cache.join("closures"), self.closures()]);
        let files = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        let mut files: Vec<_> =
            files.filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path()))).collect();
        files.sort();
        let mut known = BTreeMap::new();
        for package in files.iter().filter_map(|(_, file)| self.closure_in(file)).flatten() {
            known.entry(package.name.clone()).or_insert(package);
        }
        known
    }

    /// The recorded packages of a set of names.
    fn closure_in(&self, file: &Path) -> Option<Vec<Package>> {
        let kept: Vec<Package> = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
        let packages = self.cache.join("packages");
        kept.into_iter().map(|package| package.in_folder(&packages)).collect()
    }

    /// The place of a package named by apt.
    fn package(&self, solved: &Solved) -> Package {
        let folder = self.cache.join("packages").join(solved.file.trim_end_matches(".deb"));
        Package { name: solved.name.clone(), version: solved.version.clone(), folder }
    }

    /// One package without its dependencies.
    fn alone(&self, name: &str) -> Result<Package> {
        let text = self.apt("apt-cache", &["show", "--no-all-versions", "--", name])?;
        let field = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
            line.map(str::to_owned).with_context(|| format!("Debian's package lists say no {key} of {name}"))
        };
        let version = field("Version:")?;
        let architecture = field("Architecture:")?;
        let file = format!("{name}_{}_{architecture}.deb", version.replace(':', "%3a"));
        let bytes = field("Size:")?.parse().unwrap_or(0);
        let package = self.package(&Solved { name: name.to_owned(), version, file, bytes });
        self.fetch_unless_whole(&package, bytes)?;
        Ok(package)
    }

    /// As [`Packages::alone`], but in the same version until the cache is cleaned. All its files have their original
    /// sizes.
    pub(crate) fn alone_kept(&self, name: &str) -> Result<Package> {
        apt::check([&name.to_owned()])?;
        let file = self.cache.join(format!("closures/{name}.json"));
        if let Some(kept) = self.written(name) {
            self.fetch_unless_whole(&kept, 0)?;
            return Ok(kept);
        }
        let package = self.alone(name)?;
        cache::write_whole(&file, serde_json::to_string_pretty(&package)?.as_bytes())?;
        Ok(package)
    }

    /// The result of [`Packages::alone_kept`] if nothing needs to be fetched.
    pub fn kept(&self, name: &str) -> Option<Package> {
        self.written(name).filter(|package| package.folder.join(manifest::FILE).exists())
    }

    /// The package recorded for a name.
    fn written(&self, name: &str) -> Option<Package> {
        let bytes = fs::read(self.cache.join(format!("closures/{name}.json"))).ok()?;
        serde_json::from_slice::<Package>(&bytes).ok()?.in_folder(&self.cache.join("packages"))
    }

    /// Names of known packages that begin with `prefix`.
    pub fn names(&self, prefix: &str) -> Result<Vec<String>> {
        Ok(self.apt("apt-cache", &["pkgnames", "--", prefix])?.lines().map(str::to_owned).collect())
    }

    /// Whether Debian's package lists have an installable version of `name`.
    pub fn exists(&self, name: &str) -> Result<bool> {
        apt::check([&name.to_owned()])?;
        let file = self.closures().join(format!("exists-{name}"));
        // Newer lists may have packages that older ones lacked.
        let is_young = is_since(&file, &self.fetched());
        if let Some(kept) = fs::read_to_string(&file).ok().filter(|kept| kept == "yes" || is_young) {
            return Ok(kept == "yes");
        }
        let text = self.apt("apt-cache", &["policy", "--", name])?;
        // For an unknown name apt shows packages that match it as a pattern.
        let text = text.strip_prefix(&format!("{name}:\n")).unwrap_or_default();
        let candidate = text.lines().find_map(|line| line.trim().strip_prefix("Candidate:")).map(str::trim);
        let found = candidate.is_some_and(|version| version != "(none)");
        cache::note(&file, if found { b"yes" } else { b"no" })?;
        Ok(found)
    }

    /// Whether there is a package `name`, in `component` if it is not in main.
    ///
    /// # Errors
    /// As [`Packages::exists_in`].
    pub(crate) fn has(&self, component: Option<&str>, name: &str) -> Result<bool> {
        component.map_or_else(|| self.exists(name), |component| self.exists_in(component, name))
    }

    /// Whether there is a package `name` in `component` of this machine's own mirror. If its lists omit the component,
    /// the cache's lists get it. If the mirror does not have it, nothing is changed.
    ///
    /// # Errors
    /// A cache that cannot be written, or no apt.
    pub(crate) fn exists_in(&self, component: &str, name: &str) -> Result<bool> {
        if self.exists(name)? {
            return Ok(true);
        }
        // A mirror that lacks it, or that could not be reached, is not asked each time.
        let failed = self.cache.join(format!("apt/no-{component}"));
        let age = fs::metadata(&failed).ok().and_then(|data| data.modified().ok()?.elapsed().ok());
        let is_shut = || cache::room(&self.cache).is_err();
        if self.lists() != Lists::Cache || age.is_some_and(|age| age < RETRY) || is_shut() {
            return Ok(false);
        }
        let _lock = cache::Lock::take(&self.fetched())?;
        let (now, new, before) =
            (self.sources(), self.cache.join("apt/sources.new"), self.cache.join("apt/sources.old"));
        // Of a killed run.
        let _ = (fs::remove_dir_all(&new), fs::remove_dir_all(&before));
        if sources::copy_with(component, &now, &new)? || !now.exists() {
            let is_first = fs::rename(&now, &before).is_err();
            fs::rename(&new, &now).with_context(|| format!("cannot write {}", now.display()))?;
            if let complaint @ (Err(_) | Ok(Some(_))) = self.update() {
                let _ = fs::remove_dir_all(&now);
                if !is_first {
                    let _ = fs::rename(&before, &now);
                }
                cache::note(&failed, b"")?;
                return complaint.map(|_| false);
            }
            self.note_fetch(RENEWED)?;
        }
        let _ = (fs::remove_dir_all(&new), fs::remove_dir_all(&before));
        self.exists(name)
    }

    /// The folder of a suite's source; or of this machine's sources with one more component, if it exists.
    fn sources(&self) -> PathBuf {
        self.apt_folder().join("sources")
    }
}

/// Whether an answer is of the present lists; lists that were removed are fetched again.
fn is_since(answer: &Path, fetched: &Path) -> bool {
    let written = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    written(fetched).is_some_and(|fetched| written(answer) >= Some(fetched))
}

/// Whether a package was unpacked to its end. An empty manifest is from a version that wrote none.
fn is_complete(package: &Package) -> bool {
    fs::metadata(package.folder.join(manifest::FILE)).is_ok_and(|data| data.len() > 0)
}

/// Versions by package name, for the record.
pub fn versions(packages: &[Package]) -> BTreeMap<String, String> {
    packages.iter().map(|package| (package.name.clone(), package.version.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_lasts_as_long_as_its_lists() {
        let folder = tempfile::tempdir().unwrap();
        let [fetched, answer] = ["fetched", "exists-tar"].map(|name| folder.path().join(name));
        fs::write(&answer, "no").unwrap();
        assert!(!is_since(&answer, &fetched), "the lists were removed");
        fs::write(&fetched, RENEWED).unwrap();
        fs::write(&answer, "no").unwrap();
        assert!(is_since(&answer, &fetched) && !is_since(&folder.path().join("none"), &fetched));
    }

    #[test]
    fn a_cache_can_be_moved() {
        let cache = tempfile::tempdir().unwrap();
        let packages = Packages::new(cache.path());
        let folder = cache.path().join("packages/tar_1.34_amd64");
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir(cache.path().join("closures")).unwrap();
        let package = Package { name: "tar".into(), version: "1.34".into(), folder };
        let text = serde_json::to_string(&[&package]).unwrap();
        assert!(!text.contains(&*cache.path().to_string_lossy()), "{text}");
        let file = cache.path().join("closures/a.json");
        // In the present format, and in an older one with the whole path.
        for text in [text.clone(), text.replace("tar_1.34_amd64", "/home/me/.cache/mountmark/packages/tar_1.34_amd64")]
        {
            fs::write(&file, text).unwrap();
            assert_eq!(packages.closure_in(&file).unwrap(), std::slice::from_ref(&package));
            assert_eq!(packages.known()["tar"], package);
        }
        for odd in ["..", "/", "", "tar_1.35_amd64", "bash_1.34_amd64", "tar_1.34", "tar_1.34_a\nb"] {
            fs::write(&file, text.replace("tar_1.34_amd64", &odd.replace('\n', "\\n"))).unwrap();
            assert_eq!(packages.closure_in(&file), None, "{odd:?}");
        }
        for odd in ["../../../x", "-o", "Tar", "tar-", "tar=1", "./tar"] {
            let other = text.replace("\"tar\"", &format!("\"{odd}\""));
            for text in [other.clone(), other.replace("tar_1.34_amd64", &format!("{odd}_1.34_amd64"))] {
                fs::write(&file, text).unwrap();
                assert_eq!(packages.closure_in(&file), None, "{odd:?}");
                assert!(packages.known().is_empty(), "{odd:?}");
            }
        }
        fs::write(
            cache.path().join("closures/tar.json"),
            "{\"name\":\"../../../x\",\"version\":\"1\",\"folder\":\"x_1_all\"}",
        )
        .unwrap();
        assert_eq!(packages.written("tar"), None);
    }
}
