//! Debian's other suites, beside this machine's own sources, which nothing changes: each has its lists in the cache, whose
//! signatures apt checks with this machine's keyring of Debian's archive.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::Packages;
use crate::cache;

/// The suites that can be named, each also with `-backports`.
const SUITES: [&str; 10] =
    ["oldstable", "stable", "testing", "unstable", "bullseye", "bookworm", "trixie", "forky", "sid", "experimental"];

/// Where Debian's keyring is.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The mirror that Debian's own installer takes.
pub(super) const MIRROR: &str = "http://deb.debian.org/debian";

/// Whether a word names a suite of Debian.
pub(crate) fn is_suite(word: &str) -> bool {
    let bare = word.strip_suffix("-backports").unwrap_or(word);
    SUITES.contains(&bare)
}

/// One mirror in apt's words.
pub(super) fn stanza(mirror: &str, suites: &str, components: &str) -> String {
    format!("Types: deb\nURIs: {mirror}\nSuites: {suites}\nComponents: {components}\nSigned-By: {KEYRING}\n")
}

impl Packages {
    /// The packages of one of Debian's suites.
    ///
    /// # Errors
    /// No keyring, or a cache that cannot be written.
    pub(crate) fn of_suite(&self, suite: &str) -> Result<Packages> {
        ensure!(is_suite(suite), "{suite:?} is no suite of Debian; there are {}", SUITES.join(", "));
        self.listed_in(suite.to_owned(), &stanza(MIRROR, suite, "main"))
    }

    /// Packages whose lists have a folder of their own, and come from `sources`.
    pub(super) fn listed_in(&self, folder: String, sources: &str) -> Result<Packages> {
        ensure!(
            Path::new(KEYRING).is_file(),
            "{KEYRING} is not there, by which Debian's lists are checked: install the package debian-archive-keyring"
        );
        let packages = Packages { suite: Some(folder), ..Packages::new(&self.cache) };
        let source = packages.sources().join("debian.sources");
        if !source.exists() {
            cache::make_folder(&packages.sources())?;
            cache::write_whole(&source, sources.as_bytes())
                .with_context(|| format!("cannot write {}", source.display()))?;
        }
        Ok(packages)
    }

    /// The suites whose lists are in the cache.
    pub(crate) fn suites(&self) -> Vec<String> {
        self.listed().into_iter().filter(|name| is_suite(name)).collect()
    }

    /// The packages of all suites and releases whose lists are in the cache.
    pub(super) fn others(&self) -> Vec<Packages> {
        let is_known = |name: &String| is_suite(name.split_once('+').map_or(name.as_str(), |(release, _)| release));
        let of = |suite| Packages { suite: Some(suite), ..Packages::new(&self.cache) };
        self.listed().into_iter().filter(is_known).map(of).collect()
    }

    /// Names of the folders of lists beside this machine's own.
    fn listed(&self) -> Vec<String> {
        let entries = fs::read_dir(self.suites_folder()).into_iter().flatten().flatten();
        let mut found: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        found.sort();
        found
    }

    fn suites_folder(&self) -> PathBuf {
        self.cache.join("apt/suites")
    }

    /// The folder of its lists and sources.
    pub(super) fn apt_folder(&self) -> PathBuf {
        match &self.suite {
            Some(suite) => self.suites_folder().join(suite),
            None => self.cache.join("apt"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_is_a_word_of_debians() {
        for word in ["sid", "trixie", "trixie-backports", "stable"] {
            assert!(is_suite(word), "{word}");
        }
        for word in ["", "woody", "sid-security", "../sid", "sid/", "Sid", "-backports"] {
            assert!(!is_suite(word), "{word}");
        }
    }

    #[test]
    fn a_suite_has_lists_of_its_own() {
        let cache = tempfile::tempdir().unwrap();
        let own = Packages::new(cache.path());
        assert!(own.of_suite("woody").is_err() && own.suites().is_empty());
        let Ok(sid) = own.of_suite("sid") else { return eprintln!("skipped: this machine has no keyring of Debian's") };
        assert_eq!(own.suites(), ["sid"]);
        let text = fs::read_to_string(sid.sources().join("debian.sources")).unwrap();
        assert!(text.contains("Suites: sid\n") && text.contains("Signed-By: /usr/share/keyrings/"), "{text}");
        assert_ne!(sid.fetched(), own.fetched());
    }
}
