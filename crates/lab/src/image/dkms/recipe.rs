//! What a build needs: the packages of compiler, headers and source, of one release of Debian.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::{Dkms, root, with_sound_packages};
use crate::cache;
use crate::image::apt;
use crate::image::packages::{Package, Packages};

/// Programs that builds start, beside those that the package and the headers depend on.
const PROGRAMS: [&str; 12] = [
    "bash", "coreutils", "dash", "diffutils", "findutils", "grep", "gzip", "hostname", "mawk", "mount", "sed",
    "util-linux",
];

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Recipe {
    /// The release whose packages are taken.
    release: String,
    component: Option<String>,
    source: String,
    /// The package with the headers of the kernel's configuration; what it depends on is among `names`.
    headers: String,
    /// Packages that are needed with all that they depend on.
    names: Vec<String>,
}

impl Recipe {
    /// How the modules are built, noted in the cache the first time: a cache that has all of it needs no mirror.
    ///
    /// # Errors
    /// Lists that cannot be fetched, no such package, or no headers.
    pub(super) fn get(dkms: &Dkms) -> Result<Recipe> {
        let note = dkms.file(".recipe.json");
        let kept = fs::read(&note).ok().and_then(|bytes| serde_json::from_slice::<Recipe>(&bytes).ok());
        let is_of = |recipe: &Recipe| recipe.source == dkms.source && recipe.component.as_deref() == dkms.component;
        let is_safe = |recipe: &Recipe| apt::check(recipe.names.iter().chain([&recipe.headers])).is_ok();
        if let Some(recipe) = kept.filter(|recipe| is_of(recipe) && is_safe(recipe)) {
            return Ok(recipe);
        }
        let recipe = Recipe::find(dkms)?;
        cache::note(&note, &serde_json::to_vec_pretty(&recipe)?)?;
        Ok(recipe)
    }

    fn find(dkms: &Dkms) -> Result<Recipe> {
        let own = Packages::new(dkms.cache);
        let first = own.of_own_release(dkms.component)?;
        let headers = format!("linux-headers-{}", dkms.kernel.release);
        let mut tried = Vec::new();
        let others =
            own.suites().into_iter().map(|suite| own.of_release(suite.trim_end_matches("-backports"), dkms.component));
        for place in std::iter::once(Ok(first)).chain(others) {
            let place = place?;
            let release = place.release().unwrap_or_default().to_owned();
            if tried.contains(&release) {
                continue;
            }
            tried.push(release.clone());
            let lists = || {
                let what = dkms.component.map(|component| format!(" with {component}")).unwrap_or_default();
                format!("the lists of Debian's {release}{what}, which has {}, cannot be had", dkms.source)
            };
            if !place.exists(&headers).with_context(lists)? {
                continue;
            }
            if !place.exists(dkms.source)? {
                bail!("Debian's {release} has no package {}", dkms.source);
            }
            let mut names: Vec<String> = PROGRAMS.map(str::to_owned).to_vec();
            names.push(dkms.source.to_owned());
            names.extend(needed(&place.field(&headers, "Depends")?));
            let component = dkms.component.map(str::to_owned);
            return Ok(Recipe { release, component, source: dkms.source.to_owned(), headers, names });
        }
        bail!(
            "its module is built with the headers of its kernel, and Debian's {} has no package {headers}: choose another --kernel",
            tried.join(", ")
        )
    }

    fn place(&self, cache: &Path) -> Result<Packages> {
        Packages::new(cache).of_release(&self.release, self.component.as_deref())
    }

    /// The packages, in the cache.
    ///
    /// # Errors
    /// One that cannot be fetched.
    pub(super) fn packages(&self, cache: &Path) -> Result<Vec<Package>> {
        let place = self.place(cache)?;
        let mut packages = place.closure(&self.names)?;
        // They depend on the kernel itself, which no build needs.
        packages.push(place.alone_kept(&self.headers)?);
        Ok(packages)
    }

    /// Makes the root folder of a build.
    ///
    /// # Errors
    /// Packages that are damaged and cannot be fetched again; no room.
    pub(super) fn make_root(&self, folder: &Path, packages: &[Package], cache: &Path) -> Result<()> {
        let place = self.place(cache)?;
        with_sound_packages(&[&place], || {
            let _ = fs::remove_dir_all(folder);
            root::make(folder, packages)
        })?;
        // Debian's headers have it for types of debugging (BTF), which no module here needs.
        let _ = fs::remove_file(folder.join(format!("usr/src/{}/vmlinux", self.headers)));
        Ok(())
    }

    /// The folder of the source below /usr/src.
    ///
    /// # Errors
    /// A package that has none.
    pub(super) fn folder(&self, packages: &[Package]) -> Result<String> {
        let own = packages.iter().find(|package| package.name == self.source).context("its source was not fetched")?;
        let manifest = own.manifest()?;
        let folder = manifest.all().find_map(|(path, _)| path.strip_prefix("usr/src/")?.strip_suffix("/dkms.conf"));
        let folder = folder.filter(|folder| !folder.contains('/')).map(str::to_owned);
        folder.with_context(|| format!("Debian's package {} has no usr/src/NAME-VERSION/dkms.conf", self.source))
    }
}

/// Of what the headers depend on, all but the kernel and what installs it.
fn needed(depends: &str) -> Vec<String> {
    let first = |one: &str| one.trim().split([' ', '|', ':']).next().unwrap_or_default().to_owned();
    let is_needed = |name: &String| !name.starts_with("linux-image") && name != "linux-base" && !name.is_empty();
    depends.split(',').map(first).filter(is_needed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_needs_what_headers_need_without_the_kernel() {
        let depends = "linux-base (>= 4.12~), linux-headers-6.12.1-common (= 6.12.1-1), linux-image-6.12.1-amd64 (= 6.12.1-1) | \
                       linux-image-6.12.1-amd64-unsigned (= 6.12.1-1), linux-kbuild-6.12.1, gcc-12";
        assert_eq!(needed(depends), ["linux-headers-6.12.1-common", "linux-kbuild-6.12.1", "gcc-12"]);
    }
}
